"""The records that flow through the pipeline: frozen, plain, without behaviour of their own."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

# The processes that read files need records, and no arrays: half of their start and of their memory would be NumPy.
if TYPE_CHECKING:
    from causalviz.arrays import BoolArray, FloatMatrix, FloatVector, IndexVector

Unit = Literal["document", "chunk"]
Method = Literal["similarity", "causal", "hybrid", "guarded", "cross-encoder"]
Mode = Literal["semantic", "exact"]
EmptyB = Literal["last", "fallback"]
TauOrigin = Literal["encoder", "knowledge base", "exact"]

DEFAULT_METHOD: Method = "hybrid"
"""What ranks where neither a person nor a calibration has chosen: the paper's choice (docs/adr/0006-guard.md)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a part of a document's text comes from."""

    start: int
    """First character of the part in the text; it reaches to the next place or to the end."""
    label: str
    """For people: "page 3", "slide 2", "sheet Prices"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One file (or record) as read and cleaned.

    ``text`` is exactly what is chunked, encoded and shown: NFKC-normalised and cleaned.
    """

    id: str
    """Path relative to the folder it came from, with forward slashes."""
    title: str
    text: str
    reader: str
    """Name of the reader, e.g. ``text``, ``html``, ``pdf``, ``docx``."""
    encoding: str | None = None
    """Character encoding the bytes were decoded with; None where the format fixes it."""
    warnings: tuple[str, ...] = ()
    pages: int | None = None
    """Pages, slides or sheets of the file, with those that were left out; None where the format has none."""
    places: tuple[Place, ...] = ()
    """In reading order; empty where the format has no parts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """A half-open character range ``[start, end)`` of a document's text."""

    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Keyword:
    """A term and its weight lambda > 0 (relative frequency times idf, no unit)."""

    term: str
    weight: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FileReport:
    """What became of one file when a folder was indexed."""

    file: str
    status: Literal["indexed", "unchanged", "refused"]
    reason: str | None = None
    """Why it was refused; None otherwise."""
    reader: str | None = None
    encoding: str | None = None
    characters: int = 0
    chunks: int = 0
    warnings: tuple[str, ...] = field(default=())
    size: int = 0
    """Bytes of the file."""
    pages: int | None = None
    language: str | None = None
    """English name of the language most of it is in; None where that is not to be told."""
    seconds: float = 0.0
    """Time it took to read; 0 when it was not read again."""
    duplicate_of: str | None = None
    """An earlier file (in id order) with the very same text."""
    near_duplicate_of: str | None = None
    """An earlier file with nearly the same words."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Candidate:
    """One candidate of a query with the few numbers its score is made of.

    With n keywords, every vector below has length n and follows the order of ``terms``
    (weight descending, then term). All reals are float32, the encoder's own precision.
    """

    id: str
    title: str
    similarity: float
    """s_sim = cos(E(q), E(d)), equation (1)."""
    terms: tuple[str, ...]
    weights: "FloatVector"
    """lambda > 0."""
    cosines: "FloatVector"
    """max over query keywords u of cos(E(t), E(u)); -inf when the query has no keyword."""
    matches: "IndexVector"
    """Index of that u in the query's keywords; -1 when the query has none."""
    exact: "BoolArray"
    """t is itself a query keyword: absorbed at every tau (its a(t) is +inf)."""
    relevance: "FloatVector"
    """p(t) = <E(q), E(t)>."""
    gram: "FloatMatrix"
    """G, (n, n): <E(t), E(t')>."""
    repeats: int
    """How often the query's keywords occur in the document's text; in a long document, in its densest passage."""
    tokens: int
    """Content words of that text, stop words left out."""
    duplicate_of: str | None = None
    """Id of an earlier candidate with the very same text."""
    near_duplicate_of: str | None = None
    """Id of an earlier candidate with nearly the same words (and another text)."""
    suspect: bool = False
    """Suspected of keyword stuffing (guard.py)."""
    use: float | None = None
    """Its use of the question's words, in multiples of what is usual here; None where nothing tells what is usual."""
    topic: float | None = None
    """How close its other words are to those of the other candidates, likewise."""
    cross_encoder: float | None = None
    """A trained reranker's raw score, on no fixed scale; None where it gave none, or none was asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankSettings:
    """What a person may turn while looking at one query."""

    tau: float
    """Absorption threshold, a cosine in [-1, 1]; equality goes to A."""
    alpha: float = 0.5
    """Hybrid weight in [0, 1] of similarity; 1 - alpha is that of s_c."""
    method: Method = DEFAULT_METHOD
    mode: Mode = "semantic"
    empty_b: EmptyB = "last"


@dataclass(frozen=True, kw_only=True, slots=True)
class DefaultTau:
    """The absorption threshold to use where none is given, and where it comes from (tau.py)."""

    tau: float
    origin: TauOrigin
    reason: str
    """One sentence."""
    proposed: float | None = None
    """What the knowledge base proposes, used or not; None where it has too few keywords."""


def _no_numbers() -> "FloatVector":
    import numpy as np

    return np.zeros(0, np.float32)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Trace:
    """One query run: everything later shown is a pure function of this record and RankSettings."""

    query: str
    query_keywords: tuple[Keyword, ...]
    candidates: tuple[Candidate, ...]
    """In baseline order: similarity descending, then id."""
    encoder: str
    centred: bool
    unit: Unit
    top_k: int
    theta: float
    settings: RankSettings
    """The settings the query was asked with."""
    knowledge_base: str
    """Name."""
    fingerprint: str
    """Hash of the knowledge base's documents and encoder."""
    documents: int
    """How many units (documents or chunks) were searched."""
    random_pairs: "FloatVector"
    """Ascending cosines of random pairs of this knowledge base's keywords: the scale tau is read on."""
    seconds: dict[str, float]
    default_tau: DefaultTau | None = None
    """The default of this encoder and knowledge base, whatever tau was asked with; None where it was not kept."""
    densities: "FloatVector" = field(default_factory=_no_numbers)
    """Ascending: the share of content words that are query keywords, of the units searched (or of an even sample)."""
    density_limit: float | None = None
    """The density documents rarely exceed by nature (guard.py); None where too few use the words."""
    reranker: str | None = None
    """Name of the cross-encoder that scored the candidates; None: not computed."""
    warnings: tuple[str, ...] = ()


JsonObject = dict[str, Any]
