import os
from pathlib import Path

import pytest

from causalviz.documents import scan
from causalviz.errors import KnowledgeBaseError


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")


def ids(folder: Path) -> list[str]:
    return [file.id for file in scan(folder)]


def test_all_files_are_listed_by_relative_path_in_order_whatever_their_suffix(tmp_path: Path) -> None:
    write(
        tmp_path,
        "b.txt",
        "a/z.pdf",
        "a/b/c.md",
        "a-b.txt",
        "B.xlsx",
        "法律/数据.txt",
        "none",
        "<img src=x>.txt",
    )
    assert ids(tmp_path) == [
        "<img src=x>.txt", "B.xlsx", "a-b.txt", "a/b/c.md", "a/z.pdf", "b.txt", "none", "法律/数据.txt",
    ]  # fmt: skip
    assert [file.path.read_text(encoding="utf-8") for file in scan(tmp_path)] == ["x"] * 8


def test_what_is_hidden_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, ".env", ".git/config", "a/.DS_Store", "~$report.docx", "seen.txt")
    assert ids(tmp_path) == ["seen.txt"]


def test_links_are_followed_to_files_within_the_folder_only(tmp_path: Path) -> None:
    write(tmp_path, "outside/secret.txt", "kb/a.txt")
    (tmp_path / "kb" / "within.txt").symlink_to(tmp_path / "kb" / "a.txt")
    (tmp_path / "kb" / "out.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (tmp_path / "kb" / "outdir").symlink_to(tmp_path / "outside")
    (tmp_path / "kb" / "loop").symlink_to(tmp_path / "kb")
    (tmp_path / "kb" / "nowhere.txt").symlink_to(tmp_path / "kb" / "gone.txt")
    assert ids(tmp_path / "kb") == ["a.txt", "within.txt"]


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    write(tmp_path, "kb/a.txt")
    (tmp_path / "link").symlink_to(tmp_path / "kb")
    assert ids(tmp_path / "link") == ["a.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_no_file_to_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    assert ids(tmp_path) == []


def test_a_name_that_is_not_utf8_gets_a_printable_id(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/" + "法".encode("gbk") + b".txt"  # 0xB7 0xA8
    try:
        Path(os.fsdecode(path)).write_text("x", encoding="utf-8")
    except OSError:
        pytest.skip("this file system holds Unicode names only")
    assert ids(tmp_path) == ["\\xb7\\xa8.txt"]


def test_an_empty_folder_has_no_files(tmp_path: Path) -> None:
    assert scan(tmp_path) == []


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match="does not exist"):
        scan(tmp_path / "gone")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    write(tmp_path, "a.txt")
    with pytest.raises(KnowledgeBaseError, match="is a file"):
        scan(tmp_path / "a.txt")
