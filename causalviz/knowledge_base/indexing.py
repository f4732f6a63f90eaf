"""Bring a knowledge base up to date with its source: read, encode and store what changed, then take a snapshot."""

import hashlib
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from causalviz.documents import DEFAULT_LIMITS, chunk, read_document, scan
from causalviz.errors import KnowledgeBaseError, UnreadableFileError
from causalviz.keywords import Token, Tokenizer
from causalviz.knowledge_base.snapshot import take_snapshot
from causalviz.knowledge_base.store import EncodedChunk, Store, hash_text, named_errors
from causalviz.protocols import Encoder, Progress
from causalviz.records import Chunk, Document, FileReport, FloatMatrix, FloatVector

BATCH_CHARACTERS = 8192
"""Texts are encoded together up to this length: enough to keep the cores busy, little to lose in a crash."""
BATCH_DOCUMENTS = 64


class Entry(Protocol):
    """One thing to index."""

    @property
    def id(self) -> str:
        """Its id in the knowledge base."""
        ...

    @property
    def size(self) -> int:
        """Bytes, for the progress estimate."""
        ...

    def content(self) -> bytes:
        """Return what decides whether it changed."""
        ...

    def document(self, content: bytes) -> Document:
        """Read it; UnreadableFileError says why it cannot be."""
        ...


Source = Sequence[Entry]


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file on disk."""

    id: str
    path: Path

    @property
    def size(self) -> int:
        """Bytes; 0 when it is gone."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def content(self) -> bytes:
        """Return the file's bytes; one over the size limit is not read at all."""
        if self.size > DEFAULT_LIMITS.file_bytes:
            raise UnreadableFileError(
                f"the file has {self.size / 1e6:.0f} MB, more than the "
                f"{DEFAULT_LIMITS.file_bytes / 1e6:.0f} MB that are read; split it into parts."
            )
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise UnreadableFileError(
                f"the file cannot be opened ({error.strerror}); check that it still exists and may be read."
            ) from error

    def document(self, content: bytes) -> Document:
        """Read by the reader of its suffix."""
        return read_document(self.id, content)


@dataclass(frozen=True, slots=True)
class RecordEntry:
    """A document that is already text, as in a themes file or a test collection."""

    record: Document

    @property
    def id(self) -> str:
        """Return the record's id."""
        return self.record.id

    @property
    def size(self) -> int:
        """Characters."""
        return len(self.record.text)

    def content(self) -> bytes:
        """Return title and text."""
        return f"{self.record.title}\0{self.record.text}".encode("utf-8", "surrogatepass")

    def document(self, content: bytes) -> Document:  # noqa: ARG002 - the record holds it already
        """Return the record as it is; one without text is refused like an empty file."""
        if not self.record.text.strip():
            raise UnreadableFileError("the record holds no text; give it some, or leave it out.")
        return self.record


def folder_source(folder: Path) -> list[FileEntry]:
    """Return all files below a folder, in id order.

    Raises:
        KnowledgeBaseError: the folder is missing or is a file.
    """
    return [FileEntry(file.id, file.path) for file in scan(folder)]


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexResult:
    """What one run did."""

    files: tuple[FileReport, ...]
    removed: tuple[str, ...]
    """Ids that were in the knowledge base and are no longer in the source."""
    seconds: float
    encoder_seconds: float


@dataclass(slots=True)
class _Pending:
    """Documents read but not yet encoded."""

    items: list[tuple[Document, str, tuple[Chunk, ...]]] = field(default_factory=list)
    characters: int = 0

    def add(self, document: Document, sha256: str) -> None:
        self.items.append((document, sha256, chunk(document.text)))
        self.characters += len(document.text)

    @property
    def full(self) -> bool:
        return self.characters >= BATCH_CHARACTERS or len(self.items) >= BATCH_DOCUMENTS


