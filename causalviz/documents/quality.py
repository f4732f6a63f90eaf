"""Is this text, or what comes out of a file whose characters were lost?

Conservative: what is written in any language, code, tables and formulas pass. What is refused: characters no text
holds, letters mixed as no word mixes them (a PDF font without a Unicode map), and text decoded wrongly before it
was saved.
"""

import re
import unicodedata
from collections import Counter
from itertools import pairwise

from causalviz.documents.frequent_characters import JAPANESE, KOREAN, SIMPLIFIED, TRADITIONAL

_SAMPLE = 200_000  # characters looked at: enough to judge, and a bound on the time
_MAX_LOST = 0.05  # of the characters that are not blank
_MAX_PRIVATE = 0.2  # Wingdings bullets and symbols are private-use characters: a short list may hold many
_MAX_SOUP = 0.3  # of the letters
_ORDINARY = re.compile("[\x00-\x7f]*|[\u3040-\u30ff\u4e00-\u9fff]*")
_UNHEARD_OF = 4  # Latin letters in a row that all have accents: Cyrillic read as Western European
_MIN_SOUP = 12  # letters: less is a name, a formula or an abbreviation
_EVERYDAY_SCRIPTS = {"LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO"} | {
    "GREEK", "CYRILLIC", "MICRO", "OHM", "FEMININE", "MASCULINE", "MATHEMATICAL", "FULLWIDTH", "HALFWIDTH",
    "MODIFIER", "SUPERSCRIPT", "SUBSCRIPT", "DOUBLE-STRUCK", "SCRIPT", "BLACK-LETTER", "IDEOGRAPHIC",
}  # fmt: skip

_MISREAD_SAMPLE = 5_000  # characters
_MAX_FAULTS = 0.2  # of the characters that are not ASCII: programs drop or replace what they cannot decode
_MIN_FOREIGN = 0.2  # of the characters: East Asian text consists of others than ASCII, in whatever codec
_MIN_FREQUENT = 8  # different ones
_SURELY_RIGHT = 0.4  # share of frequent characters; what is decoded wrongly has half of that
_MISTAKES = (
    ("western", "utf-8"), ("gb18030", "utf-8"), ("cp932", "utf-8"), ("big5", "utf-8"), ("cp1251", "utf-8"),
    ("cp437", "utf-8"),
    ("western", "gb18030"), ("western", "big5"), ("western", "cp932"), ("western", "euc-kr"),
    ("gb18030", "big5"), ("gb18030", "cp932"), ("gb18030", "euc-kr"),
    ("big5", "gb18030"), ("cp932", "gb18030"), ("cp932", "big5"), ("cp1251", "gb18030"), ("koi8-r", "gb18030"),
    ("cp437", "gb18030"),
)  # fmt: skip
_NAMES = {
    "western": "Western European", "utf-8": "UTF-8", "gb18030": "GBK", "big5": "Big5", "cp932": "Shift JIS",
    "euc-kr": "EUC-KR", "cp1251": "Windows Cyrillic", "koi8-r": "KOI8", "cp437": "DOS",
}  # fmt: skip
_WINDOWS_MARKS = {
    ord(mark): code for code in range(0x80, 0xA0) if (mark := bytes([code]).decode("cp1252", errors="ignore"))
}
"""Quotes, dashes and the like of cp1252, which is otherwise Latin-1."""
_FREQUENT = frozenset(SIMPLIFIED + TRADITIONAL + JAPANESE + KOREAN) | {
    chr(code) for code in range(0x3041, 0x30FF)
}


def why_unreadable(text: str) -> str | None:
    """Say why a text cannot be read, in a few words ("31 % control characters"); None when it can or is empty.

    Args:
        text: As it came out of the file, before cleaning (which drops the characters that give it away).
    """
    sample = text[:_SAMPLE]
    return _why_lost(sample) or _why_soup(sample) or _why_misread(sample)


def _why_lost(text: str) -> str | None:
    visible = len(text) - sum(map(text.count, " \n\t\r\f\v\u3000\xa0"))
    if not visible:
        return None
    lost, private = [], []
    for char in set(text) - set("\n\t\r\f\v\x85"):
        category = unicodedata.category(char)
        if category in {"Cc", "Cn", "Cs"} or char == "\ufffd":
            lost.append(char)
        elif category == "Co":
            private.append(char)
    # "锟斤拷" is what two replacement characters in UTF-8 look like when read as GBK.
    lost_share = (_inside(text, lost) + 3 * text.count("锟斤拷")) / visible
    if lost_share > _MAX_LOST:
        return f"{lost_share:.0%} of it are control or replacement characters"
    private_share = _inside(text, private) / visible
    if private_share > _MAX_PRIVATE:
        return f"{private_share:.0%} of it are private-use characters, which mean nothing outside their font"
    return None


