import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from documents.builders import Page, cid_font, pdf, to_unicode_map

from causalviz.documents import Limits, read_document
from causalviz.documents.frequent_characters import SIMPLIFIED
from causalviz.errors import UnreadableFileError
from causalviz.records import Document

LONG = ["The assessment covers the purpose, scope and manner", "of the transfer of data abroad."]


def read(data: bytes, limits: Limits | None = None) -> Document:
    return read_document("a.pdf", data, limits=limits or Limits())


def refusal(data: bytes, limits: Limits | None = None) -> str:
    with pytest.raises(UnreadableFileError) as caught:
        read(data, limits)
    return str(caught.value)


def test_pages_are_read_in_order() -> None:
    document = read(pdf([Page(["First page", "line two"]), Page(["Second page"])]))
    assert document.text == "First page\nline two\n\nSecond page"
    assert (document.reader, document.encoding, document.warnings) == ("pdf", None, ())


@pytest.mark.parametrize(
    ("named", "title"),
    [
        ("First  Page", "First Page"),  # the first page shows it
        ("Microsoft Word - final2.doc", "Data export"),
        ("", "Data export"),
    ],
)
def test_a_title_counts_when_the_first_page_shows_it(named: str, title: str) -> None:
    assert read(pdf([Page(["Data export", "first page", *LONG])], title=named)).title == title


def test_chinese_in_a_font_with_a_predefined_cmap() -> None:
    line = "数据出境安全评估".encode("gbk")
    assert read(pdf([Page([line])], font=cid_font("GBK-EUC-H", ordering="GB1"))).text == "数据出境安全评估"


def test_chinese_in_a_font_with_a_unicode_map() -> None:
    font = cid_font("Identity-H", to_unicode=True)
    cmap = to_unicode_map({1: "数", 2: "据", 3: "𠀀"})
    assert read(pdf([Page([b"\0\1\0\2\0\3"])], font=font, cmap=cmap)).text == "数据𠀀"


@pytest.mark.parametrize(
    "codes",
    [
        b"\0\4\0\5\0\6\0\7\0\x0e",  # glyph numbers of a subset font
        "7KLV\3LV\3WKH\3WH[W".encode("utf-16-be"),  # "This is the text", each letter 29 too low
    ],
)
def test_a_font_without_unicode_map_is_unreadable_text(codes: bytes) -> None:
    assert refusal(pdf([Page([codes])], font=cid_font("Identity-H"))).startswith("unreadable text")


def test_an_unreadable_page_among_readable_ones_is_left_out_and_told() -> None:
    cmap = to_unicode_map({1: "数", 2: "据", **dict.fromkeys(range(10, 20), "\ue000")})
    garbled = bytes(byte for code in range(10, 20) for byte in (0, code))
    document = read(
        pdf([Page([b"\0\1\0\2"]), Page([garbled])], font=cid_font("Identity-H", to_unicode=True), cmap=cmap)
    )
    assert document.text == "数据"
    assert document.warnings == ("1 page (2): unreadable text, left out; use the file it was made from",)


@pytest.mark.parametrize("strips", [1, 8])  # scanners cut a page into strips
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize(
    "watermark", [[], ["CONFIDENTIAL"], ["COPY"] * 12, ["2021 3 31"], ["Scanned by", "CamScanner"]]
)
def test_images_with_no_text_but_a_watermark_are_scans(strips: int, count: int, watermark: list[str]) -> None:
    assert refusal(pdf([Page(watermark, strips)] * count)).startswith("no readable text (scanned?)")


def test_a_long_watermark_on_every_page_is_one_too() -> None:
    watermark = ["Downloaded from the library for reference only, not for redistribution"]
    assert refusal(pdf([Page(watermark, 1)] * 4)).startswith("no readable text (scanned?)")


def test_blank_pages_hold_no_readable_text() -> None:
    assert refusal(pdf([Page(), Page()])).startswith("no readable text (scanned?)")


def test_a_scan_with_a_text_layer_is_text() -> None:
    assert read(pdf([Page(LONG, 1)])).text == "\n".join(LONG)


def test_a_short_text_without_image_is_text() -> None:
    assert read(pdf([Page(["abc"])])).text == "abc"


def test_scanned_pages_among_others_are_told() -> None:
    document = read(pdf([Page(LONG), Page([], 1), Page(["COPY"], 1), Page()]))
    assert document.text == "\n".join(LONG)
    (warning,) = document.warnings
    assert warning.startswith(
        "2 pages (2, 3): no readable text (scanned?), left out; no text recognition (OCR) is"
    )


