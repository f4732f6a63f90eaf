"""The files of a folder, in a stable order."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from causalviz.errors import KnowledgeBaseError


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that is to be read."""

    id: str
    """Path relative to the folder, with forward slashes; bytes of the name that are not UTF-8 as ``\\xNN``."""
    path: Path


def scan(folder: Path) -> list[SourceFile]:
    """List all regular files below a folder, sorted by id, whatever their suffix: reading says what is refused.

    Hidden files and folders (leading dot), Word's lock files ("~$"), symbolic links that lead out of the folder or
    nowhere, and whatever is no regular file (a pipe would block the reader) are left out. A linked folder is not
    entered: what it holds of this folder is listed where it lies.

    Raises:
        KnowledgeBaseError: There is no such folder, it is a file, or it may not be read.
    """
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "does not exist"
        raise KnowledgeBaseError(
            f"'{folder}' {found}, but a folder of documents was expected; check the path."
        )
    root = folder.resolve()
    try:
        # Sorted by id alone: paths of one folder are distinct, and so are their ids.
        return sorted(_files(folder, root), key=lambda file: file.id)
    except OSError as error:
        raise KnowledgeBaseError(
            f"the folder '{folder}' cannot be read ({error.strerror}); check that you may open it."
        ) from error


def _files(folder: Path, root: Path) -> Iterator[SourceFile]:
    def refuse_root(error: OSError) -> None:
        if error.filename == os.fspath(folder):
            raise error

    for parent, folders, names in os.walk(folder, onerror=refuse_root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(parent, name)
            if not name.startswith((".", "~$")) and path.is_file() and path.resolve().is_relative_to(root):
                yield SourceFile(id=_printable(path.relative_to(folder).as_posix()), path=path)


def _printable(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
