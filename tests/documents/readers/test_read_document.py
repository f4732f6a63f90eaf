import os
import subprocess
import sys

import pytest
from documents.builders import Page, pdf, word, word_of_parts, zipped

from causalviz.documents import SUPPORTED_SUFFIXES, Limits, read_document
from causalviz.errors import UnreadableFileError

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(20)
WORD = word(lambda document: document.add_paragraph("words"))


def ole(*streams: str) -> bytes:
    """What an old Office file is recognised by."""
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"".join(name.encode("utf-16-le") for name in streams)


def refusal(document_id: str, data: bytes, limits: Limits | None = None) -> str:
    with pytest.raises(UnreadableFileError) as caught:
        read_document(document_id, data, limits=limits or Limits())
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message


def test_the_suffixes_read() -> None:
    assert SUPPORTED_SUFFIXES == (
        ".atom", ".csv", ".doc", ".docx", ".epub", ".htm", ".html", ".jpeg", ".jpg", ".md", ".odt", ".pdf", ".png",
        ".pptx", ".rss", ".rtf", ".tif", ".tiff", ".tsv", ".txt", ".xls", ".xlsx", ".xml",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("document_id", "data", "reader", "encoding"),
    [
        ("a.txt", b"words", "text", "utf-8"),
        ("A.TXT", b"words", "text", "utf-8"),
        ("deep/er/b.md", b"# words", "markdown", "utf-8"),
        ("c.html", b"<p>words", "html", "utf-8"),
        ("d.Htm", b"<p>words", "html", "utf-8"),
        ("e.pdf", pdf([Page(["words"])]), "pdf", None),
        ("f.docx", WORD, "docx", None),
        ("g.csv", b"words", "csv", "utf-8"),
        ("g.tsv", b"words", "csv", "utf-8"),
        ("h.xml", b"<a>words</a>", "xml", "utf-8"),
        ("h.rss", b"<rss><channel><title>words</title></channel></rss>", "xml", "utf-8"),
        ("h.atom", b"<feed><title>words</title></feed>", "xml", "utf-8"),
        ("i.rtf", b"{\\rtf1 words}", "rtf", "cp1252"),
    ],
)
def test_the_suffix_picks_the_reader(
    document_id: str, data: bytes, reader: str, encoding: str | None
) -> None:
    document = read_document(document_id, data)
    assert (document.id, document.text, document.title) == (document_id, "words", "words")
    assert (document.reader, document.encoding) == (reader, encoding)


