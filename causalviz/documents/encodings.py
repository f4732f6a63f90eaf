"""Bytes of unknown encoding -> text.

The order is: byte-order mark, UTF-8, UTF-16/32 without mark, East Asian multi-byte encodings, single-byte encodings.

Why not charset-normalizer alone: on cuts of 4, 8 and 16 characters from Chinese laws in GB18030 it named the right
encoding for 6 %, 30 % and 86 % (it said cp949 or big5), and a title or a short note is just that long. So the
multi-byte encodings are tried here, each scored by how common its characters are in its language; wrongly decoded
text consists of rare characters (99 % right at 4 characters). What only letter statistics can decide, the
single-byte encodings beyond the plainly Western case, is left to charset-normalizer and reported as a guess.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from causalviz.documents.frequent_characters import JAPANESE, KOREAN, SIMPLIFIED, TRADITIONAL
from causalviz.errors import UnreadableFileError

_BOMS = (
    # UTF-32-LE begins with the UTF-16-LE mark, so it is asked first.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_SINGLE_BYTE = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "iso8859_2", "koi8_r"]
# French, Spanish, German, Italian, Portuguese, Nordic
_WESTERN_LETTERS = ("àâæçéèêëîïôœùûüÿ", "áéíñóúü", "äöüßé", "àèéìíîòóùú", "àáâãçéêíóôõúü", "åäöæøé")
_WESTERN_MARKS = frozenset("«»“”„‘’–—…•°§©®€£¿¡ºª\xa0")
_HIGH = range(0xA1, 0xFF)  # second bytes of the EUC encodings
_SAMPLE = 65_536  # bytes that decide; the whole is then decoded once
_SURE = 4  # characters of three bytes
_PLAUSIBLE = (
    0.5  # score; 99 % of right readings of 8 characters are above, and of single-byte texts read so below
)
_REPLACEMENT = "\ufffd"


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoded:
    """Text with the name of its encoding (a Python codec name, lower case)."""

    text: str
    encoding: str
    warnings: tuple[str, ...] = ()
    """Bytes that were no character and were left out; an encoding that is a guess."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Language:
    """What its texts are made of; ``frequent`` is a subset of the few thousand ``common`` characters."""

    frequent: frozenset[str]
    common: frozenset[str]
    expected: frozenset[str]
    """Letters without which a text in the language is doubtful; empty where there are none."""


def decode(data: bytes) -> Decoded:
    """Decode bytes whose encoding is unknown; the result never holds U+FFFD.

    Raises:
        UnreadableFileError: The bytes are no text in any encoding known here.
    """
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return decode_as(data[len(mark) :], codec)
    # Wide encodings are full of NUL and control bytes; in text of another there may be a stray one.
    decoded = _utf8(data) if _controls(data) <= 0.1 * len(data[:_SAMPLE]) else None
    decoded = decoded or (_wide(data) if 0 in data else _legacy(data))
    if decoded is None:
        raise UnreadableFileError(
            "binary data, or text in an unknown encoding, was found where text was expected; "
            "save the file as UTF-8 text."
        )
    return decoded


def decode_as(data: bytes, codec: str) -> Decoded:
    """Decode with a given codec; what is no character is left out and warned about."""
    return _decoded(*_decode(data, codec), codec)


def _decoded(text: str, faults: int, codec: str) -> Decoded:
    name = codecs.lookup(codec).name
    warning = f"bytes that are not {name} were left out ({faults} times): a damaged or cut-off file?"
    return Decoded(text=text, encoding=name, warnings=(warning,) if faults else ())


