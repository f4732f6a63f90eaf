"""What people do with knowledge bases: make, name, fill, delete and bring back, give away and take in."""

import os
import re
import shutil
import sqlite3
import threading
import time
import unicodedata
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NoReturn, TypeVar

from causalviz.documents import DEFAULT_LIMITS, Limits
from causalviz.errors import KnowledgeBaseError, UnreadableFileError
from causalviz.jobs import Job, finish
from causalviz.keywords import Tokenizer
from causalviz.knowledge_base import (
    Change,
    Entry,
    FileEntry,
    IndexResult,
    Source,
    folder_source,
    forget,
    history,
    pending_changes,
    rebuild,
    reports,
    source_folder,
    stored_document,
    update,
)
from causalviz.knowledge_base.store import Store, named_errors
from causalviz.knowledge_base.vetting import pour
from causalviz.protocols import Encoder, Progress
from causalviz.records import Chunk, Document, FileReport
from causalviz.ui.changing import backup, change_file, changing_place, free_name
from causalviz.ui.library import SAMPLE_NAME, SUFFIX, UPLOADS, Library, Upload, add_files

T = TypeVar("T")

KEPT_DAYS = 30
"""How long a deleted knowledge base can be brought back."""
_DAY = 86_400
_LONGEST_NAME = 64
_LONGEST_ID = 400

