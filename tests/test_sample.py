"""The sample: its themes file holds its documents as they are read, in the roles the paper's corpus has."""

import runpy
from collections import Counter

from causalviz.bootstrap import SAMPLE
from causalviz.evaluation.themes import read_themes


def test_the_themes_file_holds_the_documents_as_they_are_read() -> None:
    themes_text = runpy.run_path(str(SAMPLE / "make_themes.py"))["themes_text"]
    assert (SAMPLE / "themes.jsonl").read_text(encoding="utf-8") == themes_text()


def test_every_document_has_one_role_and_every_theme_all_roles() -> None:
    themes = read_themes(SAMPLE / "themes.jsonl")
    assert Counter(theme.lang for theme in themes) == {"zh": 5, "en": 3}
    for theme in themes:
        roles = Counter(theme.roles)
        assert (roles["target"], roles["stuffed"], roles["unrelated"]) == (1, 2, 2)
        assert roles["near"] >= 2
    found = {
        path.relative_to(SAMPLE / "documents").as_posix() for path in (SAMPLE / "documents").rglob("*.md")
    }
    assert {document.id for theme in themes for document in theme.documents} == found
