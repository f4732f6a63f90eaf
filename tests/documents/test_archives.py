import contextlib
import io
import stat
import struct
import unicodedata
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from documents.builders import zipped
from hypothesis import given
from hypothesis import strategies as st

from causalviz.documents import Limits
from causalviz.documents.archives import Archive, Budget, expand, neutral_name
from causalviz.errors import UnreadableFileError

SMALL = Limits(upload_bytes=30_000_000, file_bytes=20_000_000)


def contents(data: bytes, limits: Limits = SMALL) -> dict[str, bytes]:
    return {member.id: member.read() for member in expand("a.zip", data, limits)}


def refusals(data: bytes, limits: Limits = SMALL) -> dict[str, str]:
    found = {}
    for member in expand("a.zip", data, limits):
        try:
            member.read()
        except UnreadableFileError as error:
            found[member.id] = str(error)
    return found


def test_the_files_of_an_archive_come_in_order_with_those_of_archives_inside() -> None:
    inner = zipped({"c.txt": "3", "法/d.txt": "4"})
    data = zipped({"b.txt": "1", "folder/": "", "folder/inner.zip": inner, "z.txt": "5"})
    assert contents(data) == {
        "a.zip/b.txt": b"1",
        "a.zip/folder/inner.zip/c.txt": b"3",
        "a.zip/folder/inner.zip/法/d.txt": b"4",
        "a.zip/z.txt": b"5",
    }
    assert [member.size for member in expand("a.zip", data)] == [1, 1, 1, 1]


def test_an_archive_may_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"b.txt": "words"}))
    assert [(m.id, m.read()) for m in expand("a.zip", tmp_path / "a.zip")] == [("a.zip/b.txt", b"words")]


def test_what_is_hidden_or_left_behind_by_systems_is_left_out() -> None:
    names = [".git/config", "x/.DS_Store", "__MACOSX/a.txt", "~$report.docx", "Thumbs.db", "x/desktop.ini"]
    assert list(contents(zipped({**dict.fromkeys(names, "x"), "seen.txt": "x"}))) == ["a.zip/seen.txt"]


def test_a_link_is_left_out() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("passwords.txt")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("a.txt", "x")
    assert list(contents(buffer.getvalue())) == ["a.zip/a.txt"]


def with_raw_names(names: list[bytes]) -> bytes:
    """An archive whose names are bytes without the mark of UTF-8, as old programs write them."""
    plain = {chr(ord("A") + number) * len(name): "x" for number, name in enumerate(names)}
    data = zipped(plain)
    for placeholder, name in zip(plain, names, strict=True):
        data = data.replace(placeholder.encode(), name)
    return data


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("gbk", ["数据出境安全评估办法.txt", "个人信息/标准合同.txt"]),
        ("cp932", ["個人情報の保護に関する法律.txt", "ガイドライン.txt"]),
        ("big5", ["個人資料保護法.txt", "施行細則.txt"]),
        ("utf-8", ["数据.txt", "Größe.txt"]),
        ("cp437", ["Größe.txt", "Menü.txt"]),
    ],
)
def test_names_without_the_mark_of_utf8_are_decoded_by_what_they_look_like(
    encoding: str, names: list[str]
) -> None:
    data = with_raw_names([name.encode(encoding) for name in names])
    assert list(contents(data)) == [f"a.zip/{name}" for name in names]


@pytest.mark.parametrize(
    ("name", "neutral"),
    [
        ("a/b.txt", "a/b.txt"),
        ("../../etc/passwd", "etc/passwd"),
        ("/etc/passwd", "etc/passwd"),
        ("C:\\Users\\x\\..\\a.txt", "Users/x/a.txt"),
        ("\\\\server\\share\\a.txt", "server/share/a.txt"),
        ("a/./b//c.txt", "a/b/c.txt"),
        ("a\0b\x1b[31m\n.txt", "a_b_[31m_.txt"),
        ("right\u202etxt.exe", "right_txt.exe"),  # shown as "rightexe.txt"
        ("..", "_"),
        ("", "_"),
        ("法律 (1).txt", "法律 (1).txt"),
        ("x" * 300 + ".txt", "x" * 116 + ".txt"),
        ("/".join(["folder" * 15] * 10) + "/a.txt", "/".join(["folder" * 15] * 4) + "/a.txt"),
    ],
)
def test_names_are_made_harmless(name: str, neutral: str) -> None:
    assert neutral_name(name) == neutral


@given(st.text(max_size=60) | st.text(st.sampled_from(list("./\\:aC\0\n ")), max_size=60))
def test_no_name_leads_out_of_its_folder(name: str) -> None:
    neutral = neutral_name(name)
    assert neutral == neutral_name(neutral)
    assert not {"", ".", ".."} & set(neutral.split("/"))
    assert "\\" not in neutral
    assert not [
        char for char in neutral if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    ]
    neutral.encode()