Kind = Literal["sample", "given", "saved", "own"]
"""The sample; named when the app was started; saved here; the session's own. Only the last two can be changed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A knowledge base as it stands in the list."""

    name: str
    kind: Kind
    documents: int = 0
    refused: int = 0
    size: int = 0
    """Bytes of its file."""
    changed: float | None = None
    """Seconds since 1970; None where nothing is there yet."""
    encoder: str = ""
    problem: str = ""
    """Why it cannot be asked here, with the cure; "" if it can."""
    foreign: bool = False
    """Whether another encoder made it, so that a rebuild mends it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Deleted:
    """A knowledge base that can be brought back."""

    id: str
    name: str
    deleted: float
    """Seconds since 1970."""
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Incoming:
    """A file that a page brings."""

    name: str
    """With the folders it lies in, as the browser tells it."""
    size: int
    path: Path | None
    """Where it was put; None where it is too large to be brought."""


@dataclass(frozen=True, slots=True)
class _TooLarge:
    """An entry for a file that was not brought."""

    id: str
    size: int

    def digest(self, limits: Limits = DEFAULT_LIMITS) -> str:
        """Say why it is not there.

        Raises:
            UnreadableFileError: always.
        """
        raise UnreadableFileError(
            f"the file has {self.size / 1e6:,.1f} MB, more than the {limits.file_bytes / 1e6:,g} MB that are read; "
            "split it into parts."
        )

    def take(self) -> NoReturn:
        """Never be asked: it has no digest."""
        raise NotImplementedError


class Manager:
    """The knowledge bases that everybody who uses this app shares, as files that can be changed."""

    def __init__(self, library: Library) -> None:
        self._library = library
        # Two people must not give one name at the same moment.
        self._naming = threading.Lock()

    def cards(self, own: Upload | None) -> list[Card]:
        """List the session's own documents, then the shared knowledge bases, the sample first."""
        shared = [self._card(name) for name in self._library.names()]
        return [self._own_card(own), *shared]

    def create(self, name: str) -> str:
        """Make an empty knowledge base and return its name.

        Raises:
            KnowledgeBaseError: the name is unusable or taken, or the folder cannot be written.
        """
        with self._naming:
            clean = self._library.new_name(name)
            Store.create(self._place(clean), self._library.encoder.name).__exit__()
        return clean

    def rename(self, name: str, wanted: str) -> str:
        """Give another name and return it.

        Raises:
            KnowledgeBaseError: the name is unusable or taken, or the knowledge base is gone or may not be changed.
        """
        with self._naming, self._alone(name) as path:
            clean = (
                self._library.new_name(wanted)
                if wanted.strip().casefold() != name.casefold()
                else wanted.strip()
            )
            path.rename(self._place(clean))
        return clean

    def copy(self, name: str, wanted: str) -> str:
        """Copy a shared knowledge base, the sample for example, into one that can be changed; return its name.

        Raises:
            KnowledgeBaseError: as for rename; a copy of any may be made.
        """
        return self._keep(self._existing(name), wanted)

    def delete(self, name: str) -> str:
        """Put a knowledge base away for KEPT_DAYS; return what brings it back.

        Raises:
            KnowledgeBaseError: it is gone, may not be changed, or somebody is changing it.
        """
        with self._naming, self._alone(name) as path:
            id_ = f"{int(time.time())}-{uuid.uuid4().hex}"
            (self._trash / id_).mkdir(parents=True)
            path.rename(self._trash / id_ / path.name)
        return id_

    def deleted(self) -> list[Deleted]:
        """List what can be brought back, the last deleted first; what is older than KEPT_DAYS is gone for good."""
        found = []
        for folder in self._trash.glob("*-*"):
            moment = int(folder.name.partition("-")[0])
            if time.time() - moment > KEPT_DAYS * _DAY:
                shutil.rmtree(folder, ignore_errors=True)
                continue
            found += [
                Deleted(id=folder.name, name=path.stem, deleted=moment, size=path.stat().st_size)
                for path in folder.glob(f"*{SUFFIX}")
            ]
        return sorted(found, key=lambda one: (-one.deleted, one.name))

    def restore(self, id_: str) -> str:
        """Bring a deleted knowledge base back, under a numbered name if its own is taken; return the name.

        Raises:
            KnowledgeBaseError: it cannot be brought back any more.
        """
        with self._naming:
            found = next((one for one in self.deleted() if one.id == id_), None)
            if found is None:
                raise KnowledgeBaseError(
                    "it cannot be brought back any more: somebody else did so, or it was deleted more than "
                    f"{KEPT_DAYS} days ago; import it from a file, or add its files again."
                )
            name = self._free(found.name)
            self._place(name).parent.mkdir(parents=True, exist_ok=True)
            (self._trash / id_ / f"{found.name}{SUFFIX}").rename(self._place(name))
            shutil.rmtree(self._trash / id_, ignore_errors=True)
        return name

    def export(self, name: str, own: Upload | None, target: Path) -> None:
        """Write a knowledge base to a file as it is at this moment, even while it is being changed.

        Raises:
            KnowledgeBaseError: there is nothing to write, or no room.
        """
        path = self.path(name, own)
        with named(path, name):
            backup(path, target)

    def take_in(self, file: Path, wanted: str, progress: Progress) -> str:
        """Look an exported knowledge base through and keep it; return its name.

        Args:
            file: It is deleted, whatever comes of it.
            wanted: The name it had; what cannot stand in a name is left out, and a taken one is numbered.
            progress: Told while it is made ready to be asked.

        Raises:
            KnowledgeBaseError: it is none that can be believed (vetting.py), or there is no room.
        """
        with changing_place(self._made(self._library.folder)) as place:
            building = place / "new"
            try:
                encoder = pour(file, building)
            finally:
                file.unlink(missing_ok=True)
            if encoder == self._library.encoder.name:
                self._library.runner.run(partial(finish, building), progress, threading.Event())
            with self._naming:
                name = self._free(_usable(wanted))
                building.rename(self._place(name))
        return name

    def reports(self, name: str, own: Upload | None) -> tuple[FileReport, ...]:
        """Say what became of every file, in id order; nothing where nothing was added yet.

        Raises:
            KnowledgeBaseError: there is no such knowledge base, or it is damaged.
        """
        if name == UPLOADS and (own is None or own.path is None):
            return ()
        path = self.path(name, own)
        with named(path, name):
            return reports(path)

    def history(self, name: str, own: Upload | None) -> tuple[Change, ...]:
        """Say what changed, newest first.

        Raises:
            KnowledgeBaseError: as reports.
        """
        if name == UPLOADS and (own is None or own.path is None):
            return ()
        path = self.path(name, own)
        with named(path, name):
            return history(path)

    def read(self, name: str, own: Upload | None, id_: str) -> tuple[Document, tuple[Chunk, ...]]:
        """Give a document exactly as it was indexed, with its chunks.

        Raises:
            KnowledgeBaseError: it is not in there any more.
        """
        path = self.path(name, own)
        with named(path, name), named_errors(path):
            document = stored_document(path, id_)
            with Store.open(path) as store:
                chunks = store.chunk_ranges(id_)
        return document, tuple(chunks[number] for number in sorted(chunks))

    def path(self, name: str, own: Upload | None) -> Path:
        """Where the file of a shared or of the session's own knowledge base lies.

        Raises:
            KnowledgeBaseError: there is none.
        """
        if name == UPLOADS:
            if own is None or own.path is None:
                raise KnowledgeBaseError("nothing has been uploaded yet; add files first.")
            return own.path
        return self._existing(name)

    def add(
        self,
        name: str,
        own: Upload | None,
        files: Sequence[Incoming],
        stop: threading.Event,
        progress: Progress,
    ) -> IndexResult | None:
        """Read files into a knowledge base; one that has the name of another takes its place.

        Args:
            name: Of the knowledge base.
            own: The session's documents, where they are meant.
            files: They are deleted, whatever comes of them.
            stop: Ends the run; what it had finished is kept.
            progress: Told of every file.

        Returns:
            What became of them; None if it was stopped.

        Raises:
            KnowledgeBaseError: the files are too many bytes, or the knowledge base cannot be changed.
            BackendError: the process that indexes ended by itself.
        """
        try:
            total = sum(file.size for file in files if file.path)
            limits = self._library.limits
            if total > limits.upload_bytes:
                raise KnowledgeBaseError(
                    f"these files have {total / 1e6:,.1f} MB together, more than the "
                    f"{limits.upload_bytes / 1e6:,g} MB that are taken at once; add them in several goes."
                )
            source = _entries(files)
            return self._change(
                name,
                own,
                lambda path: partial(add_files, path, source, limits),
                progress,
                stop,
            )
        finally:
            for file in files:
                if file.path:
                    file.path.unlink(missing_ok=True)

    def forget(
        self, name: str, own: Upload | None, ids: Sequence[str], stop: threading.Event, progress: Progress
    ) -> None:
        """Remove files.

        Raises:
            KnowledgeBaseError: the knowledge base cannot be changed.
        """
        self._change(name, own, lambda path: partial(_forget, path, ids), progress, stop)

    def rebuild(self, name: str, own: Upload | None, stop: threading.Event, progress: Progress) -> bool:
        """Encode all texts anew, with this app's encoder, whichever made it; return whether it was done.

        Raises:
            KnowledgeBaseError: the knowledge base cannot be changed.
        """
        return self._change(name, own, lambda path: partial(_rebuild, path), progress, stop) is not None

    def folder(self, name: str, own: Upload | None) -> Path | None:
        """Folder a knowledge base was made from; None where there is none, or none any more."""
        if name == UPLOADS:
            return None
        path = self.path(name, own)
        with named(path, name):
            found = source_folder(path)
        return found if found and found.is_dir() else None

    def pending(self, name: str, own: Upload | None) -> Change:
        """Say what differs now from the folder a knowledge base was made from.

        Raises:
            KnowledgeBaseError: it was not made from a folder, or that is gone.
        """
        path, folder = self.path(name, own), self._folder(name, own)
        with named(path, name), named(folder, folder.name):
            return pending_changes(path, folder_source(folder))

    def update(
        self, name: str, own: Upload | None, stop: threading.Event, progress: Progress
    ) -> IndexResult | None:
        """Bring a knowledge base up to date with the folder it was made from.

        Raises:
            KnowledgeBaseError: it was not made from a folder, or cannot be changed.
            BackendError: the process that indexes ended by itself.
        """
        folder = self._folder(name, own)
        with named(folder, folder.name):
            source = folder_source(folder)
        return self._change(
            name, own, lambda path: partial(update, path, source, limits=self._library.limits), progress, stop
        )

    def _folder(self, name: str, own: Upload | None) -> Path:
        folder = self.folder(name, own)
        if folder is None:
            raise KnowledgeBaseError(
                f"'{name}' was not made from a folder that is still there; add its files again instead."
            )
        return folder

    def _change(
        self,
        name: str,
        own: Upload | None,
        job_on: Callable[[Path], Job[T]],
        progress: Progress,
        stop: threading.Event,
    ) -> T | None:
        """Do a job on a knowledge base; None if it was stopped."""
        runner = self._library.runner
        if name == UPLOADS:
            if own is None:
                raise KnowledgeBaseError("the page was opened too long ago; reload it, then try again.")
            return own.change(job_on, self._library.encoder, runner, progress, stop)
        with self._alone(name) as path:
            return change_file(path, job_on, runner, progress, stop)

    @contextmanager
    def _alone(self, name: str) -> Iterator[Path]:
        """Let nobody else change it meanwhile, here or in another process."""
        if name in self._library.names() and not self._library.may_change(name):
            raise KnowledgeBaseError(f"'{name}' cannot be changed here; make a copy of it and change that.")
        path = self._existing(name)
        with self._library.changing(name), named(path, name), named_errors(path):
            with closing(sqlite3.connect(path)) as db:
                db.execute("BEGIN EXCLUSIVE")
                db.rollback()
            yield path

    def _existing(self, name: str) -> Path:
        if name not in self._library.names() or not (path := self._library.path(name)).exists():
            raise KnowledgeBaseError(
                f"there is no knowledge base '{name}' here any more; choose another one from the list."
            )
        return path

    def _keep(self, path: Path, wanted: str) -> str:
        with changing_place(self._made(self._library.folder)) as place:
            building = place / "new"
            with named(path, wanted):
                backup(path, building)
            with self._naming:
                name = self._library.new_name(wanted)
                building.rename(self._place(name))
        return name

    def _place(self, name: str) -> Path:
        return self._library.folder / f"{name}{SUFFIX}"

    @property
    def _trash(self) -> Path:
        return self._library.folder.parent / "deleted"

    @staticmethod
    def _made(folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _free(self, name: str) -> str:
        taken = {one.casefold() for one in [*self._library.names(), UPLOADS]}
        free, number = name, 2
        while free.casefold() in taken:
            free = f"{name[: _LONGEST_NAME - 5]} ({number})"
            number += 1
        return free

    def _own_card(self, own: Upload | None) -> Card:
        if own is None or own.path is None or not own.path.exists():
            return Card(name=UPLOADS, kind="own", encoder=self._library.encoder.name)
        return self._described(own.path, UPLOADS, "own")

    def _card(self, name: str) -> Card:
        path = self._library.path(name)
        if name == SAMPLE_NAME:
            return self._described(path, name, "sample")
        return self._described(path, name, "saved" if self._library.may_change(name) else "given")

    def _described(self, path: Path, name: str, kind: Kind) -> Card:
        try:
            found = path.stat()
            with named(path, name), named_errors(path), Store.open(path) as store:
                encoder = store.encoder
                documents, refused = len(store.hashes()), len(store.refusals())
        except (OSError, KnowledgeBaseError) as error:
            return Card(name=name, kind=kind, problem=str(error))
        here = self._library.encoder.name
        problem = "" if encoder == here else f"made with {encoder}; rebuild to use it here"
        return Card(
            name=name,
            kind=kind,
            documents=documents,
            refused=refused,
            size=found.st_size,
            changed=found.st_mtime,
            encoder=encoder,
            problem=problem,
            foreign=bool(problem),
        )


@contextmanager
def named(path: Path, name: str) -> Iterator[None]:
    """Let errors speak of a knowledge base by its name: where a server keeps its files is nobody's business.

    Raises:
        KnowledgeBaseError: what was raised inside, without the path.
    """
    try:
        yield
    except KnowledgeBaseError as error:
        raise KnowledgeBaseError(str(error).replace(os.fspath(path), name)) from error
    except OSError as error:
        raise KnowledgeBaseError(
            f"'{name}' cannot be written ({error.strerror}); make room, then try again."
        ) from error


def _forget(
    path: Path, ids: Sequence[str], encoder: Encoder, _tokenizer: Tokenizer, progress: Progress
) -> None:
    forget(path, ids, encoder, progress)


def _rebuild(path: Path, encoder: Encoder, tokenizer: Tokenizer, progress: Progress) -> bool:
    rebuild(path, encoder, tokenizer, progress)
    return True


def _entries(files: Sequence[Incoming]) -> Source:
    taken: set[str] = set()
    found: list[Entry] = []
    for file in files:
        id_ = free_name(neutral_name(file.name), taken)
        taken.add(id_)
        found.append(FileEntry(id_, file.path) if file.path else _TooLarge(id_, file.size))
    return sorted(found, key=lambda entry: entry.id)


def neutral_name(name: str) -> str:
    """Make an id of the path a browser tells: relative, without ways up, of printable characters, not too long."""
    normal = unicodedata.normalize("NFC", name.encode("utf-8", "replace").decode())
    parts = [
        "".join(character if character.isprintable() else "�" for character in part).strip()
        for part in re.split(r"[/\\]", normal)
    ]
    kept = "/".join(part for part in parts if part not in {"", ".", ".."})
    # The end says which format it is.
    return kept[-_LONGEST_ID:].lstrip("/") or "unnamed"


def _usable(wanted: str) -> str:
    """Make a name of what a file was called."""
    kept = re.sub(r"[^\w .()-]", "", unicodedata.normalize("NFC", wanted))
    kept = re.sub(r"^[^\w]+", "", kept)[:_LONGEST_NAME].rstrip(" .")
    return kept or "imported"
