"""From a text that was read to stored chunks: windows, vectors and word counts, in batches of bounded size."""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from causalviz.arrays import FloatMatrix, FloatVector
from causalviz.documents.chunking import windows
from causalviz.documents.reading_worker import PIECE
from causalviz.keywords import Token, Tokenizer
from causalviz.knowledge_base.store import EncodedChunk, Kind, Store, StoredFile, hash_text
from causalviz.protocols import Encoder
from causalviz.records import Chunk

BATCH_CHARACTERS = 8192
"""Texts are encoded together up to this length: enough to keep the cores busy, little to lose in a crash."""
BATCH_DOCUMENTS = 64
_BATCH_WINDOWS = 2

Tick = Callable[[float], None]
"""Told which share of a document is encoded; it may raise to stop."""


class Stopwatch:
    """An encoder that notes the time spent in it."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.seconds = 0.0

    def encode_queries(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode keywords; see Encoder."""
        start = time.perf_counter()
        vectors = self._encoder.encode_queries(texts)
        self.seconds += time.perf_counter() - start
        return vectors

    def encode_documents(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode passages; see Encoder."""
        start = time.perf_counter()
        vectors = self._encoder.encode_documents(texts)
        self.seconds += time.perf_counter() - start
        return vectors


class Encoding:
    """Encodes and stores files: short ones many in a transaction, a long one alone and by and by.

    A file is stored with all its chunks or not at all.
    """

    def __init__(self, store: Store, encoder: Stopwatch, tokenizer: Tokenizer) -> None:
        self._store = store
        self._encoder = encoder
        self._tokenizer = tokenizer
        self._short: list[tuple[StoredFile, Kind | None]] = []
        self._characters = 0

    def add(self, file: StoredFile, kind: Kind | None, tick: Tick) -> None:
        """Take a file; it is stored now or with others that follow.

        Args:
            file: Its text is held no longer than needed.
            kind: What to write into the history; None for nothing.
            tick: For a long file.
        """
        if file.characters > BATCH_CHARACTERS:
            self._store_long(file, kind, tick)
            return
        self._short.append((file, kind))
        self._characters += file.characters
        if self._characters >= BATCH_CHARACTERS or len(self._short) >= BATCH_DOCUMENTS:
            self.finish()

    def finish(self) -> None:
        """Store what was taken and is not stored yet."""
        files, self._short, self._characters = self._short, [], 0
        if not files:
            return
        parts = [(chunk, text) for file, _ in files for chunk, text in _windows(file.pieces)]
        vectors = iter(self._vectors([text for _, text in parts]))
        with self._store.changing():
            for file, kind in files:
                total: Counter[str] = Counter()
                encoded = self._chunks(file, total, vectors)
                vector = mean_of_chunks(chunk.vector for chunk in encoded)
                self._store.add_document(file, vector, total)
                self._store.add_chunks(file.document.id, encoded)
                self._note(kind, file)

    def _chunks(
        self, file: StoredFile, total: Counter[str], vectors: Iterator[FloatVector]
    ) -> list[EncodedChunk]:
        counts = self._counts(file.pieces, total)
        return [
            EncodedChunk(chunk=chunk, text_hash=hash_text(text), vector=next(vectors), counts=count)
            for (chunk, text), count in zip(_windows(file.pieces), counts, strict=True)
        ]

    def _store_long(self, file: StoredFile, kind: Kind | None, tick: Tick) -> None:
        self._store.clear_staged()
        total: Counter[str] = Counter()
        parts = zip(_windows(file.pieces), self._counts(file.pieces, total), strict=True)
        while batch := list(islice(parts, _BATCH_WINDOWS)):
            vectors = self._vectors([text for (_, text), _ in batch])
            self._store.stage_chunks(
                EncodedChunk(chunk=chunk, text_hash=hash_text(text), vector=vector, counts=counts)
                for ((chunk, text), counts), vector in zip(batch, vectors, strict=True)
            )
            tick(batch[-1][0][0].end / file.characters)
        vector = mean_of_chunks(self._store.staged_vectors())
        with self._store.changing():
            self._store.add_document(file, vector, total)
            self._store.add_staged(file.document.id)
            self._note(kind, file)
        self._store.clear_staged()

    def _note(self, kind: Kind | None, file: StoredFile) -> None:
        if kind is not None:
            self._store.note(kind, [file.document.id])

    def _counts(self, pieces: Sequence[str], total: Counter[str]) -> Iterator[Counter[str]]:
        return count_words(self._tokenizer.stream(pieces), windows(sum(map(len, pieces))), total)

    def _vectors(self, texts: Sequence[str]) -> list[FloatVector]:
        """Encode texts; copies of one get one vector, to the bit, within a batch and within a long document."""
        vectors: dict[str, FloatVector] = {}
        for text in dict.fromkeys(texts):
            if (known := self._store.staged_vector(hash_text(text))) is not None:
                vectors[text] = known
        new = [text for text in dict.fromkeys(texts) if text not in vectors]
        for part in _parts(new):
            vectors |= zip(part, self._encoder.encode_documents(part), strict=True)
        return [vectors[text] for text in texts]


def count_words(
    tokens: Iterable[Token], parts: Iterable[Chunk], total: Counter[str]
) -> Iterator[Counter[str]]:
    """Count the words that lie wholly inside each chunk; a word its border cuts is no word of it.

    Args:
        tokens: Of the whole document, in reading order; taken one by one.
        parts: Its chunks, in order.
        total: Filled with the counts of the whole document; complete after the last chunk.
    """
    coming = iter(tokens)
    window: deque[Token] = deque()
    for part in parts:
        while window and window[0].start < part.start:
            window.popleft()
        while not window or window[-1].start < part.end:
            token = next(coming, None)
            if token is None:
                break
            total[token.term] += 1
            if token.start >= part.start:
                window.append(token)
        yield Counter(token.term for token in window if token.end <= part.end)


def mean_of_chunks(vectors: Iterable[FloatVector]) -> FloatVector:
    """Return the L2-normalised mean of chunk vectors: a document's vector (equation 1); zero when they cancel out.

    Args:
        vectors: (dim,) each, at least one.
    """
    coming = iter(vectors)
    total, count = next(coming).astype(np.float64), 1
    for vector in coming:
        total += vector
        count += 1
    mean = total / count
    norm = float(np.linalg.norm(mean))
    unit: FloatVector = (mean / norm if norm > 0 else mean).astype(np.float32)
    return unit


def _windows(pieces: Sequence[str]) -> Iterator[tuple[Chunk, str]]:
    """Cut the windows of a text out of its pieces, each but the last of PIECE characters."""
    for chunk in windows(sum(map(len, pieces))):
        first, last = chunk.start // PIECE, (chunk.end - 1) // PIECE
        joined = pieces[first] if first == last else "".join(pieces[first : last + 1])
        yield chunk, joined[chunk.start - first * PIECE : chunk.end - first * PIECE]


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
