"""Text as read -> text as chunked, encoded and shown.

``RULES`` is applied in order. Order matters: what is invisible goes first, so that it cannot hide a pattern from a
later rule; NFKC comes before everything that looks for dots, digits or blanks, because it turns "…" into "...", "１２"
into "12" and the ideographic space into a plain one; blanks are collapsed last, because the others leave some. Each
rule is linear in the length of the text, whatever the text: quantifiers are bounded or possessive.

No rule but two looks beyond a line. So a long text is cleaned block by block, and takes little more memory than itself
and the result.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cached_property

_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_DOTS = r"(?:[.·•‧∙⋅・][ \t]*+)"
_ROMAN = r"(?=[ivxl])x{0,3}(?:ix|iv|v?i{0,3})"
_PAGE = rf"(?:[(\[<]?(?:第 ?)?(?:(?:\d ?){{1,4}}+|{_ROMAN}|{_ROMAN.upper()})页?[)\]>]?)"
_LINE_END = re.compile(r"\r\n|[\n\r\f\v\x1c-\x1e\x85\u2028\u2029]")
_HYPHENATED = re.compile(r"(?<!\w)[^\W\d_]{1,60}+-[^\W\d_]{1,60}+")
_HALF = rf"[^\W{_HAN}]"  # of a hyphenated word: letters and digits
_FIRST_HALF = re.compile(rf"(?<![\w-]){_HALF}(?:{_HALF}|-(?=\w)){{0,60}}\Z")
_HYPHEN_AND_SECOND_HALF = re.compile(rf"-[ \t]*+\n[ \t]*+(?=({_HALF}++(?:-\w++)*+))")
_BLOCK = 1 << 16
"""Characters cleaned at once: enough that a block costs nothing in itself."""
_INVISIBLE_LETTERS = "\u034f\u115f\u1160\u2800\u3164\uffa0"  # joiner, Hangul fillers, Braille blank


def unify_line_endings(text: str) -> str:
    r"""Make every line end "\n": CRLF, CR, form feed, vertical tab, NEL and the Unicode separators."""
    return re.sub(r"\r\n|[\r\f\v\x1c-\x1e\x85\u2028\u2029]", "\n", text)


def drop_invisible(text: str) -> str:
    """Drop what has no glyph of its own.

    Zero-width and formatting characters, soft hyphens and variation selectors vanish. Control, private-use and
    unassigned characters become a blank: in extracted text they stand for a bullet or a space.
    """
    changed = {ord(char): shown for char in set(text) if (shown := _visible(char)) != char}
    return text.translate(changed) if changed else text


def normalise_width(text: str) -> str:
    """NFKC: full-width forms, ligatures, superscripts and ideographic spaces become plain; "⋯" goes the way of "…".

    At most 30 combining marks stay on a letter (the limit of UAX #15), since NFKC takes quadratic time to order them.
    """
    if text.isascii():
        return text
    marks = "".join(char for char in set(text) if unicodedata.combining(char))
    if marks:
        text = re.sub(rf"([{marks}]{{30}})[{marks}]++", r"\1", text)
    return unicodedata.normalize("NFKC", text).replace("⋯", "...")


def join_hyphenated_words(text: str) -> str:
    r"""Join a word that was hyphenated at a line end: "capabili-\nties" -> "capabilities".

    Only between lower-case letters can the hyphen be the typesetter's. It is kept all the same where one half has
    another hyphen ("state-of-\nthe-art") or the text writes the word with a hyphen elsewhere. In every other case
    ("COVID-\n19", "Lucene-\nBM25") it is kept and the line end goes. Without a dictionary "well-\nknown" is joined
    unless the text has "well-known".
    """
    return _join_hyphenated(text, _Words(text))


def drop_images(text: str) -> str:
    """Drop the marks and the target of Markdown images; the words between stay: "![a cat](cat.png)" -> " a cat "."""
    if "![" not in text:
        return text
    pieces: list[str] = []
    opened: list[int | None] = []  # per open bracket: where the image mark stands, None for a plain bracket
    for piece in re.split(r"(!\[|\[|\]\([^()\n]{0,2000}\)|\]|\n)", text):
        pieces.append(piece)
        if piece == "\n":
            opened.clear()
        elif piece in {"![", "["}:
            opened.append(len(pieces) - 1 if piece == "![" else None)
        elif piece.startswith("]") and opened:
            mark = opened.pop()
            if mark is not None and piece != "]":
                pieces[mark] = pieces[-1] = " "
    return "".join(pieces)


def drop_addresses(text: str) -> str:
    """Drop URLs and e-mail addresses.

    An address ends where ASCII ends, since Chinese follows it without a blank; closing punctuation is no part of it.
    """
    end = r"[!#-;=?-\[\]_a-zA-Z~]"  # ASCII without blanks, quotes, angle brackets, braces, "|", "^", "\"
    scheme = r"[hH][tT]{2}[pP][sS]?|[fF][tT][pP][sS]?|[fF][iI][lL][eE]"
    host = r"[wW]{3}\.[a-zA-Z0-9-]{1,63}\."
    if "://" in text or re.search(r"[wW]{3}\.", text):
        text = re.sub(rf"(?<![a-zA-Z])(?:(?:{scheme})://|{host}){end}*", _closing_marks, text)
    if "@" not in text:
        return text
    part = r"[a-zA-Z0-9-]++"
    name = r"(?<![a-zA-Z0-9.+%_-])(?:mailto:)?[a-zA-Z0-9][a-zA-Z0-9.+%_-]{0,63}+"
    names = r"\{[^{}@\n]{1,200}+\}"  # papers write {one, two}@example.org
    return re.sub(rf"(?:{name}|{names})@{part}(?:\.{part})++", " ", text)


def drop_contents_leaders(text: str) -> str:
    """Drop the leaders of a contents page with the page number: "Install ........ 12" -> "Install".

    At a line end: four or more dots, blanks between them allowed, or "_" or "-" without blanks ("- - - - 12" is a table
    row), with what stands for a page number. In the middle of a line: eight or more, since shorter runs are ellipses
    ("…" counts for three).
    """
    run = rf"(?:{_DOTS}{{4,}}+|[_-]{{4,}}+[ \t]*+)"
    if not re.search(run, text):
        return text
    return re.sub(rf"(?<![ \t])[ \t]*+(?:{run}{_PAGE}?+[ \t]*+)++", _without_leaders, text)


def drop_rules(text: str) -> str:
    """Empty the lines that are drawn, not written: "|---|:--|", "=====", "* * *", box-drawing characters."""
    return re.sub(r"^[|+:=~_*#\-—\u2500-\u257f \t]{3,}+$", "", text, flags=re.MULTILINE)


def close_letter_spacing(text: str) -> str:
    """Close up letter-spaced Chinese: "关 于 红 军" -> "关于红军".

    Three or more single Chinese characters (and marks) apart by blanks; two of them only where they are the whole line
    ("目 录") or the name of a chapter ("第一章 总 则"). Blanks between Chinese and Latin stay; so do tabs.
    """
    if not re.search(f"[{_HAN}] ", text):
        return text
    mark = rf"[{_HAN}、。《》〈〉「」,:;!?()]"
    text = re.sub(rf"(?<!\S)(?:{mark} +){{2,}}{mark}(?!\S)", _without_blanks, text)
    chapter = rf"第[{_HAN}\d]{{1,8}}[编章节条]"
    return re.sub(rf"^( *+(?:{chapter} ++)?[{_HAN}]) ++([{_HAN}]) *+$", r"\1\2", text, flags=re.MULTILINE)


def collapse_blanks(text: str) -> str:
    """Keep one blank of a run (a tab where it holds one, a table cell's end), none around lines, one empty line."""
    return _collapse(text).strip()


RULES: tuple[Callable[[str], str], ...] = (
    unify_line_endings,
    drop_invisible,
    normalise_width,
    join_hyphenated_words,
    drop_images,
    drop_addresses,
    drop_contents_leaders,
    drop_rules,
    close_letter_spacing,
    collapse_blanks,
)


def clean(text: str, *, block: int = _BLOCK) -> str:
    """Apply all rules in order, until nothing changes; so cleaning twice is cleaning once.

    One pass is nearly always enough; another is for what a rule uncovers for an earlier one. It ends because after the
    first pass no rule makes the text longer.

    Args:
        text: Any.
        block: Characters to clean at once. The result does not depend on it.
    """
    result = ""
    line_ends = 0  # that are due before the next words
    for cleaned in _cleaned_blocks(text, block):
        words = cleaned.strip("\n")
        leading = len(cleaned) - len(cleaned.lstrip("\n"))
        if not words:
            line_ends += len(cleaned)
            continue
        # CPython lengthens a string in place when nothing else refers to it; a list to join takes twice the memory.
        if result:
            result += "\n" * min(2, line_ends + leading)
        result += words
        line_ends = len(cleaned) - leading - len(words)
    return result


class _Words:
    """The words a text writes with a hyphen, looked for when a word is hyphenated at a line end."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def hyphenated(self) -> frozenset[str]:
        """Every "well-known" of the text; of longer chains the first two."""
        return frozenset(match[0] for match in _HYPHENATED.finditer(self._text))


def _cleaned_blocks(text: str, size: int) -> Iterator[str]:
    """Clean blocks of whole lines; a block's last line may end in a hyphen only when nothing follows."""
    words = _Words(text)
    start = 0
    while start < len(text):
        length = size
        while True:
            line_end = _LINE_END.search(text, start + length)
            end = line_end.end() if line_end else len(text)
            cleaned = _clean_block(text[start:end], words, is_last=end == len(text))
            if cleaned is not None:
                break
            length = 2 * (end - start)
        yield cleaned
        start = end


def _clean_block(block: str, words: _Words, *, is_last: bool) -> str | None:
    """Clean lines and keep their line ends, at most two of a run; None where the next line may have to be joined."""
    at = RULES.index(join_hyphenated_words)
    while True:
        before = block
        for rule in RULES[:at]:
            block = rule(block)
        if not is_last and block[:-1].rstrip(" \t").endswith("-"):
            return None
        block = _join_hyphenated(block, words)
        for rule in RULES[at + 1 : -1]:
            block = rule(block)
        block = _collapse(block)
        if block == before:
            return block


def _join_hyphenated(text: str, words: _Words) -> str:
    pieces, start = [], 0
    for match in _HYPHEN_AND_SECOND_HALF.finditer(text):
        hyphen = match.start()
        found = _FIRST_HALF.search(text, max(start, hyphen - 61), hyphen)
        if not found:
            continue
        left, right = found[0], match[1]
        typesetting = left[-1].islower() and right[0].islower() and "-" not in left + right
        joined = typesetting and f"{left}-{right}" not in words.hyphenated
        pieces.append(text[start : hyphen if joined else hyphen + 1])
        start = match.end()
    return "".join([*pieces, text[start:]]) if pieces else text


def _collapse(text: str) -> str:
    """Collapse blanks, but keep line ends at either end."""
    if any(pair in text for pair in ("  ", " \t", "\t ", "\t\t")):
        text = re.sub(r"[ \t]{2,}", lambda run: "\t" if "\t" in run[0] else " ", text)
    for blank in " \t":
        text = text.replace(f"{blank}\n", "\n").replace(f"\n{blank}", "\n")
    return re.sub(r"\n{3,}", "\n\n", text).strip(" \t")


def _visible(char: str) -> str | None:
    """Return the character, a blank in its place, or None to drop it."""
    if char in "\n\t":
        return char
    category = unicodedata.category(char)
    if category in {"Cc", "Co", "Cn", "Cs", "Zs"}:
        return " "
    is_selector = "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
    return None if category == "Cf" or is_selector or char in _INVISIBLE_LETTERS else char


def _without_leaders(runs: re.Match[str]) -> str:
    """Drop runs that end a line; of others the long ones, each with its page number."""
    following = runs.string[runs.end() : runs.end() + 1]
    if following in {"", "\n"}:
        return ""
    run = rf"(?:{_DOTS}{{8,}}+|[_-]{{8,}}+[ \t]*+)"
    return re.sub(rf"[ \t]*+{run}(?:\d{{1,4}}+(?![\w.]))?", " ", runs[0] + following)[:-1]


def _closing_marks(address: re.Match[str]) -> str:
    """Keep the punctuation that ends the sentence or the bracket around an address."""
    return " " + address[0][len(address[0].rstrip(".,;:!?)]'*")) :]


def _without_blanks(run: re.Match[str]) -> str:
    closed = run[0].replace(" ", "")
    return closed if re.search(f"[{_HAN}].*[{_HAN}]", closed) else run[0]
