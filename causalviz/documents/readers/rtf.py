r"""Rich Text (.rtf): the words of the body in reading order, tables, text boxes and notes.

Our own reader: striprtf gives hidden and deleted text and drops notes and text boxes, sharepoint-to-text gives names of
bookmarks and loses Chinese (docs/adr/0008-readers.md). Headers and footers are left out, as those of a Word file are.
"""

import codecs
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from causalviz.documents.limits import Limits
from causalviz.documents.readers.base import Part, ReadText
from causalviz.documents.readers.hidden import hidden_text
from causalviz.errors import UnreadableFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})?[ ]?|\\([^a-zA-Z'\r\n])|\\([\r\n])|([{}])|[\r\n]+"
    rb"|((?:\\'[0-9a-fA-F]{2}|[^\\{}\r\n])+)|.", re.DOTALL,
)  # fmt: skip
_HEX = re.compile(rb"\\'([0-9a-fA-F]{2})")
# Groups whose words are not the text's; any other that begins with \* is one, too.
_SKIPPED = {
    "fonttbl", "colortbl", "stylesheet", "listtable", "listoverridetable", "info", "pict", "object", "objdata",
    "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf", "fldinst",
    "bkmkstart", "bkmkend", "annotation", "atnid", "atnauthor", "atnref", "atndate", "ftnsep", "ftnsepc",
    "ftncn", "aftnsep", "aftnsepc", "aftncn", "xe", "tc", "rxe", "listtext", "pntext", "pntxta", "pntxtb", "sn",
    "sv", "shprslt", "nonshppict", "themedata", "colorschememapping", "datastore", "latentstyles", "rsidtbl",
    "generator", "xmlnstbl", "template", "revtbl", "mmath", "filetbl", "private", "falt", "panose", "fontemb",
    "fontfile", "background", "objclass", "objname",
}  # fmt: skip
# These may begin with \* or lie in a skipped group.
_KEPT = {"shpinst", "shptxt", "fldrslt", "footnote", "result"}
_CHARACTERS = {
    "par": "\n", "line": "\n", "sect": "\n", "page": "\n", "column": "\n", "tab": "\t", "emdash": "—", "endash": "–",
    "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•", "emspace": " ", "enspace": " ",
    "qmspace": " ", "cell": "\t", "nestcell": " ", "row": "\n", "nestrow": " ", "softline": "\n",
}  # fmt: skip
_SYMBOLS = {"~": "\u00a0", "_": "-", "-": "\u00ad", "\t": "\t"}
_CHARSETS = {
    77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gb18030", 136: "big5hkscs", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874",
    238: "cp1250", 255: "cp437",
}  # fmt: skip
_CODE_PAGES = {936: "gb18030", 950: "big5hkscs", 10000: "mac_roman", 65001: "utf-8"}
_DEPTH = 10_000


def read_rtf(data: bytes, _limits: Limits) -> ReadText:
    """Read the body, then foot- and endnotes.

    Paragraphs and table rows end with a newline; cells of a row are separated by tabs. Hidden text is left out with
    a warning; deleted text, codes of fields, pictures and embedded objects are left out. Characters are decoded by the
    code page of their font.
    """
    start = data[:1000].find(b"{\\rtf")
    if start < 0:
        raise UnreadableFileError(
            "no Rich Text was found in a file named .rtf; save it anew as Rich Text, or name it by what it is."
        )
    reader = _Reader()
    reader.read(data[start:])
    text = "".join(reader.text).rstrip() + "".join("\n" + "".join(note).strip() for note in reader.notes)
    title = "".join(reader.title).strip()
    shown = bool(title) and title in text[:2000]  # many a title is that of the template
    return ReadText(
        parts=(Part(text),),
        title=title if shown else None,
        encoding=reader.ansi,
        warnings=hidden_text(["".join(run) for run in reader.hidden]),
    )


@dataclass(frozen=True, slots=True)
class _State:
    """What a group inherits from the one around it."""

    sink: str = "text"
    """Where its words go: text, note, title, fonts, or "" for nowhere."""
    is_hidden: bool = False
    is_deleted: bool = False
    font: int = -1
    skip: int = 1
    """Characters after a \\u that stand for it in programs without Unicode."""


@dataclass(slots=True)
class _Reader:
    ansi: str = "cp1252"
    text: list[str] = field(default_factory=list)
    notes: list[list[str]] = field(default_factory=list)
    title: list[str] = field(default_factory=list)
    hidden: list[list[str]] = field(default_factory=list)
    _fonts: dict[int, str] = field(default_factory=dict)
    _states: list[_State] = field(default_factory=lambda: [_State()])
    _pending: bytearray = field(default_factory=bytearray)  # bytes not decoded yet
    _units: list[int] = field(default_factory=list)  # of UTF-16, not decoded yet
    _to_skip: int = 0
    _starred: bool = False
    _in_table: bool = False
    _was_hidden: bool = False

    @property
    def _state(self) -> _State:
        return self._states[-1]

    def read(self, data: bytes) -> None:  # noqa: C901 - a case for each kind of token
        position = 0
        while match := _TOKEN.match(data, position):
            position = match.end()
            word, number, symbol, line_end, brace, run = match.groups()
            if word is not None:
                if word == b"bin" and number:
                    position += max(0, int(number))
                self._word(word.decode(), int(number) if number else None)
            elif run is not None:
                self._run(run)
            elif brace == b"{":
                self._open()
            elif brace == b"}":
                self._flush()
                if len(self._states) > 1:
                    self._states.pop()
                self._to_skip = 0
            elif line_end is not None:
                self._write("\n")
            elif symbol == b"*":
                self._starred = True
            elif symbol is not None and symbol in b"{}\\":
                self._run(symbol)  # may be the second byte of a character
            elif symbol is not None:
                self._write(_SYMBOLS.get(symbol.decode("latin-1"), ""))
        self._flush()

    def _open(self) -> None:
        self._flush()
        self._to_skip = 0
        self._starred = False
        if len(self._states) > _DEPTH:
            raise UnreadableFileError(
                f"groups nested more than {_DEPTH:,} deep were found, as no Rich Text needs them; save it anew."
            )
        self._states.append(self._state)

    def _change(self, **changed: object) -> None:
        self._flush()
        self._states[-1] = replace(self._state, **changed)  # type: ignore[arg-type]

    def _word(self, word: str, number: int | None) -> None:  # noqa: C901 - a case for each word
        starred, self._starred = self._starred, False
        if word == "u":
            self._unicode(number or 0)
        elif word in _CHARACTERS:
            self._break(word)
        elif word in _KEPT or word in _SKIPPED or starred:
            self._destination(word)
        elif word == "title" and self._state.sink == "":
            self._change(sink="title")
        elif word in {"v", "deleted"}:
            name = "is_hidden" if word == "v" else "is_deleted"
            self._change(**{name: number != 0})
        elif word == "plain":
            self._change(is_hidden=False, is_deleted=False, font=-1)
        elif word in {"f", "fcharset", "cpg"} and number is not None:
            self._font(word, number)
        elif word == "uc" and number is not None:
            self._change(skip=min(max(number, 0), 100))
        elif word == "ansicpg" and number is not None:
            self.ansi = _code_page(number) or self.ansi
        elif word in {"mac", "pc", "pca"}:
            self.ansi = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}[word]
        elif word in {"intbl", "pard"}:
            self._in_table = word == "intbl"

    def _destination(self, word: str) -> None:
        if word == "fonttbl":
            self._change(sink="fonts")
        elif word == "footnote":
            self.notes.append([])
            self._change(sink="note", is_hidden=False)
        elif word == "result" or (word == "shptxt" and self._state.sink != "note"):
            around = self._states[-3].sink if len(self._states) > 2 else "text"  # noqa: PLR2004 - of the object
            self._change(sink=around or "text")
        elif word not in _KEPT:
            self._change(sink="")

    def _break(self, word: str) -> None:
        self._flush()
        text = _CHARACTERS[word]
        if word == "par" and self._in_table:
            text = " "  # a paragraph of a cell
        self._write(text)

    def _font(self, word: str, number: int) -> None:
        if word == "f":
            self._change(font=number)
        elif self._state.sink == "fonts":
            codec = _CHARSETS.get(number) if word == "fcharset" else _code_page(number)
            if codec:
                self._fonts[self._state.font] = codec

    def _unicode(self, number: int) -> None:
        self._decode()
        self._units.append(number % 65_536)
        self._to_skip = self._state.skip

    def _run(self, run: bytes) -> None:
        if self._state.sink in {"", "fonts"}:
            return
        plain = _HEX.sub(lambda pair: bytes([int(pair[1], 16)]), run)
        skipped = min(self._to_skip, len(plain))
        self._to_skip -= skipped
        if len(plain) > skipped:
            self._join_units()
            self._pending += plain[skipped:]

    def _flush(self) -> None:
        self._decode()
        self._join_units()

    def _decode(self) -> None:
        if not self._pending:
            return
        data = bytes(self._pending)
        self._pending.clear()
        own = self._fonts.get(self._state.font)
        for codec in (own, self.ansi) if own else (self.ansi,):
            try:
                self._put(data.decode(codec))
            except UnicodeDecodeError:
                continue
            return
        self._put(data.decode("cp1252", "replace").replace("\ufffd", ""))

    def _join_units(self) -> None:
        if self._units:
            data = b"".join(unit.to_bytes(2, "little") for unit in self._units)
            self._units.clear()
            self._put(data.decode("utf-16-le", "ignore"))

    def _write(self, text: str) -> None:
        self._flush()
        self._put(text)

    def _put(self, text: str) -> None:
        state = self._state
        if state.sink in {"", "fonts"} or state.is_deleted or not text:
            return
        if state.is_hidden and text not in {"\n", "\t"}:
            if not self._was_hidden:
                self.hidden.append([])
            self.hidden[-1].append(text)
        else:
            sinks: Mapping[str, list[str]] = {"text": self.text, "title": self.title}
            (self.notes[-1] if state.sink == "note" else sinks[state.sink]).append(text)
        self._was_hidden = state.is_hidden


def _code_page(number: int) -> str | None:
    name = _CODE_PAGES.get(number, f"cp{number}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None