class _Stopwatch:
    """An encoder that notes the time spent in it."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.seconds = 0.0

    def encode_queries(self, texts: Sequence[str]) -> FloatMatrix:
        start = time.perf_counter()
        vectors = self._encoder.encode_queries(texts)
        self.seconds += time.perf_counter() - start
        return vectors

    def encode_documents(self, texts: Sequence[str]) -> FloatMatrix:
        start = time.perf_counter()
        vectors = self._encoder.encode_documents(texts)
        self.seconds += time.perf_counter() - start
        return vectors


def update(
    path: Path, source: Source, encoder: Encoder, tokenizer: Tokenizer, progress: Progress
) -> IndexResult:
    """Make the knowledge base at ``path`` hold exactly the readable entries of ``source``.

    Entries whose content is unchanged are not read again. Each batch is stored as it is finished: a run that is
    killed continues where it stopped.

    Raises:
        KnowledgeBaseError: the file at ``path`` belongs to another encoder or version, is no knowledge base, or is
            in use.
    """
    start = time.perf_counter()
    watch = _Stopwatch(encoder)
    with named_errors(path), open_or_create(path, encoder.name) as store:
        reports = dict(_store_changes(store, source, watch, tokenizer, progress))
        wanted = {entry.id for entry in source}
        removed = sorted((store.hashes().keys() | store.refusals().keys()) - wanted)
        if removed:
            with store.changing():
                for id_ in removed:
                    store.remove(id_)
        if store.read_snapshot() is None:
            take_snapshot(store, watch.encode_queries, encoder.dim, progress)
        stored = store.reports()
    return IndexResult(
        files=tuple(
            replace(stored[entry.id], status=reports[entry.id].status, reason=reports[entry.id].reason)
            if entry.id in stored
            else reports[entry.id]
            for entry in source
        ),
        removed=tuple(removed),
        seconds=time.perf_counter() - start,
        encoder_seconds=watch.seconds,
    )


def open_or_create(path: Path, encoder: str) -> Store:
    """Open the knowledge base for writing, or start one.

    Raises:
        KnowledgeBaseError: its vectors come from another encoder, or the file is something else.
    """
    if not path.exists():
        return Store.create(path, encoder)
    store = Store.open(path)
    if store.encoder != encoder:
        found = store.encoder
        store.__exit__()
        raise KnowledgeBaseError(
            f"the knowledge base '{path}' holds vectors of encoder '{found}', but '{encoder}' was asked for; "
            "choose the one it was made with, or index into another file."
        )
    return store


def _store_changes(
    store: Store, source: Source, encoder: _Stopwatch, tokenizer: Tokenizer, progress: Progress
) -> Iterator[tuple[str, FileReport]]:
    hashes, refusals = store.hashes(), store.refusals()
    total = sum(entry.size for entry in source)
    done = 0
    pending = _Pending()
    for entry in source:
        progress(done, total, entry.id)
        done += entry.size
        try:
            content = entry.content()
        except UnreadableFileError as error:
            if entry.id in hashes:
                # It may be readable again tomorrow: what was read of it is not thrown away.
                kept = f"{error} What was read of it earlier is kept."
                yield entry.id, FileReport(file=entry.id, status="refused", reason=kept)
            else:
                yield entry.id, _refuse(store, entry.id, ("", str(error)), refusals)
            continue
        sha256 = hashlib.sha256(content).hexdigest()
        if hashes.get(entry.id) == sha256:
            yield entry.id, FileReport(file=entry.id, status="unchanged")
        elif entry.id in refusals and refusals[entry.id][0] == sha256:
            yield entry.id, FileReport(file=entry.id, status="refused", reason=refusals[entry.id][1])
        else:
            try:
                document = entry.document(content)
            except UnreadableFileError as error:
                yield entry.id, _refuse(store, entry.id, (sha256, str(error)), refusals)
                continue
            pending.add(document, sha256)
            yield entry.id, FileReport(file=entry.id, status="indexed")
            if pending.full:
                _encode_and_store(store, pending, encoder, tokenizer, partial(progress, done, total))
                pending = _Pending()
    _encode_and_store(store, pending, encoder, tokenizer, partial(progress, done, total))
    progress(total, total, "")


def _refuse(
    store: Store, id_: str, refusal: tuple[str, str], known: Mapping[str, tuple[str, str]]
) -> FileReport:
    """Note a refusal (content hash, reason); one that is known already changes nothing."""
    if known.get(id_) != refusal:
        with store.changing():
            store.add_refusal(id_, *refusal)
    return FileReport(file=id_, status="refused", reason=refusal[1])


def _encode_and_store(
    store: Store, pending: _Pending, encoder: _Stopwatch, tokenizer: Tokenizer, tick: Callable[[str], None]
) -> None:
    texts = [document.text[c.start : c.end] for document, _, chunks in pending.items for c in chunks]
    if not texts:
        return
    # Copies of one text get one vector, to the bit, whatever batch they are in.
    distinct = list(dict.fromkeys(texts))
    vectors: dict[str, FloatVector] = {}
    for part in _parts(distinct):
        vectors |= zip(part, encoder.encode_documents(part), strict=True)
        # A long document is many parts: progress is told between them, and a run can be stopped there.
        tick(pending.items[-1][0].id)
    with store.changing():
        for document, sha256, chunks in pending.items:
            tokens = tokenizer.tokens(document.text)
            encoded = [
                EncodedChunk(
                    chunk=c, text_hash=hash_text(text), vector=vectors[text], counts=counts_within(tokens, c)
                )
                for c in chunks
                for text in [document.text[c.start : c.end]]
            ]
            vector = mean_of_chunks(np.stack([c.vector for c in encoded]))
            store.add_document(document, sha256, vector, Counter(token.term for token in tokens))
            store.add_chunks(document.id, encoded)


def _parts(texts: Sequence[str]) -> Iterator[list[str]]:
    """Group texts so that each group is encoded in one call of bounded length."""
    part: list[str] = []
    characters = 0
    for text in texts:
        if part and characters + len(text) > BATCH_CHARACTERS:
            yield part
            part, characters = [], 0
        part.append(text)
        characters += len(text)
    if part:
        yield part


def counts_within(tokens: Sequence[Token], part: Chunk) -> Counter[str]:
    """Count the words that lie wholly inside a chunk; a word its border cuts is no word of it.

    Args:
        tokens: Of the whole document, in reading order.
        part: The chunk.
    """
    first = bisect_left(tokens, part.start, key=lambda token: token.start)
    last = bisect_left(tokens, part.end, key=lambda token: token.start)
    return Counter(token.term for token in tokens[first:last] if token.end <= part.end)


def mean_of_chunks(vectors: FloatMatrix) -> FloatVector:
    """Return the L2-normalised mean of chunk vectors: a document's vector (equation 1); zero when they cancel out.

    Args:
        vectors: (chunks, dim), at least one row.
    """
    mean = vectors.mean(axis=0, dtype=np.float64)
    norm = float(np.linalg.norm(mean))
    unit: FloatVector = (mean / norm if norm > 0 else mean).astype(np.float32)
    return unit
