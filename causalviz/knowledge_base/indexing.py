"""Bring a knowledge base up to date with its source: read, encode and store what changed, then take a snapshot."""

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path

from causalviz.documents import DEFAULT_LIMITS, Limits
from causalviz.documents.archives import expand
from causalviz.documents.language import language_of
from causalviz.documents.reading import FileToRead, ReadFile, ReadingPool, conditions
from causalviz.errors import KnowledgeBaseError, UnreadableFileError
from causalviz.keywords import Tokenizer
from causalviz.knowledge_base.encoding import Encoding, Stopwatch
from causalviz.knowledge_base.entries import Entry, FileEntry, FolderSource, Source
from causalviz.knowledge_base.reporting import file_reports
from causalviz.knowledge_base.snapshot import take_snapshot
from causalviz.knowledge_base.store import Store, StoredFile, named_errors
from causalviz.protocols import Encoder, Progress
from causalviz.records import FileReport

_EXCERPT = 10_000
"""Characters that are looked at for the language."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexResult:
    """What one run did."""

    files: tuple[FileReport, ...]
    """Of the source, in its order, those in archives in the place of the archive."""
    removed: tuple[str, ...]
    """Ids that were in the knowledge base and are no longer in the source."""
    seconds: float
    encoder_seconds: float


def update(  # noqa: PLR0913 - the last two have defaults
    path: Path,
    source: Source,
    encoder: Encoder,
    tokenizer: Tokenizer,
    progress: Progress,
    *,
    keep_others: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> IndexResult:
    """Make the knowledge base at ``path`` hold exactly the readable entries of ``source``.

    Entries whose content is unchanged are not read again. Files are read in processes of their own. Each batch is
    stored as it is finished: a run that is killed, or stopped by an exception of ``progress``, continues where it
    stopped.

    Args:
        path: The file; made where there is none.
        source: Entries with distinct ids.
        encoder: The one the knowledge base was made with.
        tokenizer: Splits texts into words.
        progress: Told of the bytes done, and then of the keywords.
        keep_others: Add and replace only; what is not in the source stays.
        limits: What is refused for its cost.

    Raises:
        KnowledgeBaseError: the file at ``path`` belongs to another encoder or version, is no knowledge base, or is
            in use.
    """
    start = time.perf_counter()
    watch = Stopwatch(encoder)
    with named_errors(path), open_or_create(path, encoder.name) as store:
        run = _Run(store, Encoding(store, watch, tokenizer), progress, limits)
        run.store_changes(source)
        removed = run.remove_others(keep_others=keep_others)
        if isinstance(source, FolderSource):
            store.set_source(str(source.folder))
        if store.fingerprint() is None:
            take_snapshot(store, watch.encode_queries, encoder.dim, progress)
        stored = file_reports(store)
    return IndexResult(
        files=tuple(
            replace(stored[id_], status=report.status, reason=report.reason) if id_ in stored else report
            for id_, report in run.reports.items()
        ),
        removed=removed,
        seconds=time.perf_counter() - start,
        encoder_seconds=watch.seconds,
    )


def open_or_create(path: Path, encoder: str) -> Store:
    """Open the knowledge base for writing, or start one.

    Raises:
        KnowledgeBaseError: its vectors come from another encoder, or the file is something else.
    """
    remove_abandoned(path)
    if not path.exists():
        return Store.create(path, encoder)
    store = Store.open(path, writing=True)
    try:
        store.check_encoder(encoder)
    except KnowledgeBaseError:
        store.__exit__()
        raise
    return store


def remove_abandoned(path: Path) -> None:
    """Remove what runs that were killed had begun to build in place of a file."""
    for file in path.parent.glob(f"{escape(path.name)}.*.new*"):
        owner = file.name.removeprefix(f"{path.name}.").partition(".")[0]
        if owner.isdigit() and not _is_running(int(owner)):
            with contextlib.suppress(OSError):
                file.unlink()


def members_of(archive: str, ids: Iterable[str]) -> list[str]:
    """Return the ids that lie in an archive."""
    return [id_ for id_ in ids if id_.startswith(f"{archive}/")]


class _Run:
    """One pass over a source."""

    def __init__(self, store: Store, encoding: Encoding, progress: Progress, limits: Limits) -> None:
        self._store = store
        self._encoding = encoding
        self._progress = progress
        self._limits = limits
        self._hashes = store.hashes()
        self._refusals = store.refusals()
        self._archives = store.archives()
        self._same_conditions = bool(self._refusals) and store.conditions == conditions(limits)
        self._seen_archives: dict[str, str | None] = {}
        self._asked: dict[str, tuple[str, int]] = {}
        self._sizes: dict[str, int] = {}
        self._done = self._total = 0
        self.reports: dict[str, FileReport] = {}
        """What became of each file, in the order of the source."""

    def store_changes(self, source: Source) -> None:
        """Read, encode and store what changed."""
        self._total = sum(entry.size for entry in source)
        with ReadingPool(self._limits) as pool:
            for read in pool.read(self._changed(source)):
                self._take(read)
        self._encoding.finish()
        for id_, digest in self._seen_archives.items():
            if digest is not None and self._archives.get(id_) != digest:
                self._store.add_archive(id_, digest)
        self._store.fill_sizes(self._sizes)
        if self._store.refusals():
            self._store.set_conditions(conditions(self._limits))
        self._progress(self._total, self._total, "")

    def remove_others(self, *, keep_others: bool) -> tuple[str, ...]:
        """Remove what the source does not hold; or only what an archive of the source no longer holds."""
        others = (self._store.hashes().keys() | self._store.refusals().keys()) - self.reports.keys()
        if keep_others:
            others &= {
                id_ for archive in self._seen_archives for id_ in (archive, *members_of(archive, others))
            }
            gone: set[str] = set()
        else:
            gone = self._store.archives().keys() - self._seen_archives.keys()
        removed = tuple(sorted(others))
        if removed or gone:
            with self._store.changing():
                for id_ in (*removed, *gone):
                    self._store.remove(id_)
                self._store.note("removed", removed)
        return removed

    def _changed(self, source: Source) -> Iterator[FileToRead | ReadFile]:
        for entry in source:
            if isinstance(entry, FileEntry) and entry.is_archive:
                yield from self._changed_in_archive(entry)
            else:
                yield from self._if_changed(entry)

    def _if_changed(self, entry: Entry) -> Iterator[FileToRead | ReadFile]:
        try:
            digest = entry.digest(self._limits)
        except UnreadableFileError as error:
            self._cannot_open(entry, str(error), is_stored=entry.id in self._hashes)
            return
        if not self._is_known(entry.id, digest, entry.size):
            self._asked[entry.id] = (digest, entry.size)
            yield entry.take()

    def _changed_in_archive(self, entry: FileEntry) -> Iterator[FileToRead]:
        stored = members_of(entry.id, (*self._hashes, *self._refusals))
        try:
            digest = entry.digest(self._limits)
        except UnreadableFileError as error:
            self._seen_archives[entry.id] = None
            self._keep(stored)
            self._cannot_open(entry, str(error), is_stored=bool(stored))
            return
        retried = not self._same_conditions and any(id_ in self._refusals for id_ in stored)
        if self._archives.get(entry.id) == digest and not retried:
            self._seen_archives[entry.id] = digest
            self._keep(stored)
        elif not self._is_known(entry.id, digest, 0):
            try:
                for member in expand(entry.id, entry.path, self._limits):
                    try:
                        content = member.read()
                    except UnreadableFileError as error:
                        self._refuse(member.id, "", str(error), member.size)
                        continue
                    member_digest = hashlib.sha256(content).hexdigest()
                    if not self._is_known(member.id, member_digest, 0):
                        self._asked[member.id] = (member_digest, 0)
                        yield FileToRead(id=member.id, content=content)
                self._seen_archives[entry.id] = digest
                # Its members stand for it.
                del self.reports[entry.id]
            except UnreadableFileError as error:
                self._refuse(entry.id, digest, str(error), entry.size)
        self._step(entry.id, entry.size)

    def _keep(self, ids: list[str]) -> None:
        for id_ in sorted(ids):
            reason = None if id_ in self._hashes else self._refusals[id_][1]
            self.reports[id_] = FileReport(
                file=id_, status="refused" if reason else "unchanged", reason=reason
            )

    def _is_known(self, id_: str, digest: str, size: int) -> bool:
        """Report a file whose content is the one that was read, or refused, before."""
        refused, reason = self._refusals.get(id_, ("", None))
        if self._hashes.get(id_) == digest:
            self.reports[id_] = FileReport(file=id_, status="unchanged")
            self._sizes[id_] = size
        elif refused == digest and self._same_conditions:
            self.reports[id_] = FileReport(file=id_, status="refused", reason=reason)
            self._sizes[id_] = size
        else:
            self.reports[id_] = FileReport(file=id_, status="indexed")
            return False
        self._step(id_, size)
        return True

    def _cannot_open(self, entry: Entry, reason: str, *, is_stored: bool) -> None:
        if is_stored:
            # It may be readable again tomorrow: what was read of it is not thrown away.
            reason = f"{reason} What was read of it earlier is kept."
            self.reports[entry.id] = FileReport(file=entry.id, status="refused", reason=reason)
        else:
            self._refuse(entry.id, "", reason, entry.size)
        self._step(entry.id, entry.size)

    def _take(self, read: ReadFile) -> None:
        digest, size = self._asked.pop(read.id)
        self._progress(self._done, self._total, read.id)
        if read.document is None:
            reason = read.reason or "it cannot be read."
            sha256 = read.sha256 or (digest if read.is_final else "")
            self._refuse(read.id, sha256, reason, read.size or size, read.seconds)
        else:
            done = self._done

            def tick(share: float) -> None:
                self._progress(done + int(share * size), self._total, read.id)

            file = StoredFile(
                document=read.document,
                pieces=read.pieces,
                sha256=read.sha256,
                size=read.size,
                seconds=read.seconds,
                language=language_of(_excerpts(read.pieces)),
            )
            self._encoding.add(file, "replaced" if read.id in self._hashes else "added", tick)
        self._done += size

    def _refuse(self, id_: str, sha256: str, reason: str, size: int, seconds: float = 0.0) -> None:
        """Note a refusal; one that is known already changes nothing."""
        self._sizes[id_] = size
        self.reports[id_] = FileReport(file=id_, status="refused", reason=reason, size=size, seconds=seconds)
        if self._refusals.get(id_) != (sha256, reason):
            with self._store.changing():
                self._store.add_refusal(id_, sha256, reason, size, seconds)
                self._store.note("refused", [id_])

    def _step(self, id_: str, size: int) -> None:
        self._progress(self._done, self._total, id_)
        self._done += size


def _excerpts(pieces: Sequence[str]) -> str:
    """Beginning, middle and end of a long text, a short one as it is."""
    if len(pieces) == 1:
        return pieces[0]
    return "\n".join((pieces[0][:_EXCERPT], pieces[len(pieces) // 2][:_EXCERPT], pieces[-1][-_EXCERPT:]))


def _is_running(process: int) -> bool:
    if sys.platform == "win32":  # no harmless way to ask: what was begun stays
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