def test_names_that_become_the_same_stay_apart() -> None:
    data = zipped({"a.txt": "1", "../a.txt": "2", "/a.txt": "3", "x\\README": "4", "x/README": "5"})
    assert contents(data) == {
        "a.zip/a.txt": b"1", "a.zip/a (2).txt": b"2", "a.zip/a (3).txt": b"3", "a.zip/x/README": b"4",
        "a.zip/x/README (2)": b"5",
    }  # fmt: skip


def test_a_bomb_is_stopped_while_it_is_unpacked() -> None:
    data = zipped({"zeros.txt": b"\0" * 15_000_000, "fine.txt": "x"})
    assert len(data) < 20_000
    found = refusals(data)
    assert list(found) == ["a.zip/zeros.txt"]
    assert "unpacks to more than 200 times its size" in found["a.zip/zeros.txt"]


def test_a_bomb_that_lies_about_its_size_gives_no_more_than_it_says() -> None:
    data = zipped({"zeros.txt": b"\0" * 15_000_000}).replace(
        struct.pack("<I", 15_000_000), struct.pack("<I", 100)
    )
    assert "damaged" in refusals(data)["a.zip/zeros.txt"]


def test_all_members_together_are_limited_and_equality_is_allowed() -> None:
    data = zipped({"a.txt": "12345", "b.zip": zipped({"c.txt": "12345"})})
    inner = len(zipped({"c.txt": "12345"}))
    assert len(contents(data, Limits(upload_bytes=10 + inner))) == 2
    found = refusals(data, Limits(upload_bytes=9 + inner))
    assert list(found) == ["a.zip/b.zip/c.txt"]
    assert "the most that is read of it" in found["a.zip/b.zip/c.txt"]


def test_each_member_is_limited_and_equality_is_allowed() -> None:
    data = zipped({"a.txt": "12345"})
    assert contents(data, Limits(file_bytes=5)) == {"a.zip/a.txt": b"12345"}
    assert "the most that is read of one file" in refusals(data, Limits(file_bytes=4))["a.zip/a.txt"]


def test_the_number_of_members_is_limited() -> None:
    data = zipped({f"{number}.txt": "x" for number in range(20)})
    assert len(contents(data, Limits(archive_members=20))) == 20
    with pytest.raises(UnreadableFileError, match="holds 20 files, but at most 19 are read"):
        contents(data, Limits(archive_members=19))
    nested = zipped({"a.txt": "x", "b.zip": data})
    assert "holds 20 files" in refusals(nested, Limits(archive_members=21))["a.zip/b.zip"]


def test_archives_within_archives_are_read_to_a_depth() -> None:
    data = zipped({"deep.txt": "x"})
    for _ in range(2):
        data = zipped({"n.zip": data})
    assert list(contents(data, Limits(archive_depth=3))) == ["a.zip/n.zip/n.zip/deep.txt"]
    assert "lies in 2 others, but at most 2" in refusals(data, Limits(archive_depth=2))["a.zip/n.zip/n.zip"]


def marked_encrypted(data: bytes) -> bytes:
    changed = bytearray(data)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        changed[changed.index(signature) + offset] |= 1
    return bytes(changed)


def packed(method: int, files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (marked_encrypted(zipped({"a.txt": "x"})), "password-protected"),
        (packed(zipfile.ZIP_BZIP2, {"a.txt": b"x" * 1000}), "only Deflate is read"),
        (packed(zipfile.ZIP_LZMA, {"a.txt": b"x" * 1000}), "only Deflate is read"),
        (packed(zipfile.ZIP_STORED, {"a.txt": b"some words"}).replace(b"some", b"same"), "damaged"),
    ],
)
def test_a_member_that_cannot_be_read_says_why_and_the_others_are_read(data: bytes, reason: str) -> None:
    outer = zipped({"inner.zip": data, "b.txt": "fine"})
    found = refusals(outer)
    assert list(found) == ["a.zip/inner.zip/a.txt"]
    assert reason in found["a.zip/inner.zip/a.txt"]


@pytest.mark.parametrize("data", [b"", b"no zip", zipped({"a.txt": "x"})[:-20], zipped({"a.txt": "x"})[:30]])
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableFileError, match="damaged or cut-off zip archive"):
        contents(data)
    assert "damaged or cut-off zip archive" in refusals(zipped({"b.zip": data}))["a.zip/b.zip"]


@given(st.binary(max_size=200), st.integers(0, 300), st.binary(min_size=1, max_size=4))
def test_any_bytes_give_files_or_a_refusal(data: bytes, place: int, change: bytes) -> None:
    sound = bytearray(zipped({"a.txt": data, "b/c.zip": zipped({"d.txt": data})}))
    sound[place : place + len(change)] = change
    for archive in (data, bytes(sound)):
        with contextlib.suppress(UnreadableFileError):
            refusals(archive)


def test_one_budget_counts_all_that_is_unpacked_of_a_document() -> None:
    budget = Budget(bytes_left=10, members_left=5)
    with Archive(zipped({"a": b"123456", "b": b"123456"}), Limits(), budget, what="the .docx") as archive:
        assert archive.read("a") == b"123456"
        with pytest.raises(UnreadableFileError, match="the most that is read of it"):
            archive.read("b")
