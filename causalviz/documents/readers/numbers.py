"""Numbers and dates of a spreadsheet as its cells show them: value and number format -> text.

The format codes of Excel (ECMA-376, 18.8.31), as far as they decide what is read: decimals, thousands, percent,
currency and literals, scientific notation, dates and times, four sections. Fractions and fill characters are not
followed. What depends on the reader's country (format 14) is written 2024-03-05.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import lru_cache

BUILT_IN = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00",
    12: "General", 13: "General", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm", 27: 'yyyy"年"m"月"', 28: 'm"月"d"日"',
    29: 'm"月"d"日"', 30: "m-d-yy", 31: 'yyyy"年"m"月"d"日"', 32: 'h"时"mm"分"', 33: 'h"时"mm"分"ss"秒"',
    36: 'yyyy"年"m"月"', 37: "#,##0;-#,##0", 38: "#,##0;-#,##0", 39: "#,##0.00;-#,##0.00", 40: "#,##0.00;-#,##0.00",
    45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@", 50: 'yyyy"年"m"月"', 57: 'yyyy"年"m"月"',
}  # fmt: skip
"""Format codes by number, which a file does not spell out."""

_TOKEN = re.compile(
    r'"([^"]*)"|\\(.)|_.|\*.|\[([^\]]*)\]|(AM/PM|A/P|上午/下午|General|G/通用格式)|(E[+-])|([ymdhsbeg]+)|(\.0+)|(.)',
    re.IGNORECASE | re.DOTALL,
)
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NOON = 12
_LAST_DAY = 2_958_466  # 1 January 10000, counted as Excel does


def shown(value: float, code: str, *, date1904: bool = False) -> str:
    """Write a number as a cell of this format shows it.

    Args:
        value: Finite; dates are days since the end of 1899 (or since 1904).
        code: Number format, "" for General.
        date1904: Whether days are counted as old Macintosh files do.
    """
    sections = _sections(code)
    section = sections[0]
    if len(sections) > 2 and value == 0:  # noqa: PLR2004 - positive; negative; zero; text
        section = sections[2]
    elif len(sections) > 1 and value < 0:
        section, value = sections[1], -value  # a section of its own writes the sign as it likes
    tokens = _tokens(section)
    if any(kind == "date" for kind, _ in tokens):
        written = _date(value, tokens, date1904=date1904)
        return _general(value) if written is None else written
    return _number(value, tokens)


@lru_cache(maxsize=1000)
def _sections(code: str) -> tuple[str, ...]:
    parts, start = [], 0
    for match in re.finditer(r'"[^"]*"|\\.|\[[^\]]*\]|(;)', code):
        if match[1]:
            parts.append(code[start : match.start()])
            start = match.end()
    return (*parts, code[start:])


@lru_cache(maxsize=1000)
def _tokens(section: str) -> tuple[tuple[str, str], ...]:
    """Give (kind, text): literal, elapsed, half (AM/PM), general, date, second fraction, or sign of the code."""
    return tuple(_classified(section))


def _classified(section: str) -> Iterator[tuple[str, str]]:  # noqa: C901 - a line or two for each kind
    for match in _TOKEN.finditer(section):
        quoted, escaped, bracket, word, exponent, letters, fraction, other = match.groups()
        if quoted is not None or escaped is not None:
            yield "literal", quoted if quoted is not None else escaped
        elif bracket is not None:
            if re.fullmatch(r"h+|m+|s+", bracket, re.IGNORECASE):
                yield "elapsed", bracket.lower()
                yield "date", ""
            elif bracket.startswith("$"):
                yield "literal", bracket[1:].partition("-")[0]
        elif word is not None:
            yield ("general", "") if word.lower() in {"general", "g/通用格式"} else ("half", word)
        elif exponent is not None:
            yield "sign", "E"
        elif letters is not None:
            # One run may hold several units ("yyyymmdd"); b, e and g are years and eras of other calendars.
            for unit in re.finditer(r"(.)\1*", letters.lower()):
                yield "date", unit[0].replace("e", "yyyy") if unit[0][0] == "e" else unit[0]
        elif fraction is not None:
            yield "fraction", fraction
        elif other is not None:
            yield ("sign", other) if other in "0#?,%@/." else ("literal", other)


def _general(value: float) -> str:
    if value == int(value) and abs(value) < 1e15:  # noqa: PLR2004 - all digits a double holds
        return str(int(value))
    text = f"{value:.10g}" if abs(value) < 1e11 else f"{value:.6g}"  # noqa: PLR2004 - what fits a cell
    return text.replace("e+", "E+").replace("e-", "E-")


def _number(value: float, tokens: tuple[tuple[str, str], ...]) -> str:
    signs = "".join(
        text for kind, text in tokens if kind in {"sign", "fraction"} or (kind == "literal" and text == "/")
    )
    if any(kind == "general" for kind, _ in tokens) or not tokens or "/" in signs or "@" in signs:
        digits = _general(value)
    elif not re.search(r"[0#?]", signs):  # nothing but literals: "-" for zero, or "" to hide it
        digits = ""
    else:
        with localcontext(prec=400):  # digits: a double has up to 309 before the point
            digits = _digits(value, signs)
    placed = [
        index for index, (kind, text) in enumerate(tokens)
        if kind in {"general", "fraction"} or (kind == "sign" and text != "%")
    ]  # fmt: skip
    first, last = (placed[0], placed[-1]) if placed else (len(tokens), len(tokens))
    marks = [(i, text) for i, (kind, text) in enumerate(tokens) if kind == "literal" or text == "%"]
    before = "".join(text for i, text in marks if i < first)
    after = "".join(text for i, text in marks if i > last)
    return ("-" if digits.startswith("-") else "") + before + digits.removeprefix("-") + after


def _digits(value: float, signs: str) -> str:
    mantissa, exponent, _ = signs.replace("%", "").partition("E")
    scaled = mantissa.rstrip(",")  # each comma at the end stands for a thousand
    whole, _, decimals = scaled.partition(".")
    places = min(len(decimals), 30)
    if exponent:
        return f"{value:.{places}E}"
    # As Excel does: half goes away from 0, and so does what is half in 15 digits.
    exact = Decimal(f"{value:.15g}") * 100 ** signs.count("%") / 1000 ** (len(mantissa) - len(scaled))
    exact = exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    digits, _, tail = f"{abs(exact):{',' if ',' in whole else ''}f}".partition(".")
    digits = digits.zfill(whole.count("0")) if "0" in whole else digits.removeprefix("0")
    needed = len(decimals.rstrip("#?"))
    tail = tail[:needed] + tail[needed:].rstrip("0")
    return ("-" if exact < 0 else "") + digits + ("." + tail if tail else "")


def _date(value: float, tokens: tuple[tuple[str, str], ...], *, date1904: bool) -> str | None:
    """Write a date; None for what is none (negative, beyond the year 9999)."""
    if not 0 <= value < _LAST_DAY:
        return None
    places = max((len(text) - 1 for kind, text in tokens if kind == "fraction"), default=0)
    # Excel counts a 29 February 1900, so that days before March are one further on.
    epoch = datetime(1904, 1, 1) if date1904 else datetime(1899, 12, 30 if value >= 60 else 31)  # noqa: DTZ001, PLR2004 - no zone
    try:
        moment = epoch + timedelta(seconds=round(value * 86_400, max(places, 0)))
    except OverflowError:
        return None
    total = round(value * 86_400)
    half = any(kind == "half" for kind, _ in tokens)
    pieces: list[str] = []
    last = ""  # the unit before: "m" after hours is minutes
    for index, (kind, text) in enumerate(tokens):
        if kind == "literal":
            pieces.append(text)
        elif kind == "elapsed":
            per = {"h": 3600, "m": 60, "s": 1}[text[0]]
            pieces.append(str(total // per).zfill(len(text)))
            last = text[0]
        elif kind == "half":
            names = ("上午", "下午") if text[0] == "上" else ("AM", "PM")
            pieces.append(names[moment.hour >= _NOON])
        elif kind == "fraction":
            pieces.append("." + f"{moment.microsecond:06d}"[:places])
        elif kind == "date" and text:
            following = next((later for what, later in tokens[index + 1 :] if what == "date" and later), "")
            minutes = text[0] == "m" and (last == "h" or following.startswith("s"))
            pieces.append(_unit(moment, "min" if minutes else text, half=half))
            last = text[0]
        elif kind == "sign" and text not in {"@", "?", "#"}:
            pieces.append(text)
    return "".join(pieces)


def _unit(moment: datetime, unit: str, *, half: bool) -> str:
    hour = (moment.hour % 12 or 12) if half else moment.hour
    written = {
        "yyyy": f"{moment.year:04d}", "yyy": f"{moment.year:04d}", "yy": f"{moment.year % 100:02d}",
        "y": f"{moment.year % 100:02d}", "mmmmm": _MONTHS[moment.month - 1][0], "mmmm": _MONTHS[moment.month - 1],
        "mmm": _MONTHS[moment.month - 1][:3], "mm": f"{moment.month:02d}", "m": str(moment.month),
        "dddd": _DAYS[moment.weekday()], "ddd": _DAYS[moment.weekday()][:3], "dd": f"{moment.day:02d}",
        "d": str(moment.day), "hh": f"{hour:02d}", "h": str(hour), "min": f"{moment.minute:02d}",
        "ss": f"{moment.second:02d}", "s": str(moment.second),
    }  # fmt: skip
    return written.get(unit, "")
