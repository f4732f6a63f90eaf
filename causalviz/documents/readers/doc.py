"""Old Word (.doc, Word 97 to 2003): the words of the body in reading order, tables, text boxes and notes.

Our own reader of the piece table ([MS-DOC]) on olefile (BSD-2-Clause), since no small library with a free licence gives
what Word shows: kreuzberg and sharepoint-to-text leave the codes of fields in the text and tell neither hidden nor
deleted text; antiword is a program under the GPL. Headers, footers and comments are left out.
"""

import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from causalviz.documents.archives import reason
from causalviz.documents.limits import Limits
from causalviz.documents.readers.base import Part, ReadText
from causalviz.documents.readers.hidden import hidden_text
from causalviz.errors import UnreadableFileError

if TYPE_CHECKING:
    from olefile import OleFileIO

_WORD_97 = 0xA5EC
_WORD_6 = 0xA5DC
_ENCRYPTED, _SECOND_TABLE = 0x100, 0x200
# Where the file information block holds (offset, length) of tables in the table stream.
_PIECES, _CHARACTER_PAGES, _PARAGRAPH_PAGES = 0x1A2, 0xFA, 0x102
# Counts of characters of the parts of the text, in their order; True: shown in the body.
_TEXTS = ((0x4C, True), (0x50, True), (0x54, False), (0x58, False), (0x5C, False), (0x60, True), (0x64, True))
_PAGE = 512
_VANISH, _DELETED, _IN_TABLE, _ROW_END = 0x083C, 0x0800, 0x2416, 0x2417
_OPERANDS = {0: 1, 1: 1, 2: 2, 3: 4, 4: 2, 5: 2, 7: 3}  # bytes, by the top three bits of a property
_TABLE_PROPERTY, _TABS_PROPERTY = 0xD608, 0xC615
_SHOWN = {
    "\x0b": "\n",
    "\x0c": "\n",
    "\r": "\n",
    "\x0e": "\n",
    "\x1e": "-",
    "\x1f": "\u00ad",
    "\t": "\t",
    "\xa0": " ",
}
_CELL_END, _FIELD, _RESULT, _FIELD_END = "\x07", "\x13", "\x14", "\x15"
_PAGE_NUMBERS = {"PAGEREF", "PAGE", "NUMPAGES"}  # fields
_KEPT, _DROPPED = "\x14kept", "\x14dropped"  # no code of a field begins so
_CODE_LENGTH = 20  # characters, of which the name is the first word


