"""Text recognition is as if none were installed, so that a scan is read alike on every machine; test_ocr.py has it."""

import pytest

from causalviz.documents.readers import ocr


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_engine", lambda: None)
