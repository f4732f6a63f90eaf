"""Is this text, or what comes out of a file whose characters were lost?

Conservative: what is written in any language, code, tables and formulas pass. What is refused: characters no text
holds, letters mixed as no word mixes them (a PDF font without a Unicode map), and text decoded wrongly before it
was saved.
"""

import re
import unicodedata
from collections import Counter
from itertools import pairwise

_SAMPLE = 200_000  # characters looked at: enough to judge, and a bound on the time
_MAX_LOST = 0.05  # of the characters that are not blank
_MAX_PRIVATE = 0.2  # Wingdings bullets and symbols are private-use characters: a short list may hold many
_MAX_SOUP = 0.3  # of the letters
_MIN_SOUP = 12  # letters: less is a name, a formula or an abbreviation
_EVERYDAY_SCRIPTS = {"LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO"} | {
    "GREEK", "CYRILLIC", "MICRO", "OHM", "FEMININE", "MASCULINE", "MATHEMATICAL", "FULLWIDTH", "HALFWIDTH",
    "MODIFIER", "SUPERSCRIPT", "SUBSCRIPT", "DOUBLE-STRUCK", "SCRIPT", "BLACK-LETTER", "IDEOGRAPHIC",
}  # fmt: skip


def why_unreadable(text: str) -> str | None:
    """Say why a text cannot be read, in a few words ("31 % control characters"); None when it can or is empty.

    Args:
        text: As it came out of the file, before cleaning (which drops the characters that give it away).
    """
    sample = text[:_SAMPLE]
    return _why_lost(sample) or _why_soup(sample) or _why_twice_encoded(sample)


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
    soup = sum(len(word) * count for word, count in words.items() if not word.isascii() and _is_soup(word))
    if soup < _MIN_SOUP or soup <= _MAX_SOUP * letters:
        return None
    return f"{soup / letters:.0%} of the letters stand in words no language has"


def _is_soup(word: str) -> bool:
    """Capitals after small letters in a Latin word with accents ("QČåQt"), or several rare scripts in one word.

    ASCII words are let through before: "iPhone", "loadModel" and "McDonald" are words.
    """
    scripts = {unicodedata.name(char, "UNKNOWN").split()[0] for char in set(word)}
    if scripts == {"LATIN"}:
        return any(a.islower() and b.isupper() for a, b in pairwise(word))
    return len(scripts - _EVERYDAY_SCRIPTS) > 1


def _why_twice_encoded(text: str) -> str | None:
    """UTF-8 that was read as Latin-1 or cp1252 and saved so: "æ•°æ®" for "数据"."""
    foreign = {char for char in set(text) if char > "\x7f"}
    codes = {
        char: char.encode("cp1252", errors="ignore") or char.encode("latin-1", errors="ignore")
        for char in foreign
    }
    if not foreign or not all(codes.values()):
        return None
    runs = re.findall(r"[^\x00-\x7f]{2,}", text)
    once = [b"".join(codes[char] for char in run).decode("utf-8", errors="replace") for run in runs]
    good = sum(len(run) for run, decoded in zip(runs, once, strict=True) if "\ufffd" not in decoded)
    total = sum(map(text.count, foreign))
    if good < _MIN_SOUP or good < 0.8 * total:
        return None
    return (
        f"it is UTF-8 that was read as Western European and saved again ({runs[0][:6]!r} for {once[0][:2]!r})"
    )