@pytest.mark.parametrize(
    ("document_id", "data", "found", "cure"),
    [
        ("a.ods", b"x", "files ending in '.ods' are not read", ".docx, .epub"),
        ("README", b"x", "files without a suffix are not read", ".docx, .epub"),
        (".txt", b"x", "files without a suffix are not read", ".docx, .epub"),
        ("a.txt", b"", "the file is empty (0 bytes)", "put text into it"),
        ("a.docx", b"", "the file is empty (0 bytes)", "put text into it"),
        ("a.txt", b" \n\t\r\n", "no text was found", "put text into it"),
        ("a.txt", "\ufeff\u200b\u3000".encode(), "nothing but", "put text into"),
        ("a.txt", b"https://example.org\n----\n12345@example.org", "nothing but addresses", "put text into"),
        ("a.txt", "😀👍".encode(), "nothing but", "put text into"),
        ("a.txt", PNG, "a PNG image (binary) was found in a file named .txt", "OCR"),
        ("a.html", PNG, "a PNG image (binary) was found in a file named .html", "OCR"),
        ("a.docx", PNG, "a PNG image (binary) was found in a file named .docx", "OCR"),
        ("a.txt", pdf([Page(["x"])]), "a PDF was found in a file named .txt", "rename it to end in .pdf"),
        ("a.docx", pdf([Page(["x"])]), "a PDF was found in a file named .docx", "rename it to end in .pdf"),
        ("a.pdf", WORD, "a Word document was found in a file named .pdf", "rename it to end in .docx"),
        ("a.md", WORD, "a Word document was found in a file named .md", "rename it to end in .docx"),
        ("a.docx", zipped({"xl/workbook.xml": ""}), "an Excel file was found", "rename it to end in .xlsx"),
        ("a.docx", zipped({"application/epub+zip": ""}), "an EPUB book was found", "rename it to end in .epub"),
        ("a.txt", b"{\\rtf1\\ansi words}", "a Rich Text file was found", "rename it to end in .rtf"),
        ("a.pdf", b"<html><p>words", "a damaged or cut-off PDF", "download the file again"),
        ("a.docx", bytes(range(256)), "the .docx is a damaged or cut-off zip archive", "download the file again"),
        ("a.xls", bytes(range(256)), "a damaged or cut-off .xls", "download the file again"),
        ("a.doc", bytes(range(256)), "a damaged or cut-off .doc", "download the file again"),
        ("a.rtf", b"words", "plain text was found in a file named .rtf", "rename it to end in .txt"),
        ("a.rtf", bytes(range(256)), "no Rich Text was found", "name it by what it is"),
        ("a.xlsx", zipped({"a.txt": "x"}), "without Excel's parts", "save the file as .xlsx"),
        ("a.pptx", zipped({"a.txt": "x"}), "without PowerPoint's parts", "save the file as .pptx"),
        ("a.odt", zipped({"a.txt": "x"}), "without a text document", "save the file as .odt"),
        ("a.epub", zipped({"a.txt": "x"}), "without a book", "download the book again"),
        ("a.zip", zipped({"a.txt": "x"}), "this one is a zip archive", "unpack it first"),
        ("a.ppt", ole("PowerPoint Document"), "an old PowerPoint file (.ppt)", "save it as .pptx"),
        ("a.ppt", ole("PowerPoint Document", "EncryptedSummary"), "a password-protected PowerPoint", "remove the"),
        ("a.docx", ole("EncryptedPackage"), "a password-protected Office file", "remove the password"),
        ("a.xls", ole("WordDocument"), "an old Word file (.doc) was found in a file named .xls", "rename it to end"),
        ("a.doc", ole("__substg1.0_"), "an Outlook message (.msg)", "save it as"),
        ("a.doc", b"Date: today\nMIME-Version: 1.0\n\n", "a web archive (MHTML)", "save it as"),
        ("a.txt", bytes(range(256)) * 8, "binary data", "save the file as UTF-8"),
        ("a.txt", b"MZ\x90\0\3\0\0\0\4\0\0\0\xff\xff" * 40, "", "save the file"),
        ("a.txt", b"\x04\x05\x06 \x07\x08\x0e", "unreadable text was found (", "save the file anew"),
        ("a.txt", "Größe für Änderungen".encode().decode("latin-1").encode(), "unreadable text was found (", "save"),
    ],
)  # fmt: skip
def test_what_is_no_text_is_refused_in_one_sentence(
    document_id: str, data: bytes, found: str, cure: str
) -> None:
    message = refusal(document_id, data)
    assert found in message
    assert cure in message


@pytest.mark.parametrize(
    ("document_id", "data", "reader", "what"),
    [
        ("export.xls", b"<html><table><tr><td>words</table>", "html", "an HTML page"),
        ("export.xls", "\ufeff<table><tr><td>words</table>".encode("utf-16-le"), "html", "an HTML page"),
        ("export.xls", b"a;words\n1;2\n", "csv", "a table as text"),
        ("export.xlsx", b"a\twords\n1\t2\n", "csv", "a table as text"),
        ("report.doc", b"<!DOCTYPE html><p>words", "html", "an HTML page"),
        ("report.doc", b"{\\rtf1\\ansi words}", "rtf", "a Rich Text file"),
        ("report.docx", b"{\\rtf1\\ansi words}", "rtf", "a Rich Text file"),
        ("report.doc", WORD, "docx", "a Word document"),
        ("report.rtf", WORD, "docx", "a Word document"),
        ("report.doc", b"just words", "text", "plain text"),
    ],
)
def test_what_word_and_excel_open_under_a_wrong_name_is_read_with_a_warning(
    document_id: str, data: bytes, reader: str, what: str
) -> None:
    document = read_document(document_id, data)
    assert "words" in document.text
    assert document.reader == reader
    suffix = document_id.partition(".")[2]
    assert document.warnings[0] == f"{what} was found in a file named .{suffix}, and read as such"


