"""Tables as text (.csv, .tsv): the cells, whatever separates them in the file.

The separator is told by our own rule, not by csv.Sniffer, which takes the letter "e" or a blank for one and needs every
line alike.
"""

import csv
import re
from collections import Counter, deque
from collections.abc import Iterator
from io import StringIO

from causalviz.documents.encodings import decode
from causalviz.documents.limits import Limits
from causalviz.documents.readers.base import Part, ReadText
from causalviz.documents.readers.sheets import cell_text

_SEPARATORS = "\t;|,"  # of equals the first: commas are in numbers and sentences, too
_SAMPLE = 65_536  # characters in which the separator is looked for


def read_csv(data: bytes, _limits: Limits) -> ReadText:
    """Decode, and give a line for a row with a tab between cells; line breaks inside a cell become blanks.

    The row with the names of the columns stays. Excel's "sep=;" line is obeyed and left out.
    """
    decoded = decode(data)
    # Not by re.sub, which holds every line as a text of its own.
    text, separator = _declared(decoded.text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n"))
    separator = separator or _separator(text)
    written = StringIO()
    for row in _rows(text, separator):
        written.write("\t".join(map(cell_text, row)).rstrip("\t") + "\n")
    return ReadText(parts=(Part(written.getvalue()),), encoding=decoded.encoding, warnings=decoded.warnings)


def _declared(text: str) -> tuple[str, str | None]:
    declared = re.match(r"\s{0,10}sep=(.)\n", text)
    return (text[declared.end() :], declared[1]) if declared else (text, None)


def _separator(text: str) -> str | None:
    """Find the character that cuts most lines into the same number of cells; None for lines of one cell."""
    sample = text[:_SAMPLE]
    if len(text) > _SAMPLE:
        sample = sample[: sample.rfind("\n") + 1] or sample
    best, best_share = None, 0.0
    for separator in _SEPARATORS:
        widths = Counter(len(row) for row in _rows(sample, separator) if any(cell.strip() for cell in row))
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        share = count / max(1, widths.total())
        if width > 1 and share > best_share:
            best, best_share = separator, share
    return best


def _rows(text: str, separator: str | None) -> Iterator[list[str]]:
    if separator is None:
        yield from ([line.rstrip("\n")] for line in _lines(text))
        return
    csv.field_size_limit(2**31 - 1)  # the whole file is in memory already
    if _are_quotes_closed(text, separator):
        yield from csv.reader(_lines(text), delimiter=separator)
    else:
        yield from csv.reader(_lines(text), delimiter=separator, quoting=csv.QUOTE_NONE)


def _lines(text: str) -> Iterator[str]:
    """Give the lines one by one, with their ends: all at once, they take several times the memory of the text."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _are_quotes_closed(text: str, separator: str) -> bool:
    """Whether no quote swallows the rest of the file: else quotes are what they look like, inches or words."""
    try:
        deque(csv.reader(_lines(text), delimiter=separator, strict=True), maxlen=0)
    except csv.Error:  # an end inside quotes, or a quote inside a cell, which does no harm
        last = deque(csv.reader(_lines(text), delimiter=separator), maxlen=1).pop()
        return not any("\n" in cell for cell in last)
    return True
