"""Zip archives from strangers: the one way in which zipped documents and uploads of many files are opened.

Sizes are counted while unpacking, because the declared ones may lie. Only what Office and every zip program write is
unpacked, stored and deflated members: bzip2 and LZMA turn a few kilobytes into gigabytes in one step.
"""

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, Self

from causalviz.documents.encodings import decode
from causalviz.documents.limits import DEFAULT_LIMITS, Limits
from causalviz.errors import UnreadableFileError

DAMAGED = (
    zipfile.BadZipFile, NotImplementedError, OSError, EOFError, ValueError, IndexError, struct.error, zlib.error,
)  # fmt: skip
"""What zipfile raises on bytes that are no sound archive."""

_STEP = 65_536  # bytes unpacked at a time
_HARMLESS = 10_000_000  # bytes: what unpacks to no more is no bomb, whatever its ratio
_RECORD = b"PK\x01\x02"  # begins the entry of a member in the archive's directory
_UTF8_NAME = 0x800
_ENCRYPTED = 0x41
_NAME_LENGTH = 120  # characters of a file's or folder's name
_PATH_LENGTH = 400
_IGNORED = {"__macosx", "thumbs.db", "desktop.ini"}


@dataclass(slots=True)
class Budget:
    """What may still be unpacked, of an archive and all archives inside it."""

    bytes_left: int
    members_left: int


