"""Running headers, footers and page numbers of a paged document."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

_EDGE = 4  # lines at the top and at the bottom of a page that may belong to a header or footer
_MIN_PAGES = 3  # below that, what two pages share may be their text


def drop_running_lines(pages: Sequence[str]) -> list[str]:
    """Drop the lines at the top and bottom of pages that recur on most of them.

    A line recurs when it is the same, or the same but for one number that counts with the pages ("12", "Page 3 of 9",
    "第 4 页"), on at least three pages and on more than half of all pages, of the odd or of the even ones (books have
    two headers). From the edge inwards, the first line that does not recur ends the header.

    Args:
        pages: Text of each page, lines ended by newlines.

    Returns:
        As many pages; white space within the lines that stay is kept, empty lines are not.
    """
    all_lines = [[line for line in page.splitlines() if line.strip()] for page in pages]
    running = _recurring(all_lines)
    return ["\n".join(_without_edges(lines, number, running)) for number, lines in enumerate(all_lines)]


def _recurring(pages: list[list[str]]) -> set[str]:
    counts = [Counter[str](), Counter[str]()]  # even, odd
    for number, lines in enumerate(pages):
        edges = lines[:_EDGE] + lines[-_EDGE:]
        counts[number % 2].update({key for line in edges for key in _keys(line, number)})
    sizes = [(len(pages) + 1) // 2, len(pages) // 2]
    groups = [(counts[0], sizes[0]), (counts[1], sizes[1]), (counts[0] + counts[1], len(pages))]
    return {key for count, size in groups for key, n in count.items() if n >= _MIN_PAGES and 2 * n > size}


def _without_edges(lines: list[str], number: int, running: set[str]) -> list[str]:
    start, end = 0, len(lines)
    while start < min(end, _EDGE) and not running.isdisjoint(_keys(lines[start], number)):
        start += 1
    while end > max(start, len(lines) - _EDGE) and not running.isdisjoint(_keys(lines[end - 1], number)):
        end -= 1
    return lines[start:end]


def _keys(line: str, number: int) -> Iterator[str]:
    """Give the line, and for each of its first numbers the line with that one counted from the page."""
    plain = " ".join(line.split())
    yield plain
    for match in list(re.finditer(r"\d{1,4}", plain))[:4]:
        yield f"{plain[: match.start()]}<page{int(match[0]) - number:+}>{plain[match.end() :]}"
