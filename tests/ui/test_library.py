"""Uploads of one session: stopped, discarded, kept."""

from pathlib import Path

import pytest
from fakes import WordEncoder, silent

from causalviz.documents import DEFAULT_LIMITS
from causalviz.errors import KnowledgeBaseError
from causalviz.jobs import InThisProcess
from causalviz.knowledge_base import IndexResult
from causalviz.protocols import Progress
from causalviz.settings import Settings
from causalviz.ui.library import UPLOADS, Library, Upload


@pytest.fixture
def library(tmp_path: Path) -> Library:
    settings = Settings(home=tmp_path / "home", encoder="words", host="127.0.0.1", port=7860)
    return Library(settings, "words")


def write(folder: Path, **texts: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, text in texts.items():
        files.append(folder / f"{name}.txt")
        files[-1].write_text(text, encoding="utf-8")
    return files


def add(upload: Upload, files: list[Path], progress: Progress = silent) -> IndexResult | None:
    encoder = WordEncoder()
    return upload.add(files, encoder, InThisProcess(encoder), progress, DEFAULT_LIMITS)


def test_files_are_moved_in_and_go_with_the_session(tmp_path: Path) -> None:
    upload = Upload()
    files = write(tmp_path, one="late interaction", two="token vectors")
    result = add(upload, files)
    assert result is not None
    assert not any(
        file.exists() for file in files
    )  # no second copy is left where the browser's upload was put
    assert upload.pipeline is not None
    place = upload.pipeline.base.path.parent
    assert place.exists()
    upload.discard()
    assert not place.exists()


def test_two_files_of_one_name_are_both_kept(tmp_path: Path) -> None:
    upload = Upload()
    add(upload, write(tmp_path / "a", same="late interaction"))
    add(upload, write(tmp_path / "b", same="token vectors"))
    assert upload.pipeline is not None
    assert upload.pipeline.base.documents.ids == ("same (2).txt", "same.txt")
    upload.discard()


def test_a_stopped_run_keeps_what_was_finished_and_forgets_the_rest(tmp_path: Path) -> None:
    upload = Upload()
    files = write(tmp_path, **{f"f{i}": f"word{i} " * 2000 for i in range(6)})

    def stop_at_the_fourth(_done: int, _total: int, what: str) -> None:
        if what == "f3.txt":
            upload.stop()

    assert add(upload, files, stop_at_the_fourth) is None
    assert upload.pipeline is not None
    assert 0 < len(upload.pipeline.base.documents.ids) < 6
    result = add(upload, write(tmp_path, late="late interaction"))
    assert result is not None
    assert "late.txt" in upload.pipeline.base.documents.ids
    assert len(result.files) == len(upload.pipeline.base.documents.ids) < 7
    upload.discard()


def test_a_second_run_beside_the_first_is_refused(tmp_path: Path) -> None:
    upload = Upload()
    refused: list[object] = []

    def again(*_: object) -> None:
        if not refused:
            with pytest.raises(KnowledgeBaseError, match="being read already") as error:
                add(upload, [])
            refused.append(error)

    add(upload, write(tmp_path, one="late interaction"), again)
    assert refused
    upload.discard()


@pytest.mark.parametrize(
    "name", ["", " ", "../x", "a/b", "x" * 65, "a.", UPLOADS, UPLOADS.upper(), "sample_kb", "<b>"]
)
def test_an_unusable_or_taken_name_is_refused(library: Library, tmp_path: Path, name: str) -> None:
    upload = Upload()
    add(upload, write(tmp_path, one="late interaction"))
    with pytest.raises(KnowledgeBaseError, match=r"cannot be a name|already a knowledge base"):
        library.save(upload, name)
    upload.discard()


def test_a_kept_upload_is_offered_and_outlives_the_session(library: Library, tmp_path: Path) -> None:
    upload = Upload()
    with pytest.raises(KnowledgeBaseError, match="nothing has been uploaded"):
        library.save(upload, "mine")
    add(upload, write(tmp_path, one="late interaction"))
    assert library.save(upload, " 名前 1 ") == "名前 1"
    upload.discard()
    assert library.names() == ["sample_kb", "名前 1"]
    assert [path.name for path in (tmp_path / "home" / "knowledge_bases").iterdir()] == ["名前 1.kb"]
    with pytest.raises(KnowledgeBaseError, match="already"):
        library.save(upload, "名前 1")
