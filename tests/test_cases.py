"""The failures people report of search and parsing tools, one test each, from a file's bytes to the trace.

Every one stands here with its small input; its whole kind is tested with the module concerned. What is only to be seen
on a page is tested in tests/browser; here are the numbers the page is given, and the last test looks for those tests.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from documents.builders import Page, cid_font, pdf, word
from fakes import silent

from causalviz.backends.segmentation import default_tokenizer
from causalviz.bootstrap import index_into, make_encoder, open_pipeline
from causalviz.documents import read_document
from causalviz.documents.readers import ocr
from causalviz.errors import KnowledgeBaseError, ParameterError, UnreadableFileError
from causalviz.knowledge_base import RecordEntry, folder_source, reports
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.protocols import Encoder
from causalviz.rank import Ranking, rerank
from causalviz.records import RankSettings, Trace
from causalviz.score import ScoreTable
from causalviz.trace import to_json
from causalviz.ui.missing import explain_missing

HYBRID = RankSettings(tau=0.9, method="hybrid")
EVERYTHING = SearchSettings(theta=-1.0)
REPLACEMENT = "\ufffd"


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return make_encoder("e5-small")


def pipeline_of(folder: Path, encoder: Encoder, files: Mapping[str, bytes]) -> Pipeline:
    entries = [RecordEntry(read_document(name, data)) for name, data in files.items()]
    index_into(folder / "cases.kb", entries, encoder, silent)
    return open_pipeline(folder / "cases.kb", encoder, silent)


def texts(**files: str) -> dict[str, bytes]:
    return {f"{name}.txt": text.encode() for name, text in files.items()}


def ranking_of(trace: Trace) -> Ranking:
    return rerank(ScoreTable.of(trace.candidates), HYBRID)


def terms(text: str) -> list[str]:
    return [token.term for token in default_tokenizer().tokens(text)]


def refusal(name: str, data: bytes) -> str:
    with pytest.raises(UnreadableFileError) as caught:
        read_document(name, data)
    return str(caught.value)


def test_case_1_a_gbk_file_with_a_four_byte_character() -> None:
    text = "数据出境安全评估办法\r\n生僻字𠮷与㐂都要读对。\r\n"
    document = read_document("a.txt", text.encode("gb18030"))
    assert document.text == "数据出境安全评估办法\n生僻字𠮷与㐂都要读对。"
    assert document.encoding == "gb18030"
    assert REPLACEMENT not in document.text


def test_case_2_a_page_that_declares_gbk() -> None:
    page = (
        '<html><head><meta charset="gbk"><title>安全评估</title><script>alert("x")</script></head>'
        "<body><p>数据出境<b>安全</b>评估</p></body></html>"
    )
    document = read_document("a.html", page.encode("gbk"))
    assert document.encoding in {"gbk", "gb18030"}
    assert document.title == "安全评估"
    assert "数据出境安全评估" in document.text
    assert not re.search(r"[<>]|alert|script", document.text)


@pytest.mark.parametrize("watermark", [[], ["CONFIDENTIAL"]])
def test_case_3_a_scan(watermark: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_engine", lambda: None)  # with one, test_ocr.py
    assert refusal("a.pdf", pdf([Page(watermark, image_strips=1)])).startswith("no readable text (scanned?)")


def test_case_3_a_scan_is_not_counted_as_ready(
    tmp_path: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # workers find no engine there
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "scan.pdf").write_bytes(pdf([Page([], image_strips=1)]))
    (folder / "text.txt").write_text("Data export is assessed.", encoding="utf-8")
    index_into(tmp_path / "cases.kb", folder_source(folder), encoder, silent)
    status = {report.file: (report.status, report.chunks) for report in reports(tmp_path / "cases.kb")}
    assert status == {"scan.pdf": ("refused", 0), "text.txt": ("indexed", 1)}
    assert open_pipeline(tmp_path / "cases.kb", encoder, silent).base.documents.ids == ("text.txt",)


def test_case_4_chinese_fonts_of_a_pdf() -> None:
    line = "数据出境安全评估".encode("gbk")
    assert (
        read_document("a.pdf", pdf([Page([line])], font=cid_font("GBK-EUC-H", ordering="GB1"))).text
        == "数据出境安全评估"
    )
    garbled = pdf([Page([b"\0\4\0\5\0\6\0\7\0\x0e"])], font=cid_font("Identity-H"))
    assert refusal("a.pdf", garbled).startswith("unreadable text")


def test_case_5_a_contents_page() -> None:
    text = read_document("a.txt", b"Install ........ 12\nConfigure ........ 14").text
    assert terms(text) == ["install", "configure"]


def test_case_6_line_breaks_and_ligatures() -> None:
    document = read_document("a.txt", "It has capabili-\nties of scientiﬁc use.".encode())
    assert terms(document.text) == ["capabilities", "scientific", "use"]


def test_case_7_a_word_file_with_nothing_but_a_table() -> None:
    def fill(document: object) -> None:
        table = document.add_table(2, 2)  # type: ignore[attr-defined] # python-docx
        for number, cell in enumerate(["城市", "人口", "北京", "2184"]):
            table.cell(*divmod(number, 2)).text = cell

    assert read_document("a.docx", word(fill)).text == "城市\t人口\n北京\t2184"


def test_case_8_an_identifier_is_one_keyword_and_its_document_is_first(
    tmp_path: Path, encoder: Encoder
) -> None:
    files = texts(
        a="PPR-9087 The pump loses pressure after a restart.",
        b="PPR-1044 The pump loses pressure after a restart.",
        c="PPR-580 The pump loses pressure after a restart.",
    )
    trace = pipeline_of(tmp_path, encoder, files).ask("PPR-9087", EVERYTHING, HYBRID)
    assert [keyword.term for keyword in trace.query_keywords] == ["ppr-9087"]
    assert trace.candidates[0].id == "a.txt"
    assert "ppr-9087" in trace.candidates[0].terms
    for method in (
        "similarity",
        "hybrid",
        "guarded",
    ):  # the causal score alone sets the question's own word aside
        ranking = rerank(ScoreTable.of(trace.candidates), replace(HYBRID, method=method))
        assert ranking.order[0] == 0


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("load_model_v2() 返回 NaN", {"load_model_v2", "nan"}),
        ("学习率为 0.001，版本 1.5.2", {"0.001", "1.5.2", "版本"}),
    ],
)
def test_case_9_identifiers_and_numbers_stay_whole(text: str, whole: set[str]) -> None:
    found = set(terms(read_document("a.txt", text.encode()).text))
    assert whole <= found
    assert found.isdisjoint({"为", "的", "www", "https", "com"})


def test_case_9_pieces_of_addresses_are_no_keywords() -> None:
    text = read_document("a.txt", "详见 https://www.example.com/docs?id=7 的说明文件".encode()).text
    assert {"https", "www", "example", "com", "docs", "id"}.isdisjoint(terms(text))


def test_case_10_full_width_and_plain_match(tmp_path: Path, encoder: Encoder) -> None:
    files = texts(wide="ＡＢＣ１２３ 型号 的泵需要维护", other="今天的天气很好，适合出门")
    trace = pipeline_of(tmp_path, encoder, files).ask("ABC123 型号", EVERYTHING, HYBRID)
    assert read_document("wide.txt", files["wide.txt"]).text.startswith("ABC123 型号")
    wide = next(candidate for candidate in trace.candidates if candidate.id == "wide.txt")
    assert wide.exact[wide.terms.index("abc123")]


def test_case_11_repetition_is_counted_beside_the_rank(tmp_path: Path, encoder: Encoder) -> None:
    files = texts(stuffed="维度 " * 8, phrase="数据质量的评价维度包括完整性和准确性")
    trace = pipeline_of(tmp_path, encoder, files).ask("维度", EVERYTHING, HYBRID)
    repeats = {
        candidate["id"]: (candidate["repeats"], candidate["tokens"])
        for candidate in to_json(trace)["candidates"]
    }
    assert repeats["stuffed.txt"] == (8, 8)
    assert repeats["phrase.txt"][0] == 1


def test_case_12_a_short_line_against_a_paragraph(tmp_path: Path, encoder: Encoder) -> None:
    files = texts(
        line="PPR-9087",
        paragraph="When the pump reports PPR-9087, close the valve, wait until the pressure has fallen and restart it.",
    )
    trace = pipeline_of(tmp_path, encoder, files).ask("How do I clear PPR-9087?", EVERYTHING, HYBRID)
    line = next(candidate for candidate in trace.candidates if candidate.id == "line.txt")
    assert line.terms == ("ppr-9087",)
    assert ranking_of(trace).rank.tolist() in ([1, 2], [2, 1])
    json.dumps(to_json(trace), allow_nan=False)  # what the page explains it by


def test_case_13_one_document_and_two_that_are_the_same(tmp_path: Path, encoder: Encoder) -> None:
    one = pipeline_of(tmp_path, encoder, texts(a="token vectors")).ask("vectors", EVERYTHING, HYBRID)
    assert (ranking_of(one).hybrid.tolist(), ranking_of(one).rank.tolist()) == ([0.0], [1])
    (tmp_path / "two").mkdir()
    pipeline = pipeline_of(tmp_path / "two", encoder, texts(b="token vectors", a="token vectors"))
    for _ in range(2):
        trace = pipeline.ask("vectors", EVERYTHING, HYBRID)
        assert [candidate.id for candidate in trace.candidates] == ["a.txt", "b.txt"]
        assert ranking_of(trace).rank.tolist() == [1, 2]
        assert ranking_of(trace).hybrid.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("query", ["the of a how", "的 了 和", "😀😀", "?!"])
def test_case_15_a_question_without_keywords(tmp_path: Path, encoder: Encoder, query: str) -> None:
    trace = pipeline_of(tmp_path, encoder, texts(a="token vectors", b="bread and salt")).ask(
        query, EVERYTHING, HYBRID
    )
    assert len(trace.candidates) == 2
    assert "no keyword is set aside" in trace.warnings[0]


def test_case_15_nothing_and_too_much(tmp_path: Path, encoder: Encoder) -> None:
    pipeline = pipeline_of(tmp_path, encoder, texts(a="token vectors"))
    with pytest.raises(ParameterError, match="question is empty"):
        pipeline.ask("", EVERYTHING, HYBRID)
    assert pipeline.ask("token " * 833 + "xx", EVERYTHING, HYBRID).candidates[0].id == "a.txt"
    (tmp_path / "none").mkdir()
    with pytest.raises(KnowledgeBaseError, match="holds no documents"):
        pipeline_of(tmp_path / "none", encoder, {}).ask("token", EVERYTHING, HYBRID)


def test_case_16_hostile_text_stays_text(tmp_path: Path, encoder: Encoder) -> None:
    hostile = "<img src=x onerror=alert(1)> ${1+1} {{value}} 数据出境"
    name = "<b onmouseover=alert(1)>a.txt"
    trace = pipeline_of(tmp_path, encoder, {name: hostile.encode()}).ask("数据出境", EVERYTHING, HYBRID)
    assert read_document(name, hostile.encode()).text == hostile
    assert to_json(trace)["candidates"][0]["id"] == name


def test_case_17_the_same_file_twice_and_one_that_is_nearly_the_same(
    tmp_path: Path, encoder: Encoder
) -> None:
    text = (
        "Providers of data assess the security of each export before it takes place, and report every year. "
        * 3
    )
    files = texts(
        a=text, b=text, c=text.replace("every year", "each year", 1), d="Bread needs flour, water and salt."
    )
    trace = pipeline_of(tmp_path, encoder, files).ask("security of data export", EVERYTHING, HYBRID)
    marked = {c["id"]: (c["duplicate_of"], c["near_duplicate_of"]) for c in to_json(trace)["candidates"]}
    leading = min("a.txt", "c.txt", key=list(marked).index)  # the one before marks the one behind
    assert marked["b.txt"] == ("a.txt", None)
    assert {i: marked[i][1] for i in ("a.txt", "c.txt")} == {
        leading: None,
        ({"a.txt", "c.txt"} - {leading}).pop(): leading,
    }
    assert marked["d.txt"] == (None, None)


def test_case_17_copies_fill_no_ranking(tmp_path: Path, encoder: Encoder) -> None:
    copied = "The security of a data export is assessed before it takes place."
    files = texts(
        **{f"copy{number}": copied for number in range(6)},
        flour="Data on flour and its export, by year.",
        water="Security of water, as data of a city show.",
    )
    pipeline, shown = (
        pipeline_of(tmp_path, encoder, files),
        SearchSettings(top_k=4, theta=-1, copies_last=True),
    )
    trace = pipeline.ask("security of data export", shown, HYBRID)
    assert {candidate.id for candidate in trace.candidates} == {
        "copy0.txt",
        "copy1.txt",
        "flour.txt",
        "water.txt",
    }
    (warning,) = trace.warnings
    assert warning.startswith("2 copies of candidates' texts give their places to other texts: ")
    assert warning.endswith(": copy2.txt (as copy0.txt), copy3.txt (as copy0.txt).")
    plain = pipeline.ask("security of data export", replace(shown, copies_last=False), HYBRID)
    assert [candidate.id for candidate in plain.candidates] == [f"copy{number}.txt" for number in range(4)]
    # where there is room, a copy is shown: ten places for eight documents
    everything = pipeline.ask("security of data export", replace(shown, top_k=10), HYBRID)
    assert len(everything.candidates) == 8
    assert everything.warnings == ()
    words, _ = explain_missing(pipeline, trace, "copy3.txt", HYBRID)
    assert (
        "missing because copy0.txt, which is a candidate, has the same text, and copies come in only" in words
    )


def test_case_18_a_reranker_that_is_off_gives_no_number(tmp_path: Path, encoder: Encoder) -> None:
    trace = pipeline_of(tmp_path, encoder, texts(a="token vectors")).ask("token", EVERYTHING, HYBRID)
    shown = to_json(trace)
    assert (shown["reranker"], shown["candidates"][0]["cross_encoder"]) == (None, None)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("test_view.py", "test_repetition_stands_beside_the_rank_and_warns_from_a_quarter_on"),  # 11
        ("test_view.py", "test_ties_are_marked"),  # 13
        ("test_view.py", "test_a_tiny_range_is_pointed_out"),  # 14
        ("test_view.py", "test_hostile_text_stays_text"),  # 16
        ("test_answer_page.py", "test_hostile_uploads_stay_text_and_foreign_ones_are_translated"),  # 16
        ("test_view.py", "test_copies_name_what_they_copy"),  # 17
        (
            "test_view_cross_encoder.py",
            "test_without_scores_the_method_is_not_offered_and_the_detail_says_not_computed",
        ),  # 18
    ],
)  # fmt: skip
def test_what_is_to_be_seen_on_a_page_is_tested_in_a_browser(file: str, name: str) -> None:
    source = (Path(__file__).parent / "browser" / file).read_text(encoding="utf-8")
    assert f"def {name}(" in source