def _inside(text: str, chars: list[str]) -> int:
    """Count characters that follow another one; at the start of a line or word they are bullets."""
    return len(re.findall(f"(?<=\\S)[{re.escape(''.join(chars))}]", text)) if chars else 0


def _why_soup(text: str) -> str | None:
    words = Counter(re.findall(r"[^\W\d_]+", text))
    letters = sum(len(word) * count for word, count in words.items())
    soup = sum(
        len(word) * count for word, count in words.items() if not _ORDINARY.fullmatch(word) and _is_soup(word)
    )
    if soup < _MIN_SOUP or soup <= _MAX_SOUP * letters:
        return None
    return f"{soup / letters:.0%} of the letters stand in words no language has"


def _is_soup(word: str) -> bool:
    """Capitals after small letters in a word with accents ("QČåQt"), accents on all letters, or mixed scripts.

    ASCII words are let through before: "iPhone", "loadModel" and "McDonald" are words.
    """
    scripts = {unicodedata.name(char, "UNKNOWN").split()[0] for char in set(word)}
    if len(scripts) == 1 and scripts <= {"LATIN", "CYRILLIC"}:
        unheard_of = scripts == {"LATIN"} and len(word) >= _UNHEARD_OF and all(char > "\x7f" for char in word)
        return unheard_of or any(a.islower() and b.isupper() for a, b in pairwise(word))
    return len(scripts - _EVERYDAY_SCRIPTS) > 1


def _why_misread(text: str) -> str | None:
    """Text that was decoded with a wrong codec and saved so: "æ•°æ®", "鏁版嵁" or "Êý¾Ý" for "数据".

    The mistake is undone and the outcome judged: valid UTF-8 does not come about by chance, and East Asian text is
    rich in frequent characters, which wrong decoding is not.
    """
    sample = text[:_MISREAD_SAMPLE]
    foreign = _foreign(sample)
    if len(foreign) < _MIN_SOUP or _frequent(foreign) > _SURELY_RIGHT:
        return None
    for wrong, right in _MISTAKES:
        undone = _undo(sample, wrong, right)
        if undone is None:
            continue
        if _is_right(undone, sample, right):
            before, after = _first_foreign(sample), _first_foreign(undone.replace("\ufffd", ""))
            return f"it is {_NAMES[right]} that was read as {_NAMES[wrong]} and saved again ({before!r} for {after!r})"
    return None


def _undo(text: str, wrong: str, right: str) -> str | None:
    """Decode anew what was decoded wrongly; None where the text cannot have come about so."""
    if wrong == "western":
        text, wrong = text.translate(_WINDOWS_MARKS), "latin-1"
    lost = text.encode(wrong, errors="replace").count(b"?") - text.count("?")
    if lost > _MAX_FAULTS * len(_foreign(text)):
        return None
    return text.encode(wrong, errors="ignore").decode(right, errors="replace")


def _is_right(undone: str, text: str, right: str) -> bool:
    found, foreign = _foreign(undone), len(_foreign(text))
    faults = undone.count("\ufffd")
    if right == "utf-8":
        return len(found) - faults >= max(4, foreign / 5) and faults <= 2 * _MAX_FAULTS * len(found)
    return (
        foreign >= _MIN_FOREIGN * len(text)
        and faults <= _MAX_FAULTS * len(found)
        and len(_FREQUENT.intersection(found)) >= _MIN_FREQUENT
        and _frequent(found) > max(_SURELY_RIGHT, 2 * _frequent(_foreign(text)))
    )


def _frequent(chars: str) -> float:
    return sum(char in _FREQUENT for char in chars) / max(1, len(chars))


def _foreign(text: str) -> str:
    """What is not ASCII."""
    return re.sub(r"[\x00-\x7f]+", "", text)


def _first_foreign(text: str) -> str:
    found = re.search(r"[^\x00-\x7f]{1,4}", text)
    return found[0] if found else ""