def is_surely_utf8(data: bytes) -> bool:
    """Whether the bytes are UTF-8 whatever a declaration says.

    Several characters of three bytes in strictly valid text do not happen by accident in a legacy encoding.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return sum(char >= "\u0800" for char in text[:_SAMPLE]) >= _SURE


def _decode(data: bytes, codec: str) -> tuple[str, int]:
    text = data.decode(codec, errors="replace")
    return text.replace(_REPLACEMENT, ""), text.count(_REPLACEMENT)


def _utf8(data: bytes) -> Decoded | None:
    text, faults = _decode(data, "utf-8")
    # A cut-off or slightly damaged UTF-8 file must not be taken for a legacy encoding, where every
    # character would be wrong. Legacy text read as UTF-8 has more faults than characters, and three-byte
    # characters hardly ever.
    if faults and sum(4 if char >= "\u0800" else 1 for char in text if char > "\x7f") < 4 * faults:
        return None
    return _decoded(text, faults, "utf-8")


def _wide(data: bytes) -> Decoded | None:
    """UTF-32 or UTF-16 without byte-order mark: known by NUL bytes, which no other encoding needs.

    The wrong byte order turns everyday characters into rare ones: "A" (U+0041) into U+4100.
    """
    everyday = frozenset.union(*(language.common for _, language in _candidates()))
    best_codec, best_share = "", 0.0
    for codec in _WIDE:
        text, faults = _decode(data[:_SAMPLE], codec)
        if faults <= 1 and "\0" not in text:
            good = sum(char in everyday or (char.isascii() and not _is_control(char)) for char in text)
            share = good / max(1, len(text))
            best_codec, best_share = max((best_codec, best_share), (codec, share), key=lambda pair: pair[1])
    return decode_as(data, best_codec) if best_codec else None


def _is_control(char: str) -> bool:
    return not (char.isprintable() or char.isspace())


def _legacy(data: bytes) -> Decoded | None:
    decoded = _multi_byte(data) if _may_be_multi_byte(data) else None
    return decoded or _single_byte(data)


def _may_be_multi_byte(data: bytes) -> bool:
    """False for ASCII words with a lone high byte here and there: a Western or Central European language.

    Control characters are halves of UTF-16 characters.
    """
    runs = re.findall(rb"[\x80-\xff]+", data[:_SAMPLE])
    high = sum(map(len, runs))
    paired = sum(len(run) for run in runs if len(run) > 1)
    ascii_letters = len(re.findall(rb"[A-Za-z]", data[:_SAMPLE]))
    return paired >= 0.3 * high or 2 * high >= ascii_letters or _controls(data) > 0


def _controls(data: bytes) -> int:
    return len(re.findall(rb"[\x00-\x08\x0e-\x1a]", data[:_SAMPLE]))


def _multi_byte(data: bytes) -> Decoded | None:
    """The East Asian encoding whose reading consists of the most common characters, if any does."""
    scores = {codec: _score(data[:_SAMPLE], codec, language) for codec, language in _candidates()}
    best = max(scores, key=lambda codec: scores[codec])  # the first of equals: gb18030 before all
    return decode_as(data, best) if scores[best] > _PLAUSIBLE else None


def _score(data: bytes, codec: str, language: _Language) -> float:
    """Mean over the non-ASCII characters: 1 for a frequent one, 0.6 for a common one, 0 for others and faults.

    Japanese without any kana is possible, but in EUC any Chinese title can be read so.
    """
    text, faults = _decode(data, codec)
    chars = [char for char in text if char > "\x7f"]
    if not chars or faults > 1 + 0.02 * len(chars):
        return 0.0
    weight = sum(1.0 if char in language.frequent else 0.6 for char in chars if char in language.common)
    doubt = 0.7 if language.expected and language.expected.isdisjoint(chars) else 1.0
    return doubt * weight / (len(chars) + faults)


def _single_byte(data: bytes) -> Decoded | None:
    """Any byte is a character in these: only the letters' statistics can tell, so that the answer is a guess."""
    from charset_normalizer import from_bytes

    if _is_western(data):
        codec = "cp1252"
    elif best := from_bytes(data[:_SAMPLE], cp_isolation=_SINGLE_BYTE).best():
        codec = best.encoding
    else:
        return None
    decoded = decode_as(data, codec)
    guess = f"the encoding {decoded.encoding} is a guess: if letters look wrong, save the file as UTF-8"
    return Decoded(text=decoded.text, encoding=decoded.encoding, warnings=(*decoded.warnings, guess))


def _is_western(data: bytes) -> bool:
    """Whether the accented letters are, read as cp1252, those of one Western language.

    charset-normalizer took French and Spanish for cp1250 in nearly half of our trials. A Western language has few
    accented letters, while Czech, Polish or Hungarian read as cp1252 mostly give a mixture that no language has.
    """
    text, faults = _decode(data, "cp1252")
    letters = {char for char in text.lower() if char > "\x7f"} - _WESTERN_MARKS
    return not faults and any(letters <= set(alphabet) for alphabet in _WESTERN_LETTERS)


@cache
def _candidates() -> tuple[tuple[str, _Language], ...]:
    # The national standards list their everyday characters in rows of their own, ahead of the rare ones.
    simplified = _language(SIMPLIFIED, "gb2312", _rows(*range(0xA1, 0xA4), *range(0xB0, 0xD8)))
    traditional = _language(
        TRADITIONAL, "big5", _rows(*range(0xA1, 0xC7), trails=(*range(0x40, 0x7F), *_HIGH))
    )
    kana = "".join(map(chr, range(0x3041, 0x30FF)))
    japanese = _language(JAPANESE + kana, "euc_jp", _rows(*range(0xA1, 0xA6), *range(0xB0, 0xD0)), kana)
    korean = _language(KOREAN, "euc_kr", _rows(*range(0xA1, 0xA4), *range(0xB0, 0xC9)))
    return (
        ("gb18030", simplified),
        ("big5hkscs", traditional),
        ("cp932", japanese),
        ("euc_jp", japanese),
        ("cp949", korean),
        ("utf-16-le", simplified),  # without any ASCII there is no NUL byte to know it by
        ("utf-16-be", simplified),
    )


def _rows(*leads: int, trails: Iterable[int] = _HIGH) -> Iterator[bytes]:
    return (bytes([lead, trail]) for lead in leads for trail in trails)


def _language(frequent: str, codec: str, pairs: Iterable[bytes], expected: str = "") -> _Language:
    common = {char for pair in pairs for char in pair.decode(codec, errors="ignore")}
    return _Language(
        frequent=frozenset(frequent), common=frozenset(common | set(frequent)), expected=frozenset(expected)
    )
