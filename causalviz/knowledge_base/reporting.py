"""What became of every file of a knowledge base, and what changed in it when."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from causalviz.errors import KnowledgeBaseError, UnreadableFileError
from causalviz.knowledge_base.entries import FileEntry, Source
from causalviz.knowledge_base.snapshot import near_duplicate_ids
from causalviz.knowledge_base.store import Kind, Store, named_errors
from causalviz.records import Document, FileReport


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What one run did, or would do, to a knowledge base: ids, sorted."""

    when: str
    """Time in UTC as ISO 8601."""
    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def reports(path: Path) -> tuple[FileReport, ...]:
    """Describe every file of a knowledge base, indexed or refused, in id order.

    Raises:
        KnowledgeBaseError: the file is missing, damaged, in use, or of another version.
    """
    with named_errors(path), Store.open(path) as store:
        return tuple(file_reports(store).values())


def file_reports(store: Store) -> dict[str, FileReport]:
    """Describe every file, by id; near duplicates are known once a run has come to its end."""
    with store.reading():
        found = store.reports()
        near = near_duplicate_ids(store)
    for id_, earlier in near.items():
        if found[id_].duplicate_of is None:
            found[id_] = replace(found[id_], near_duplicate_of=earlier)
    return found


def stored_document(path: Path, document_id: str) -> Document:
    """Return a document as it was indexed, with its whole text.

    Raises:
        KnowledgeBaseError: there is no such document, or the file is missing, damaged, in use, or of another version.
    """
    with named_errors(path), Store.open(path) as store:
        found = store.documents([document_id])
    if document_id not in found:
        raise KnowledgeBaseError(
            f"the knowledge base '{path.stem}' holds no document '{document_id}'; it may have been removed since."
        )
    return found[document_id]


def history(path: Path) -> tuple[Change, ...]:
    """List the runs that changed a knowledge base, newest first; one that was interrupted with what it had finished.

    Raises:
        KnowledgeBaseError: the file is missing, damaged, in use, or of another version.
    """
    with named_errors(path), Store.open(path) as store:
        entries = store.history()
    return tuple(
        _change(time, ((kind, id_) for *_, kind, id_ in run))
        for (_, time), run in groupby(entries, key=lambda entry: entry[:2])
    )


def pending_changes(path: Path, source: Source) -> Change:
    """Compare a source with what a knowledge base holds, by hashes alone: what update would do now.

    Returns:
        ``refused`` holds what cannot be opened. An archive is named as a whole.

    Raises:
        KnowledgeBaseError: the file is missing, damaged, in use, or of another version.
    """
    with named_errors(path), Store.open(path) as store:
        archives = store.archives()
        refused = {id_: sha256 for id_, (sha256, _) in store.refusals().items()}
        hashes = store.hashes() | archives | refused
    now = datetime.now(UTC).isoformat(timespec="seconds")
    found: list[tuple[Kind, str]] = []
    for entry in source:
        try:
            digest = entry.digest()
        except UnreadableFileError:
            found.append(("refused", entry.id))
            continue
        if entry.id not in hashes:
            found.append(("added", entry.id))
        elif hashes[entry.id] != digest:
            found.append(("replaced", entry.id))
    ids = {entry.id for entry in source}
    inside = tuple(f"{entry.id}/" for entry in source if isinstance(entry, FileEntry) and entry.is_archive)
    outside = {f"{id_}/" for id_ in archives if id_ not in ids}
    gone = {id_ for id_ in hashes.keys() - ids if not id_.startswith((*inside, *outside))}
    return _change(now, [*found, *(("removed", id_) for id_ in gone)])


def source_folder(path: Path) -> Path | None:
    """Return the folder a knowledge base was last indexed from; None where it was made from something else.

    Raises:
        KnowledgeBaseError: the file is missing, damaged, in use, or of another version.
    """
    with named_errors(path), Store.open(path) as store:
        return Path(store.source) if store.source else None


def _change(when: str, found: Iterable[tuple[Kind, str]]) -> Change:
    ids: dict[Kind, list[str]] = {"added": [], "replaced": [], "removed": [], "refused": []}
    for kind, id_ in found:
        ids[kind].append(id_)
    return Change(when=when, **{kind: tuple(sorted(of_kind)) for kind, of_kind in ids.items()})