class Archive:
    """A zip that is open for reading; use it in a ``with`` block.

    All methods raise UnreadableFileError, and nothing else, whatever the bytes.
    """

    def __init__(self, source: bytes | Path, limits: Limits, budget: Budget, *, what: str) -> None:
        """Read the directory.

        Args:
            source: The zip, or the file it lies in.
            limits: archive_ratio and what is named in a refusal.
            budget: Counted down while unpacking.
            what: The archive as it is called in a refusal: "the .docx".
        """
        self._what, self._limits, self._budget = what, limits, budget
        self._bytes_limit = budget.bytes_left
        try:
            self._stream: IO[bytes] = BytesIO(source) if isinstance(source, bytes) else source.open("rb")
            try:
                self._count_members()
                self._zip = zipfile.ZipFile(self._stream)
            except BaseException:
                self._stream.close()
                raise
        except UnreadableFileError:
            raise
        except DAMAGED as error:
            raise UnreadableFileError(
                f"{what} is a damaged or cut-off zip archive ({reason(error)}); copy or download the file again, "
                "or save it anew."
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._stream.close()

    def __contains__(self, name: str) -> bool:
        return name in self._zip.NameToInfo

    @property
    def members(self) -> list[zipfile.ZipInfo]:
        """Files and folders in the order of the directory."""
        return self._zip.infolist()

    def open(self, member: str | zipfile.ZipInfo, most: int | None = None) -> "MemberStream":
        """Open a member for reading in steps.

        Args:
            member: What ``members`` gives, or its name, which is in the archive.
            most: Bytes it may unpack to; None for what the whole archive may.
        """
        info = member if isinstance(member, zipfile.ZipInfo) else self._zip.getinfo(member)
        name = neutral_name(info.filename)[-80:]
        if info.flag_bits & _ENCRYPTED:
            raise UnreadableFileError(
                f"{self._what} is password-protected ('{name}' in it is encrypted), but must open without one; remove "
                "the password and save it again."
            )
        if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise UnreadableFileError(
                f"'{name}' in {self._what} is packed by a method few programs know, but only Deflate is read; zip it "
                "again in the usual way."
            )
        try:
            stream = self._zip.open(info)
        except (*DAMAGED, RuntimeError) as error:
            raise self._damage(name, error) from error
        return MemberStream(stream, partial(self._count, info, name, most), partial(self._damage, name))

    def read(self, member: str | zipfile.ZipInfo, most: int | None = None) -> bytes:
        """Unpack a member whole; arguments as of ``open``."""
        stream = self.open(member, most)
        return b"".join(iter(stream.read, b""))

    def _count_members(self) -> None:
        """Count before the directory is read, since each entry of some 50 bytes becomes an object of a thousand."""
        found, end = 0, b""
        while block := self._stream.read(_STEP * 16):
            found += (end + block).count(_RECORD)
            end = block[-len(_RECORD) + 1 :]
        self._budget.members_left -= found
        if self._budget.members_left < 0:
            raise UnreadableFileError(
                f"{self._what} holds {found:,} files, but at most {self._limits.archive_members:,} are read of an "
                "archive with all archives inside it; split it."
            )

    def _count(self, info: zipfile.ZipInfo, name: str, most: int | None, unpacked: int, step: int) -> None:
        self._budget.bytes_left -= step
        if most is not None and unpacked > most:
            raise UnreadableFileError(
                f"'{name}' in {self._what} unpacks to more than {most / 1e6:,g} MB, the most that is read of one "
                "file; split it."
            )
        if unpacked > max(_HARMLESS, self._limits.archive_ratio * info.compress_size):
            raise UnreadableFileError(
                f"'{name}' in {self._what} unpacks to more than {self._limits.archive_ratio:,.0f} times its size, as "
                "only archives made to do harm do; save it anew in the program that made it."
            )
        if self._budget.bytes_left < 0:
            raise UnreadableFileError(
                f"{self._what} unpacks to more than {self._bytes_limit / 1e6:,g} MB, the most that is read of it; "
                "split it."
            )

    def _damage(self, name: str, error: Exception) -> UnreadableFileError:
        return UnreadableFileError(
            f"'{name}' in {self._what} is damaged ({reason(error)}); copy or download the file again, or save it anew."
        )


@dataclass(slots=True)
class MemberStream:
    """The bytes of a member, counted as they are unpacked."""

    _stream: IO[bytes]
    _count: Callable[[int, int], None]
    _damage: Callable[[Exception], UnreadableFileError]
    _unpacked: int = 0

    def read(self, size: int = -1) -> bytes:
        """Give up to ``size`` bytes (a step, where it is below 0); b"" at the end.

        Raises:
            UnreadableFileError: Too much was unpacked, or the member is damaged.
        """
        try:
            piece = self._stream.read(_STEP if size < 0 else min(size, _STEP))
        except DAMAGED as error:
            raise self._damage(error) from error
        self._unpacked += len(piece)
        self._count(self._unpacked, len(piece))
        return piece


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A file inside an archive, not unpacked yet."""

    id: str
    """Path that begins with the archive's: "laws.zip/2021/第一号.txt"; unique in the archive, safe as a path."""
    size: int
    """Bytes, as the archive declares."""
    _read: Callable[[], bytes] = field(repr=False)

    def read(self) -> bytes:
        """Unpack it, while ``expand`` has not gone on to the next one.

        Raises:
            UnreadableFileError: Encrypted, damaged, too large, or an archive too deep inside others.
        """
        return self._read()


def expand(name: str, source: bytes | Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Member]:
    """Give the files inside a .zip one after the other, with those of the .zip files inside it.

    Folders, links, hidden files (leading dot), lock files ("~$") and what systems leave behind (__MACOSX, Thumbs.db)
    are left out. Names without the mark of UTF-8 are decoded by what they look like: zips made on Chinese and Japanese
    systems hold GBK and cp932.

    Args:
        name: Id of the archive.
        source: Its bytes, or the file they lie in, so that a large one need not be in memory.
        limits: upload_bytes for all members together, file_bytes for each.

    Raises:
        UnreadableFileError: While iterating: no sound zip, or too many members.
    """
    budget = Budget(bytes_left=limits.upload_bytes, members_left=limits.archive_members)
    yield from _expand(name, source, limits, budget, depth=1)


def neutral_name(name: str) -> str:
    r"""Make a path from an archive relative and harmless: "C:\..\a\0b.txt" -> "a_b.txt".

    Backslashes become slashes, colons "_"; drives, "..", "." and empty parts go; control and formatting characters and
    halves of surrogate pairs become "_"; parts of over 120 characters are cut before the suffix, long paths in front.
    """
    name = re.sub(r"[^\w\s!-/:-@\[-`{-~]", lambda char: char[0] if char[0].isprintable() else "_", name)
    name = re.sub(r"[\t\r\n\f\v\x1c-\x1f\x85\u2028\u2029]", "_", name)
    parts = re.sub(r"^[A-Za-z]:", "", name.replace("\\", "/")).replace(":", "_").split("/")
    parts = [_shortened(part.strip()) for part in parts if part.strip() not in {"", ".", ".."}]
    while len(parts) > 1 and len("/".join(parts)) > _PATH_LENGTH:
        parts = parts[1:]
    return "/".join(parts) or "_"


def reason(error: Exception) -> str:
    """Give the first line of an error, cut to fit a sentence."""
    return str(error).partition("\n")[0][:120] or type(error).__name__


def _shortened(part: str) -> str:
    if len(part) <= _NAME_LENGTH:
        return part
    stem, dot, suffix = part.rpartition(".")
    suffix = dot + suffix if stem and len(suffix) <= 10 else ""  # noqa: PLR2004 - no known suffix is longer
    return part[: _NAME_LENGTH - len(suffix)].rstrip() + suffix


def _expand(
    name: str, source: bytes | Path, limits: Limits, budget: Budget, *, depth: int
) -> Iterator[Member]:
    with Archive(source, limits, budget, what=f"the archive '{name}'") as archive:
        taken: dict[str, int] = {}
        for info, path in _files(archive.members):
            id_ = _unique(f"{name}/{path}", taken)
            if not id_.lower().endswith(".zip"):
                read = partial(archive.read, info, limits.file_bytes)
                yield Member(id=id_, size=info.file_size, _read=read)
            elif depth >= limits.archive_depth:
                yield _refused(id_, info.file_size, UnreadableFileError(
                    f"the archive lies in {depth} others, but at most {limits.archive_depth} within one another are "
                    "read; unpack it first."
                ))  # fmt: skip
            else:
                try:
                    inner = archive.read(info, limits.file_bytes)
                    yield from _expand(id_, inner, limits, budget, depth=depth + 1)
                except UnreadableFileError as error:
                    yield _refused(id_, info.file_size, error)


def _refused(id_: str, size: int, error: UnreadableFileError) -> Member:
    def refuse() -> bytes:
        raise error

    return Member(id=id_, size=size, _read=refuse)


def _files(members: Sequence[zipfile.ZipInfo]) -> Iterator[tuple[zipfile.ZipInfo, str]]:
    for info, name in zip(members, _names(members), strict=True):
        parts = neutral_name(name).split("/")
        ignored = any(part.startswith((".", "~$")) or part.lower() in _IGNORED for part in parts)
        if not (ignored or name.endswith(("/", "\\")) or stat.S_ISLNK(info.external_attr >> 16)):
            yield info, "/".join(parts)


def _names(members: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Decode names once more: without the mark of UTF-8, zipfile reads them as cp437, which the standard says."""
    raw = [
        None if info.flag_bits & _UTF8_NAME else info.orig_filename.encode("cp437", "replace")
        for info in members
    ]
    together = b"\n".join(name for name in raw if name and not name.isascii())
    codec = "cp437"
    if together:
        try:
            decoded = decode(together)
            # A guess between single-byte encodings is worth less than the standard.
            codec = "cp437" if any("guess" in warning for warning in decoded.warnings) else decoded.encoding
        except UnreadableFileError:
            pass
    return [
        info.orig_filename if name is None else name.decode(codec, "replace")
        for info, name in zip(members, raw, strict=True)
    ]


def _unique(id_: str, taken: dict[str, int]) -> str:
    """Number a name that is there already: "a.txt", "a (2).txt"; ``taken`` holds the last number of each name."""
    stem, dot, suffix = id_.rpartition(".")
    chosen = id_
    while chosen in taken:
        taken[id_] = number = taken[id_] + 1
        chosen = f"{stem} ({number}){dot}{suffix}" if stem and "/" not in suffix else f"{id_} ({number})"
    taken[chosen] = 1
    return chosen
