"""Themes files: queries with a small candidate set each, whose documents have known roles (one JSON object a line)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from causalviz.errors import ThemesError
from causalviz.records import Document

Role = Literal["target", "near", "stuffed", "unrelated"]


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
        ThemesError: it is missing, empty, or a line breaks the format; the message names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ThemesError(
            f"the themes file '{path}' cannot be read ({error}); give a UTF-8 file, one theme a line."
        ) from error
    themes = tuple(_themes(path, lines))
    if not themes:
        raise ThemesError(f"the themes file '{path}' holds no theme; write one JSON object a line.")
    ids = [document.id for theme in themes for document in theme.documents]
    twice = sorted({id_ for id_ in ids if ids.count(id_) > 1})
    if twice:
        raise ThemesError(
            f"the themes file '{path}' uses the document id '{twice[0]}' twice; every id must be its own."
        )
    return themes


def _themes(path: Path, lines: list[str]) -> Iterator[Theme]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield _theme(json.loads(line))
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise ThemesError(
                f"line {number} of '{path}' is no theme ({type(error).__name__}: {error}); expected "
                '{"id", "lang", "query", "documents": [{"id", "role", "title", "text"}]} with one target.'
            ) from error


def _theme(entry: dict[str, Any]) -> Theme:
    documents, roles = [], []
    for document in entry["documents"]:
        if document["role"] not in get_args(Role):
            raise ValueError(f"role '{document['role']}' is none of {', '.join(get_args(Role))}")
        documents.append(
            Document(id=document["id"], title=document["title"], text=document["text"], reader="record")
        )
        roles.append(document["role"])
    if roles.count("target") != 1:
        raise ValueError(f"{roles.count('target')} targets")
    return Theme(
        id=entry["id"],
        lang=entry["lang"],
        query=entry["query"],
        documents=tuple(documents),
        roles=tuple(roles),
    )
