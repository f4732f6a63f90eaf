"""Markdown (.md): the words without the marks.

A parser (markdown-it-py) rather than patterns: only it knows that the underscores of ``load_model`` and the stars of
a code block are no emphasis. It is linear on hostile nesting.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from causalviz.documents.encodings import decode
from causalviz.documents.limits import Limits
from causalviz.documents.readers.base import Part, ReadText

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.{0,5000}?\n)---[ \t]*\r?\n", re.DOTALL)


def read_markdown(data: bytes, _limits: Limits) -> ReadText:
    """Decode Markdown and keep its words: the title is the first heading, or the front matter's."""
    decoded = decode(data)
    body, title = decoded.text, None
    if front_matter := _FRONT_MATTER.match(body):
        body = body[front_matter.end() :]
        named = re.search(r"^title:[ \t]*(.+)$", front_matter[1], re.MULTILINE)
        title = named[1].strip().strip("'\"") if named else None
    tokens = _parse(body)
    heading = next((_inline(tokens[i + 1]) for i, t in enumerate(tokens) if t.type == "heading_open"), None)
    return ReadText(
        parts=(Part("".join(_blocks(tokens))),),
        title=title or heading,
        encoding=decoded.encoding,
        warnings=decoded.warnings,
    )


def _parse(text: str) -> "list[Token]":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"])
    return parser.parse(text)


def _blocks(tokens: "Iterable[Token]") -> Iterator[str]:
    """Give the text of blocks with what separates them: a tab after a table cell, a line end, an empty line."""
    for token in tokens:
        if token.type == "inline":
            yield _inline(token)
        elif token.type in {"fence", "code_block", "html_block"}:
            # Raw HTML stays as text, only comments are nobody's words.
            yield "" if token.content.lstrip().startswith("<!--") else token.content + "\n"
        elif token.type == "list_item_open":
            yield f"{token.info}. " if token.info else ""
        elif token.type in {"th_close", "td_close"}:
            yield "\t"
        elif token.type == "tr_close" or (token.type == "paragraph_close" and token.hidden):
            yield "\n"
        elif token.type in {
            "paragraph_close",
            "heading_close",
            "table_close",
            "bullet_list_close",
            "ordered_list_close",
        }:
            yield "\n\n"


def _inline(token: "Token") -> str:
    pieces = []
    for child in token.children or ():
        if child.type in {"softbreak", "hardbreak"}:
            pieces.append("\n")
        elif child.type == "text":
            pieces.append(_without_stars(child.content))
        elif not child.content.startswith("<!--"):
            pieces.append(
                child.content
            )  # code, image (its alternative text), raw HTML; marks have no content
    return "".join(pieces)


def _without_stars(text: str) -> str:
    """Drop stars that CommonMark leaves in Chinese: **注意：**请 is not bold to it, as a letter follows the colon."""
    return re.sub(r"(?<![\w*])\*\*(?=\S)|(?<=\S)\*\*(?![A-Za-z0-9*])", "", text)