def test_headers_footers_and_page_numbers_go() -> None:
    chapters = ["alpha", "beta", "gamma", "delta"]
    pages = [
        Page(["A running header", f"{chapter} begins", *LONG, f"{chapter} ends", f"Page {number} of 4"])
        for number, chapter in enumerate(chapters, 1)
    ]
    text = read(pdf(pages)).text
    assert "header" not in text
    assert "Page" not in text
    assert [line for line in text.split("\n") if "begins" in line] == [
        f"{chapter} begins" for chapter in chapters
    ]


def test_pages_that_are_all_alike_keep_their_words() -> None:
    assert read(pdf([Page(["Admit one", "Hall 7"])] * 3)).text == "\n\n".join(["Admit one\nHall 7"] * 3)


def test_hostile_text_stays_text() -> None:
    hostile = "<img src=x onerror=alert(1)> ${1+1} {{value}}"
    assert read(pdf([Page([hostile])])).text == hostile


def test_a_word_hyphenated_at_a_line_end_is_joined() -> None:
    assert "capabilities of" in read(pdf([Page(["They have capabili-", "ties of many kinds"])])).text.replace(
        "\n", " "
    )


def test_a_password_is_asked_for_in_words() -> None:
    assert refusal(pdf([Page(LONG)], user_password="secret")).startswith("the PDF is password-protected")  # noqa: S106


def test_encryption_that_only_forbids_printing_is_opened() -> None:
    assert read(pdf([Page(LONG)], user_password="")).text == "\n".join(LONG)


@pytest.mark.parametrize(
    "data", [b"%PDF-1.7\n", pdf([Page(LONG)])[:300], b"%PDF-1.4\n" + bytes(1000), b"not a PDF"]
)
def test_what_cannot_be_opened_is_damaged(data: bytes) -> None:
    assert refusal(data).startswith("a damaged or cut-off PDF")


def test_limits_are_kept() -> None:
    data = pdf([Page(LONG)] * 3)
    assert "3 pages, but at most 2" in refusal(data, Limits(pages=2))
    assert "more than 100 characters" in refusal(data, Limits(characters=100))
    assert read(data, Limits(pages=3)).text


def test_several_threads_may_read_at_once() -> None:
    files = [pdf([Page([f"file number {number}", *LONG])]) for number in range(6)]
    with ThreadPoolExecutor(6) as threads:
        titles = [document.title for document in threads.map(read, files)]
    assert titles == [f"file number {number}" for number in range(6)]


def test_places_lead_back_to_the_page_of_the_file() -> None:
    words = ["alpha", "beta", "gamma", "delta", "epsilon"]
    pages = [
        Page(["A running header", f"{word} begins", *LONG, f"{word} ends", f"Page {number} of 7"])
        for number, word in enumerate(words, 1)
    ]
    document = read(pdf([*pages[:2], Page([], 1), Page(), *pages[2:]]))  # a scan and a blank page in between
    assert document.pages == 7
    assert [place.label for place in document.places] == ["page 1", "page 2", "page 5", "page 6", "page 7"]
    for place, word in zip(document.places, words, strict=True):
        assert document.text[place.start :].startswith(f"{word} begins\n")


def test_places_are_right_after_pages_whose_text_is_cleaned_away() -> None:
    document = read(
        pdf([Page(["  First   page ........ 12"]), Page(["https://example.org/"]), Page(["Third page"])])
    )
    assert document.text == "First page\n\nThird page"
    assert [(place.label, document.text[place.start :][:5]) for place in document.places] == [
        ("page 1", "First"),
        ("page 3", "Third"),
    ]


def test_three_hundred_chinese_pages() -> None:
    chance = random.Random(0)  # noqa: S311 - a reproducible one is wanted
    texts = [["".join(chance.choices(SIMPLIFIED[:300], k=40)) for _ in range(15)] for _ in range(300)]
    pages = [
        Page([line.encode("gbk") for line in ("数据出境安全评估办法", *lines, f"第{number}页")])
        for number, lines in enumerate(texts, 1)
    ]
    document = read(pdf(pages, font=cid_font("GBK-EUC-H", ordering="GB1")))
    assert document.text == "\n\n".join("\n".join(lines) for lines in texts)
    assert document.pages == len(document.places) == 300
    assert document.text[document.places[299].start :] == "\n".join(texts[299])
