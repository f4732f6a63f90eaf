"""Text recognition with the engine of this machine. What it must find was drawn here or read off the page by eye."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from documents.builders import needs_shared, office
from PIL import Image, ImageDraw, ImageFont

from causalviz.documents import Limits, read_document
from causalviz.documents.readers.ocr import Recognised, find_engine
from causalviz.errors import UnreadableFileError
from causalviz.records import Document

ENGINE = find_engine()
needs_engine = pytest.mark.skipif(
    ENGINE is None, reason="no text recognition (tesseract, rapidocr) is installed"
)
needs_chinese = pytest.mark.skipif(
    ENGINE is None or not ENGINE.reads_chinese, reason="no text recognition that reads Chinese is installed"
)
NAME = ENGINE.name if ENGINE else ""
HOW = ENGINE and Recognised(engine=NAME, reads_chinese=ENGINE.reads_chinese).how
LINES = ["Data export assessment", "Chapter seven"]
WORDS = " ".join(LINES).split()
# An orientation tag: the camera lay on its side.
ON_ITS_SIDE = b"Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0"


@pytest.fixture(autouse=True)
def no_engine() -> None:
    """Stand in for the fixture of this name that serves the other files: here the engine itself is used."""


def picture(lines: Sequence[str] = LINES, *, turned: int = 0) -> Image.Image:
    image = Image.new("L", (700, 300), 255)
    for number, line in enumerate(lines):
        ImageDraw.Draw(image).text((50, 60 + 60 * number), line, fill=0, font=ImageFont.load_default(30))
    return image.rotate(turned, expand=True)


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:  # noqa: ANN401 - what Pillow takes
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def scans(*pages: Image.Image) -> bytes:
    return saved(pages[0], "PDF", resolution=150, save_all=True, append_images=pages[1:])


def read(name: str, data: bytes, **limits: float) -> Document:
    return read_document(name, data, limits=Limits(**limits))  # type: ignore[arg-type] # whole numbers where asked


def refusal(name: str, data: bytes, **limits: float) -> str:
    with pytest.raises(UnreadableFileError) as caught:
        read(name, data, **limits)
    return str(caught.value)


@needs_engine
def test_a_scanned_page_is_read_and_the_report_says_how() -> None:
    document = read("a.pdf", scans(picture()))
    assert document.text.split() == WORDS
    assert document.reader == f"pdf, {NAME}"
    assert document.warnings == (f"1 page (1): {HOW}",)


@needs_engine
def test_blank_scans_are_left_out_and_places_name_the_page_of_the_file() -> None:
    document = read("a.pdf", scans(picture(["First page"]), picture([]), picture(["Third page"])))
    assert document.text == "First page\n\nThird page"
    assert [(place.start, place.label) for place in document.places] == [(0, "page 1"), (12, "page 3")]
    assert document.pages == 3
    assert document.warnings[0].startswith("2 pages (1, 3): read by text recognition")
    assert document.warnings[1].startswith("1 page (2): no readable text (scanned?), left out")


@needs_engine
def test_a_scan_without_text_is_refused() -> None:
    assert "finds none" in refusal("a.pdf", scans(picture([])))
    assert "no readable text" in refusal("a.png", saved(picture([]), "PNG"))


@needs_engine
def test_pages_beyond_the_limit_are_left_out_with_the_reason() -> None:
    document = read("a.pdf", scans(picture(["First page"]), picture(["Second page"])), ocr_pages=1)
    assert document.text == "First page"
    assert "stops after 1 pages or 90 seconds: split the file" in document.warnings[1]
    pages = saved(picture(["First page"]), "TIFF", save_all=True, append_images=[picture(["Second page"])])
    document = read("a.tif", pages, ocr_pages=1)
    assert (document.text, document.pages) == ("First page", 2)
    assert document.warnings[1].startswith("pages from 2 on left out")


@needs_engine
def test_without_time_nothing_is_recognised() -> None:
    assert "stops after 100 pages or 0 seconds" in refusal("a.pdf", scans(picture()), ocr_seconds=0.01)


@pytest.mark.skipif(NAME != "tesseract", reason="tesseract is not installed")
def test_a_page_that_takes_too_long_is_given_up() -> None:
    chance = Image.effect_noise((3000, 3000), 100)
    assert "stops after" in refusal("a.pdf", scans(chance), ocr_seconds=0.3)


@needs_engine
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.png", saved(picture(), "PNG")),
        ("a.jpg", saved(picture(), "JPEG")),
        ("a.JPEG", saved(picture(), "PNG")),  # what it is counts, not which picture's name it has
        ("a.tiff", saved(picture(), "TIFF")),
        ("lying.jpg", saved(picture(turned=90), "JPEG", exif=ON_ITS_SIDE)),
    ],
)  # fmt: skip
def test_pictures_are_read(name: str, data: bytes) -> None:
    document = read(name, data)
    assert document.text.split() == WORDS
    assert document.reader == f"image, {NAME}"
    assert document.warnings == (HOW,)


@needs_engine
def test_black_on_nothing_is_read_as_black_on_white() -> None:
    page = picture()
    clear = Image.merge("LA", [Image.new("L", page.size, 0), page.point(lambda grey: 255 - grey)])
    assert read("a.png", saved(clear, "PNG")).text.split() == WORDS


@needs_engine
@needs_shared
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("scan_ocr_test.pdf", ["Docling bundles PDF document conversion to\nJSON and Markdown in an easy"]),
        ("scan_rotated_90.pdf", ["Docling bundles PDF document conversion to\nJSON and Markdown in an easy"]),
        (
            "scan_medical_report.pdf",
            ["Blood Pressure\t142/88 mmHg\t120/80 mmHg\tELEVATED", "Hypertension (diagnosed 2019) - controlled"],
        ),
        pytest.param(
            "corrupt_malformed_932.pdf",
            ["年度第二期债务融资工具定向", "之签字页,本页无正文"],
            marks=needs_chinese,
        ),
        ("cid_non_unicode_cmap.pdf", ["prost"]),  # its letters, drawn by its own font, are Czech
        pytest.param("cid_identity_no_tounicode_garbled.pdf", ["其他参考数据"], marks=needs_chinese),
    ],
)  # fmt: skip
def test_real_scans(name: str, words: list[str]) -> None:
    text = read(name, office(name), ocr_pages=1).text
    assert [passage for passage in words if passage not in text] == []


@needs_engine
@needs_shared
def test_letters_of_a_font_that_is_not_here_are_not_recognised() -> None:
    assert refusal("a.pdf", office("cid_identity_no_tounicode_mojibake.pdf")).startswith(
        "unreadable text was found"
    )


def test_a_tesseract_without_chinese_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "which is not here" not in Recognised(engine="tesseract", texts=("text",)).how
    program = tmp_path / "tesseract"
    program.write_text("#!/bin/sh\n[ $1 = --list-langs ] && printf 'List:\\neng\\n' && exit 0\nexit 1\n")
    program.chmod(0o755)
    without_any_engine(monkeypatch, tmp_path)
    for name, data in (("a.pdf", scans(picture())), ("a.png", saved(picture(), "PNG"))):
        assert refusal(name, data).endswith(
            "text recognition (tesseract) finds none: use a sharper scan, or for Chinese install its data "
            "(tesseract-ocr-chi-sim), which is not here."
        )


def without_any_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("causalviz.documents.readers.ocr.find_spec", lambda _name: None)


def test_without_an_engine_the_refusal_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without_any_engine(monkeypatch, tmp_path)
    for name, data in (("a.pdf", scans(picture())), ("a.png", saved(picture(), "PNG"))):
        assert "install Tesseract with its Chinese data" in refusal(name, data)
    assert refusal("a.pdf", scans(picture())).startswith("no readable text (scanned?) was found")


@needs_shared
def test_without_an_engine_letters_that_could_be_drawn_are_refused_with_that_cure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without_any_engine(monkeypatch, tmp_path)
    assert "or install Tesseract" in refusal("a.pdf", office("cid_non_unicode_cmap.pdf"))
    assert refusal("a.pdf", office("cid_identity_no_tounicode_mojibake.pdf")).endswith(
        "the file it was made from."
    )


@pytest.mark.parametrize(
    "data", [saved(picture(), "PNG")[:400], b"\x89PNG\r\n\x1a\n" + bytes(200), b"\xff\xd8\xff" * 9]
)
def test_a_damaged_picture_is_refused(data: bytes) -> None:
    assert "picture was found" in refusal("a.png", data)


def test_a_picture_of_a_billion_pixels_is_refused() -> None:
    data = bytearray(saved(Image.new("1", (1, 1)), "TIFF"))
    for tag in (b"\0\1", b"\1\1"):  # width and height, in a little-endian table
        at = data.index(tag)
        data[at : at + 12] = tag + b"\4\0\1\0\0\0" + (40_000).to_bytes(4, "little")
    assert "megapixels" in refusal("a.tif", bytes(data))
