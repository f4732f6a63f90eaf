"""The language a document is written in, for its report.

East Asian languages are told by their writing, the others by py3langid (BSD-3-Clause, 4.5 MB with its model).
"""

from functools import cache
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_SAMPLE = (
    2_000  # characters from the beginning, the middle and the end: enough to judge, and a bound on the time
)
_MIN_LETTERS = 20  # less is a name or a label; an East Asian character counts for three
_MIN_LETTER_SHARE = 0.5  # of what is not blank: less is a table of numbers, or code
_MAX_CODE = 0.06  # share of marks that are frequent in code and data alone
_MIN_CONFIDENCE = 0.5
_NO_LANGUAGE = "zxx"

_NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish", "fr": "French",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "id": "Indonesian", "it": "Italian",
    "kk": "Kazakh", "km": "Khmer", "lt": "Lithuanian", "lv": "Latvian", "mn": "Mongolian", "ms": "Malay",
    "my": "Burmese", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sr": "Serbian", "sv": "Swedish", "ta": "Tamil", "th": "Thai",
    "tr": "Turkish", "ug": "Uyghur", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese",
}  # fmt: skip

_HAN_WORD = regex.compile(r"\p{Han}{1,2}")
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]+")
_HANGUL_WORD = regex.compile(r"\p{Hangul}+")
_EAST_ASIAN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}]")
_OTHER_WORD = regex.compile(r"[^\W\d_\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}]+")
_CODE_MARK = regex.compile(r"[{}\[\]<>=_\\|`$^~+*#;]|[a-z_]\(")


def language_of(text: str) -> str | None:
    """Name the language most of a text is written in, in English: "Chinese", "German".

    Args:
        text: Any, cleaned or not. Some thousand characters of it are looked at.

    Returns:
        None for code, numbers, what is too short and languages that are not among some fifty.
    """
    sample = _sample(text)
    visible = len("".join(sample.split()))
    letters = sum(map(str.isalpha, sample))
    east_asian = len(_EAST_ASIAN.findall(sample))
    if letters + 2 * east_asian < _MIN_LETTERS or letters < _MIN_LETTER_SHARE * visible:
        return None
    if len(_CODE_MARK.findall(sample)) > _MAX_CODE * visible:
        return None
    han, kana, hangul = (len(pattern.findall(sample)) for pattern in (_HAN_WORD, _KANA, _HANGUL_WORD))
    others = _OTHER_WORD.findall(sample)
    if han + kana + hangul >= len(others):
        if hangul > han + kana:
            return "Korean"
        return "Japanese" if 2 * kana >= han else "Chinese"
    label, _ = _identifier().classify(" ".join(others))
    return _NAMES.get(label)


def _sample(text: str) -> str:
    if len(text) <= 3 * _SAMPLE:
        return text
    middle = len(text) // 2
    return f"{text[:_SAMPLE]}\n{text[middle : middle + _SAMPLE]}\n{text[-_SAMPLE:]}"


@cache
def _identifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(
        MODEL_FILE, norm_probs=True, min_confidence=_MIN_CONFIDENCE
    )
    identifier.set_languages([*_NAMES, _NO_LANGUAGE])
    return identifier
