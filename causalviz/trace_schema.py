"""What a trace file must look like; pydantic names the place that does not."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from causalviz.records import EmptyB, Method, Mode, TauOrigin, Unit

_LARGEST = float(np.finfo(np.float32).max)


def _no_huge_integer(value: object) -> object:
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise ValueError("beyond single precision")
    return value


Real = Annotated[
    float, Field(ge=-_LARGEST, le=_LARGEST, allow_inf_nan=False), BeforeValidator(_no_huge_integer)
]
Cosine = Annotated[Real, Field(ge=-1, le=1)]
Weight = Annotated[Real, Field(gt=0)]
Count = Annotated[int, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class QueryKeyword(_Strict):
    """One keyword of the question."""

    term: str
    weight: Weight


class DocumentKeyword(QueryKeyword):
    """One keyword of a candidate."""

    cosine: Real | None
    match: str | None
    exact: bool
    relevance: Real


class CandidateEntry(_Strict):
    """One candidate; ``gram`` is the upper triangle, row by row."""

    id: str
    title: str
    similarity: Real
    keywords: list[DocumentKeyword]
    gram: list[Real]
    repeats: Count
    tokens: Count
    duplicate_of: str | None
    near_duplicate_of: str | None
    # Traces written before there was a guard hold none of these.
    suspect: bool = False
    use: Real | None = None
    topic: Real | None = None
    # Nor did the first ones know a cross-encoder.
    cross_encoder: Real | None = None

    @model_validator(mode="after")
    def _gram_fits(self) -> Self:
        n = len(self.keywords)
        if len(self.gram) != n * (n + 1) // 2:
            raise ValueError(f"{len(self.gram)} products for {n} keywords, expected {n * (n + 1) // 2}")
        return self


class DefaultTauEntry(_Strict):
    """The default threshold, and where it comes from."""

    tau: Cosine
    origin: TauOrigin
    reason: str
    proposed: Cosine | None


class SettingsEntry(_Strict):
    """The settings the question was asked with."""

    tau: Cosine
    alpha: Annotated[Real, Field(ge=0, le=1)]
    method: Method
    mode: Mode
    empty_b: EmptyB


class TraceFile(_Strict):
    """The whole file."""

    format: Literal["causalviz-trace"]
    version: int
    query: str
    query_keywords: list[QueryKeyword]
    candidates: list[CandidateEntry]
    encoder: str
    centred: bool
    unit: Unit
    top_k: int
    theta: Real
    settings: SettingsEntry
    knowledge_base: str
    fingerprint: str
    documents: Count
    random_pairs: list[Real]
    seconds: dict[str, Real]
    # Traces written before it was kept hold none.
    default_tau: DefaultTauEntry | None = None
    densities: list[Real]
    density_limit: Real | None
    reranker: str | None = None
    warnings: list[str]

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        terms = {keyword.term for keyword in self.query_keywords}
        matches = {k.match for candidate in self.candidates for k in candidate.keywords} - {None}
        if matches - terms:
            raise ValueError("a keyword matches a word that is no keyword of the question")
        if not _descending([candidate.similarity for candidate in self.candidates]):
            raise ValueError("the candidates are not in order of similarity")
        scored = any(candidate.cross_encoder is not None for candidate in self.candidates)
        if self.reranker is None and (scored or self.settings.method == "cross-encoder"):
            raise ValueError("it speaks of a cross-encoder's scores, but names no cross-encoder")
        return self


def _descending(values: Sequence[float]) -> bool:
    return all(first >= second for first, second in pairwise(values))