def test_limits_allow_equality() -> None:
    assert read_document("a.txt", b"12345a", limits=Limits(file_bytes=6, characters=6)).text == "12345a"
    assert "at most 0.002 MB" in refusal("a.txt", b"a" * 2001, Limits(file_bytes=2000))
    assert "6 characters, but at most 5" in refusal("a.txt", b"12345a", Limits(characters=5))


@pytest.mark.parametrize(
    ("document_id", "text", "title"),
    [
        ("x/stem.name.txt", "数据出境安全评估办法\n\n第一条 为了规范数据出境活动。", "数据出境安全评估办法"),
        ("stem.txt", "\n\n  \n12\n====\nShort first line\nmore", "Short first line"),  # numbers name nothing
        ("x/stem.name.txt", "a long paragraph " * 20, "stem.name"),
        ("stem.txt", "1\n2\n3\n4\n5\nsix", "stem"),  # too far down for a title
        ("x/<b>name.txt", "1", "<b>name"),
        ("stem.md", "数据法\n\n## 第一章 总 则", "数据法"),  # a numbered heading names a chapter
        ("stem.md", "A report\n\n## 1.2 Scope", "A report"),
        ("stem.md", "## 第一章 总 则", "第一章 总则"),
        ("stem.md", "By the ministry\n\n## 2025 annual report", "2025 annual report"),
        ("stem.md", "# https://example.org\n\nwords", "words"),
        ("stem.html", f"<title>{'long ' * 50}</title><p>words", "words"),
        ("stem.html", "<title>ＡＢＣ &lt;b&gt;\u200b</title><p>words", "ABC <b>"),
    ],
)  # fmt: skip
def test_the_title_is_named_or_the_first_short_line_or_the_file_s_name(
    document_id: str, text: str, title: str
) -> None:
    assert read_document(document_id, text.encode()).title == title


def test_the_id_is_kept_as_it_is() -> None:
    name = "<img src=x onerror=alert(1)> ${1+1} {{value}}.txt"
    assert read_document(name, b"words").id == name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Install ........ 12\nUse ........ 15", "Install\nUse"),
        ("They have capabili-\nties, scientiﬁc ones", "They have capabilities, scientific ones"),
        ("ＡＢＣ１２３ 型号", "ABC123 型号"),
        ("load_model_v2() 返回 NaN", "load_model_v2() 返回 NaN"),
        ("学习率为 0.001，版本 1.5.2", "学习率为 0.001,版本 1.5.2"),
        ("PPR-9087", "PPR-9087"),
    ],
)
@pytest.mark.parametrize("suffix", [".txt", ".md", ".html", ".docx"])
def test_every_reader_s_text_is_cleaned_alike(suffix: str, text: str, expected: str) -> None:
    if suffix == ".docx":
        data = word_of_parts("".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in text.split("\n")))
    elif suffix == ".html":
        data = text.replace("\n", "<br>").encode()
    else:
        data = text.encode()
    assert read_document(f"a{suffix}", data).text.replace("\n\n", "\n") == expected


def test_an_unforeseen_failure_of_a_reader_is_a_refusal_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from causalviz.documents.readers import text

    def fail(data: bytes) -> None:
        raise RecursionError(data)

    monkeypatch.setattr(text, "decode", fail)
    assert "RecursionError" in refusal("a.txt", b"words")


def test_importing_the_package_loads_no_parser() -> None:
    code = "import sys, causalviz.documents; print(*sys.modules)"
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)  # noqa: S603 - our own
    assert {"lxml", "pypdfium2", "markdown_it", "charset_normalizer", "xlrd", "olefile"}.isdisjoint(
        run.stdout.split()
    )
