"""Themes files: queries with a small candidate set each, whose documents have known roles (one JSON object a line)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from causalviz.errors import ThemesError
from causalviz.records import Document

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Role = Literal["target", "near", "stuffed", "unrelated"]
_SHOWN = 40
"""Characters of a wrong value that a message repeats."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Theme:
    """One query, its candidate set and what each document is."""

    id: str
    lang: str
    query: str
    documents: tuple[Document, ...]
    roles: tuple[Role, ...]
    """In the order of ``documents``."""

    @property
    def target(self) -> str:
        """Id of the document that answers."""
        return next(d.id for d, role in zip(self.documents, self.roles, strict=True) if role == "target")

    @property
    def stuffed(self) -> tuple[str, ...]:
        """Ids of the keyword-stuffed documents."""
        return tuple(d.id for d, role in zip(self.documents, self.roles, strict=True) if role == "stuffed")


def read_themes(path: Path) -> tuple[Theme, ...]:
    """Read a themes file.

    Raises:
        ThemesError: it is missing, empty, or a line breaks the format; the message names the file without its folder,
            which a stranger who uploaded it need not know, and the line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ThemesError(
            f"the themes file '{path.name}' cannot be read ({error.strerror}); give a file with one theme a line."
        ) from error
    except UnicodeDecodeError as error:
        raise ThemesError(
            f"the themes file '{path.name}' is no text in UTF-8; save it in UTF-8, one theme a line."
        ) from error
    # Not splitlines(): JSON may hold the other line ends, such as U+2028, inside a text.
    themes = tuple(_themes(path.name, text.split("\n")))
    if not themes:
        raise ThemesError(f"the themes file '{path.name}' holds no theme; write one JSON object a line.")
    known: set[str] = set()
    for document in (document for theme in themes for document in theme.documents):
        if document.id in known:
            raise ThemesError(
                f"the themes file '{path.name}' uses the document id '{document.id}' twice; every id must be its own."
            )
        known.add(document.id)
    return themes


def _themes(name: str, lines: list[str]) -> Iterator[Theme]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield _theme(line)
        except _NoThemeError as error:
            raise ThemesError(
                f"line {number} of '{name}' is no theme ({error}); expected "
                '{"id", "lang", "query", "documents": [{"id", "role", "title", "text"}]} with one target.'
            ) from error


class _NoThemeError(Exception):
    """The message says what was found."""


def _theme(line: str) -> Theme:
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        raise _NoThemeError(f"no JSON: {error.msg} at character {error.pos + 1}") from error
    except (ValueError, RecursionError) as error:
        raise _NoThemeError("a number or a nesting beyond what can be read") from error
    # Imported here: everything else about themes needs no schema.
    from pydantic import ValidationError

    from causalviz.evaluation.themes_schema import ThemeLine

    try:
        checked = ThemeLine.model_validate(entry)
    except ValidationError as error:
        raise _NoThemeError(_what_is_wrong(error.errors(include_url=False)[0])) from error
    return Theme(
        id=checked.id,
        lang=checked.lang,
        query=checked.query,
        documents=tuple(
            Document(id=one.id, title=one.title, text=one.text, reader="record") for one in checked.documents
        ),
        roles=tuple(one.role for one in checked.documents),
    )


def _what_is_wrong(error: "ErrorDetails") -> str:
    place = ".".join(map(str, error["loc"])) or "the line"
    match error["type"]:
        case "missing":
            return f"{place}: missing"
        case "value_error":  # ours: it says what was found
            return f"{place}: {error['ctx']['error']}"
        case "model_type":
            wrong = "should be an object"
        case _:
            wrong = error["msg"].removeprefix("Input ").replace("a valid", "a")
    return f"{place}: {wrong}, found {_short(error['input'])}"


def _short(value: object) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