def read_doc(data: bytes, limits: Limits) -> ReadText:
    """Read the body, then foot- and endnotes and text boxes.

    Paragraphs and table rows end with a newline; cells of a row are separated by tabs. Of fields the results are text,
    but for page numbers. Hidden text is left out with a warning, deleted text left out.
    """
    word = _open(data)
    pieces = word.pieces
    if sum(piece.length for piece in pieces) > limits.characters:
        raise UnreadableFileError(
            f"the .doc holds more than {limits.characters:,} characters, which is the limit; split it."
        )
    body = _Text()
    for start, end in word.shown_ranges:
        body.read(_characters(word, pieces, start, end))
    return ReadText(parts=(Part("".join(body.text)),), warnings=hidden_text(body.hidden))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run of the text: ``length`` characters from position ``start`` that lie at ``offset`` of the file."""

    start: int
    length: int
    offset: int
    width: int
    """Bytes of a character: 1 (cp1252) or 2 (UTF-16)."""


@dataclass(frozen=True, slots=True)
class _Span:
    """A stretch of one format, from ``start`` to ``end`` of the file."""

    start: int
    end: int
    is_hidden: bool = False
    is_deleted: bool = False
    is_cell: bool = False
    ends_row: bool = False


_PLAIN = _Span(0, 0)


@dataclass(frozen=True)
class _Word:
    main: bytes
    table: bytes

    def number(self, offset: int) -> int:
        return int.from_bytes(self.main[offset : offset + 4], "little")

    def _listed(self, offset: int) -> bytes:
        start = self.number(offset)
        return self.table[start : start + self.number(offset + 4)]

    @property
    def shown_ranges(self) -> list[tuple[int, int]]:
        ranges, start = [], 0
        for offset, is_shown in _TEXTS:
            end = start + self.number(offset)
            ranges += [(start, end)] if is_shown and end > start else []
            start = end
        return ranges

    @cached_property
    def pieces(self) -> list[_Piece]:
        listed = self._listed(_PIECES)
        while listed[:1] == b"\x01":  # properties that pieces share
            listed = listed[3 + int.from_bytes(listed[1:3], "little") :]
        size = int.from_bytes(listed[1:5], "little")
        listed = listed[5 : 5 + size]
        count = (len(listed) - 4) // 12
        if count < 1:
            raise UnreadableFileError(
                "a damaged .doc without a table of its text was found; open it in Word and save it as .docx."
            )
        borders = struct.unpack_from(f"<{count + 1}I", listed)
        pieces = []
        for index, (start, end) in enumerate(pairwise(borders)):
            (place,) = struct.unpack_from("<I", listed, 4 * (count + 1) + 8 * index + 2)
            width = 1 if place & 0x40000000 else 2
            offset = (place & 0x3FFFFFFF) // (2 if width == 1 else 1)
            room = max(0, len(self.main) - offset) // width
            pieces.append(_Piece(start, min(max(0, end - start), room), offset, width))
        return pieces

    @cached_property
    def character_spans(self) -> list[_Span]:
        """Stretches of hidden or deleted characters, in order."""
        spans = []
        for start, end, properties in self._runs(_CHARACTER_PAGES, 1):
            found = dict(_properties(properties[1 : 1 + properties[0]] if properties else b""))
            if found.get(_VANISH, 0) & 1 or found.get(_DELETED, 0) & 1:
                hidden, deleted = bool(found.get(_VANISH, 0) & 1), bool(found.get(_DELETED, 0) & 1)
                spans.append(_Span(start, end, is_hidden=hidden, is_deleted=deleted))
        return sorted(spans, key=lambda span: span.start)

    @cached_property
    def paragraph_spans(self) -> list[_Span]:
        """Paragraphs that lie in tables, in order."""
        spans = []
        for start, end, properties in self._runs(_PARAGRAPH_PAGES, 13):
            if len(properties) < 2:  # noqa: PLR2004 - less holds none
                continue
            size = 2 * properties[0] - 1 if properties[0] else 2 * properties[1]
            body = properties[1:] if properties[0] else properties[2:]
            found = dict(_properties(body[2:size]))
            is_cell, ends_row = _IN_TABLE in found, bool(found.get(_ROW_END))
            if is_cell or ends_row:
                spans.append(_Span(start, end, is_cell=is_cell, ends_row=ends_row))
        return sorted(spans, key=lambda span: span.start)

    def _runs(self, offset: int, width: int) -> Iterator[tuple[int, int, bytes]]:
        """Give (start, end, what follows from its properties on) of each run in the pages of formats."""
        listed = self._listed(offset)
        count = max(0, (len(listed) - 4) // 8)
        numbers = struct.iter_unpack("<I", listed[4 * (count + 1) :][: 4 * count])
        for (number,) in islice(numbers, len(self.main) // _PAGE):  # there are no more pages than that
            page = self.main[(number & 0x3FFFFF) * _PAGE :][:_PAGE]
            if len(page) < _PAGE:
                continue
            runs = min(page[-1], (_PAGE - 5) // (4 + width))
            borders = struct.unpack_from(f"<{runs + 1}I", page)
            for index, (start, end) in enumerate(pairwise(borders)):
                place = 2 * page[4 * (runs + 1) + width * index]
                if start < end:
                    yield start, end, page[place : _PAGE - 1] if place else b""


def _open(data: bytes) -> _Word:
    from olefile import OleFileIO
    from olefile.olefile import OleFileError

    try:
        with OleFileIO(BytesIO(data)) as ole:
            main = _stream(ole, "WordDocument")
            flags = int.from_bytes(main[10:12], "little")
            _check(main, flags)
            return _Word(main, _stream(ole, "1Table" if flags & _SECOND_TABLE else "0Table"))
    except UnreadableFileError:
        raise
    except (OleFileError, OSError, ValueError, IndexError, KeyError, TypeError, struct.error) as error:
        raise UnreadableFileError(
            f"a damaged or cut-off .doc was found ({reason(error)}); copy or download the file again, or save it as "
            ".docx in Word."
        ) from error


def _stream(ole: "OleFileIO", name: str) -> bytes:
    if not ole.exists(name):
        raise UnreadableFileError(
            "an old Office file without a Word text in it was found where a .doc was expected; save it as .docx."
        )
    with ole.openstream(name) as stream:
        return bytes(stream.read())


def _check(main: bytes, flags: int) -> None:
    identity = int.from_bytes(main[:2], "little")
    if identity == _WORD_6 or (identity == _WORD_97 and int.from_bytes(main[2:4], "little") < 0xC1):  # noqa: PLR2004
        raise UnreadableFileError(
            "a file of Word 6 or 95 was found, but .doc files are read from Word 97 on; save it as .docx in Word."
        )
    if flags & _ENCRYPTED:
        raise UnreadableFileError(
            "the .doc is password-protected, but must open without one; remove the password and save it again."
        )
    if identity != _WORD_97:
        raise UnreadableFileError(
            "a damaged .doc was found (its first bytes are no Word text); open it in Word and save it as .docx."
        )


def _properties(listed: bytes) -> Iterator[tuple[int, int]]:
    """Give (property, first byte of its operand)."""
    position = 0
    while position + 2 < len(listed):
        name = int.from_bytes(listed[position : position + 2], "little")
        position += 2
        kind = name >> 13
        if kind != 6:  # noqa: PLR2004 - the kind whose operand says its own length
            size = _OPERANDS[kind]
        elif name == _TABLE_PROPERTY:
            size = 1 + int.from_bytes(listed[position : position + 2], "little")
        elif name == _TABS_PROPERTY and listed[position] == 255:  # noqa: PLR2004 - too long to say
            return
        else:
            size = 1 + listed[position]
        yield name, listed[position] if position < len(listed) else 0
        position += size


@dataclass(frozen=True, slots=True)
class _Stretch:
    text: str
    run: _Span
    paragraph: _Span


def _characters(word: _Word, pieces: Sequence[_Piece], start: int, end: int) -> Iterator[_Stretch]:
    """Give the text from position ``start`` to ``end`` in stretches of one format."""
    for piece in pieces:
        first = max(start, piece.start) - piece.start
        last = min(end, piece.start + piece.length) - piece.start
        if first >= last:
            continue
        low, high = piece.offset + first * piece.width, piece.offset + last * piece.width
        characters = _within(word.character_spans, low, high)
        paragraphs = _within(word.paragraph_spans, low, high)
        borders = {low, high}
        for span in (*characters, *paragraphs):
            borders |= {border for border in (span.start, span.end) if low < border < high}
        ordered = sorted(borders)
        ci = pi = 0
        for left, right in pairwise(ordered):
            while ci < len(characters) and characters[ci].end <= left:
                ci += 1
            while pi < len(paragraphs) and paragraphs[pi].end <= left:
                pi += 1
            run = characters[ci] if ci < len(characters) and characters[ci].start <= left else _PLAIN
            paragraph = paragraphs[pi] if pi < len(paragraphs) and paragraphs[pi].start <= left else _PLAIN
            raw = word.main[left:right]
            text = raw.decode("cp1252", "replace") if piece.width == 1 else raw.decode("utf-16-le", "replace")
            yield _Stretch(text, run, paragraph)


def _within(spans: list[_Span], low: int, high: int) -> list[_Span]:
    first = bisect_left(spans, low, key=lambda span: span.end)
    last = bisect_left(spans, high, key=lambda span: span.start)
    return spans[first:last]


@dataclass(slots=True)
class _Text:
    text: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    _fields: list[str] = field(
        default_factory=list
    )  # per open field: its code, then whether its result is kept

    def read(self, stretches: Iterator[_Stretch]) -> None:
        for stretch in stretches:
            if stretch.run.is_deleted:
                continue
            shown = "".join([self._shown(char, stretch.paragraph) for char in stretch.text])
            if stretch.run.is_hidden:
                self.hidden.append(shown)
                continue
            self.text.append(shown)
        self.text.append("\n")
        self._fields.clear()

    def _shown(self, char: str, paragraph: _Span) -> str:
        if char >= " " and not self._fields:
            return char
        if char == _FIELD:
            self._fields.append("")
        elif char == _FIELD_END:
            self._fields = self._fields[:-1]
        elif char == _RESULT and self._fields:
            code = self._fields[-1].split(maxsplit=1)[:1]
            self._fields[-1] = _DROPPED if code and code[0] in _PAGE_NUMBERS else _KEPT
        elif any(state != _KEPT for state in self._fields):
            if self._fields[-1] not in {_KEPT, _DROPPED}:
                self._fields[-1] = (self._fields[-1] + char)[:_CODE_LENGTH]
        elif char == _CELL_END:
            return "\n" if paragraph.ends_row else "\t"
        elif char == "\r" and paragraph.is_cell:
            return " "
        else:
            return _SHOWN.get(char, char if char >= " " else "")
        return ""
