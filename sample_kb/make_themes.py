"""Write themes.jsonl from the documents and their roles: `python sample_kb/make_themes.py`.

The documents are read as the software reads any file, so that a theme holds the very text that is indexed.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from causalviz.documents import read_document  # noqa: E402 - run from a checkout, without installing


def themes_text() -> str:
    """Return the content of themes.jsonl."""
    roles = json.loads((HERE / "roles.json").read_text(encoding="utf-8"))
    lines = []
    for theme_id, theme in roles.items():
        documents = []
        for name, role in theme["documents"].items():
            document = read_document(name, (HERE / "documents" / name).read_bytes())
            documents.append({"id": name, "role": role, "title": document.title, "text": document.text})
        entry = {"id": theme_id, "lang": theme["lang"], "query": theme["query"], "documents": documents}
        lines.append(json.dumps(entry, ensure_ascii=False) + "\n")
    return "".join(lines)


if __name__ == "__main__":
    (HERE / "themes.jsonl").write_text(themes_text(), encoding="utf-8")
