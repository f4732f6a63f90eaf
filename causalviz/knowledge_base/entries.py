"""What a knowledge base is made from: files on disk, the files inside archives, and records that are text already."""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from causalviz.documents import DEFAULT_LIMITS, Limits, scan
from causalviz.documents.reading import FileToRead, ReadFile, cut
from causalviz.errors import UnreadableFileError
from causalviz.records import Document

ARCHIVE = ".zip"


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

    def digest(self, limits: Limits = DEFAULT_LIMITS) -> str:
        """Return the hash that decides whether it changed.

        Raises:
            UnreadableFileError: it cannot be opened, or is larger than what is read.
        """
        ...

    def take(self) -> FileToRead | ReadFile:
        """Return what is to be read, or what is read already."""
        ...


Source = Sequence[Entry]


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file on disk. One whose id ends in .zip stands for the files in it."""

    id: str
    path: Path

    @property
    def size(self) -> int:
        """Bytes; 0 when it is gone."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    @property
    def is_archive(self) -> bool:
        """Whether it stands for the files in it."""
        return self.id.lower().endswith(ARCHIVE)

    def digest(self, limits: Limits = DEFAULT_LIMITS) -> str:
        """Hash the file's bytes; one over the size limit is not read at all."""
        most = limits.upload_bytes if self.is_archive else limits.file_bytes
        if self.size > most:
            raise UnreadableFileError(
                f"the file has {self.size / 1e6:,.1f} MB, more than the {most / 1e6:,g} MB that are read; split it "
                "into parts."
            )
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise UnreadableFileError(
                f"the file cannot be opened ({error.strerror}); check that it still exists and may be read."
            ) from error

    def take(self) -> FileToRead:
        """Return where it lies."""
        return FileToRead(id=self.id, content=self.path)


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

    def digest(self, limits: Limits = DEFAULT_LIMITS) -> str:  # noqa: ARG002 - it is in memory already
        """Hash title and text."""
        return hashlib.sha256(self._content()).hexdigest()

    def take(self) -> ReadFile:
        """Return the record as it is; one without text is refused like an empty file."""
        start = time.perf_counter()
        content = self._content()
        filled = bool(self.record.text.strip())
        return ReadFile(
            id=self.id,
            sha256=hashlib.sha256(content).hexdigest(),
            size=len(content),
            document=replace(self.record, text="") if filled else None,
            pieces=cut(self.record.text),
            reason=None if filled else "the record holds no text; give it some, or leave it out.",
            seconds=time.perf_counter() - start,
        )

    def _content(self) -> bytes:
        return f"{self.record.title}\0{self.record.text}".encode("utf-8", "surrogatepass")


class FolderSource(list[FileEntry]):
    """All files below a folder, in id order."""

    def __init__(self, folder: Path) -> None:
        super().__init__(FileEntry(file.id, file.path) for file in scan(folder))
        self.folder = folder.resolve()


def folder_source(folder: Path) -> FolderSource:
    """Return all files below a folder, in id order.

    Raises:
        KnowledgeBaseError: the folder is missing or is a file.
    """
    return FolderSource(folder)
