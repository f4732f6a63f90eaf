"""Real files that break parsers. The right words were read off the rendered pages by eye, not from a parser."""

import pytest
from documents.builders import needs_shared, office

from causalviz.documents import read_document
from causalviz.errors import UnreadableFileError

pytestmark = needs_shared


@pytest.mark.parametrize(
    ("name", "title", "words"),
    [
        (
            "cid_embedded_cmap.pdf",
            "Heading in Helvetica",
            ["This text uses an embedded CMap", "and should be extractable"],
        ),
        (
            "cid_identity_cmap.pdf",
            "Wydruk pochodzi z systemu wFirma.pl wersja 21.2",
            ["Faktura nr FV 1/2021", "91-504 Łódź", "Wirtualna Polska Media Spółka Akcyjna", "ul. Żwirki i Wigury 16",
             "Testy Książę", "sto czterdzieści osiem złotych 83/100"],
        ),
        ("cid_onebyte_identity.pdf", "abc", ["abc"]),
        (
            "zh_toc_dot_leaders.pdf",
            "目录",
            ["关于红军作战的原则\n(一九三七年八月一日)\n对国防问题的意见\n", "中日战争爆发后的形势与任务\n",
             "对独立自主的山地游击战争的解释\n", "关于在山西开展游击战争的意见\n(一九三七年九月二十三日)"],
        ),
        ("zh_cid_gbkp_no_tounicode.pdf", "我们都是黑体字", ["我们都是黑体字"]),
        (
            "zh_slide.pdf",
            "可替换为所需图片。 愿景",
            ["123321", "描述团队的共同目标,有利于团队成员理解目标并朝着目标努力。",
             "知识库简介\n介绍知识库的主要内容、面向的群体。",
             "重点关注\n可以将需要关注的文档链接粘贴在这里,方便成员快速访问。"],
        ),
        (
            "ko_tables.pdf",
            "ko_tables",
            ["업종 적립 대상\n할인점 이마트, 이마트 트레이더스, 롯데마트, 홈플러스", "주유는 LPG충전소 포함",
             "편의점 CU, GS25, 세븐일레븐, 미니스톱"],
        ),
        ("vertical_writing.pdf", "Test", ["Test\nVertical\nLayout"]),
        ("invisible_text_layer.pdf", "Visible heading line", ["Visible heading line\nInvisible OCR text layer"]),
        (
            "encrypted_tika_protected.pdf",
            "RETHINKING THE FINANCIAL NETWORK",
            ["On 16 November 2002, the first official case of Severe Acute Respiratory Syndrome\n(SARS) was recorded",
             "Andrew G Haldane"],
        ),
        (
            "multi_column.pdf",
            "Dense Passage Retrieval for Open-Domain Question Answering",
            ["Open-domain question answering relies on efficient passage retrieval to select candidate",
             "retrieval can be practically implemented using dense representations alone, where embeddings are learned",
             "our\ndense retriever outperforms a strong Lucene-BM25 system"],
        ),
        (
            "various.docx",
            "Here is a text box",
            ["Footnote appears here", "Row 1 Col 1\tRow 1 Col 2\tRow 1 Col 3\nRow 2 Col 1\tRow 2 Col 2\tRow 2 Col 3",
             "ゾルゲと尾崎、淡々と最期", "𐌲𐌿𐍄𐌹𐍃𐌺", "This is a hyperlink"],
        ),
        (
            "tables.docx",
            "Test with tables",
            ["Header 0.0\tHeader 0.1\tHeader 0.2\nCell 1.0\tCell 1.1\tCell 1.2\nCell 2.0\tCell 2.1\tCell 2.2",
             "Cell 1.0\tMerged Cell 1.1 1.2\n"],
        ),
        ("numbered_headings.docx", "Test Document", ["Section 1\n\nParagraph 1.1", "Environmental Constraints"]),
        ("header_footer.docx", "Main document", ["Main document"]),
        (
            "various.doc",
            "Footnote appears here",
            ["Footnote appears here\n", "Bullet 3\nHere is a numbered list:", "This is a hyperlink",
             "Row 1 Col 1\tRow 1 Col 2\tRow 1 Col 3\nRow 2 Col 1\tRow 2 Col 2\tRow 2 Col 3\n",
             "ゾルゲと尾崎、淡々と最期\n(GHQ)", "𐌲𐌿𐍄𐌹𐍃𐌺", "Figure 1 This is a caption for Figure 1",
             "This is a footnote.", "Here is a text box"],
        ),
        (
            "legacy_sample.doc",
            "Summer activities",
            ["Figure 1: This is a cute duckling\n", "Hmm, what else...\nLet’s eat",
             "Food\tCalories per portion\nLeaves\tAsh, Elm, Maple\t50\nBerries\tBlueberry, Strawberry, Cranberry\t150",
             "Leaves\nBerries\nGrain"],
        ),
        (
            "sample.pptx",
            "Test Table Slide",
            ["Class1\tClass2\n", "A merged with B\tC\tA\tB\tC\nR1\tTrue\tFalse\tFalse\tTrue\tTrue", "With footnote",
             "Let’s introduce a list\nWith foo\nBar\nAnd baz things", "A rectangle shape with this text inside.",
             "Some notes on the second slide.", "Final notes on the third slide.\nSecond line of notes."],
        ),
        ("malformed.pptx", "Test Slide", ["Test Slide\nProblem Date Placeholder"]),
        (
            "sample.xlsx",
            "Alpha Beta Gamma Delta",
            ["Alpha\tBeta\tGamma\tDelta\n89\t82\t100\t12\n", "58\t6ff4173b-42a5-4784-9b19-f49caff4d93d\t22\t9",
             "ColA\tColB\tColC\tColD\n1\t2\t3\t4\n", "13\t14\t15\taffc7dad-52dc-4b98-9b5d-51e65d8a8ad0"],
        ),
        (
            "sample.xls",
            "Alpha Beta Gamma Delta",
            ["Alpha\tBeta\tGamma\tDelta\n89\t82\t100\t12\n", "58\t6ff4173b-42a5-4784-9b19-f49caff4d93d\t22\t9",
             "ColA\tColB\tColC\tColD\n1\t2\t3\t4\n", "13\t14\t15\taffc7dad-52dc-4b98-9b5d-51e65d8a8ad0"],
        ),
        (
            "sample.rtf",
            "This is a Sample RTF File",
            ["This is a Sample RTF File\n\nIt is included to test if", "plugin can correctly convert RTF files."],
        ),
        (
            "sample.epub",
            "Test EPUB Document",
            ["This is a test paragraph with some formatting.", "A bullet point\n\nAnother point",
             "This is a blockquote for testing."],
        ),
        (
            "tika.epub",
            "An ePub for Tika",
            ["This is the text for chapter One", "Plus a simple div,\nand a span", "Subchapter 2.2",
             "Table header\tTable data"],
        ),
        (
            "mskanji_cp932.csv",
            "名前 年齢 住所",
            ["名前\t年齢\t住所\n佐藤太郎\t30\t東京\n三木英子\t25\t大阪\n髙橋淳\t35\t名古屋"],
        ),
        (
            "derived_zh_law_gb18030.txt",
            "数据出境安全评估办法",
            ["(2022年7月7日国家互联网信息办公室令第11号公布,自2022年9月1日起施行)",
             "第一条 为了规范数据出境活动,保护个人信息权益"],
        ),
        ("utf16le.txt", "This is a test document to use for unit tests.", ["- I love fuzzy blankets"]),
        ("utf16be_nobom.txt", "This is a test document to use for unit tests.", ["- Hamburgers are delicious"]),
        (
            "utf16.html",
            "SNB22-3 - SteelJIS - Datasheet, Chemical composition, Standards and Properties",
            ["JIS G 4108 : Alloy steel bars for special application bolting materials", "Grade :\tSNB22-3"],
        ),
        (
            "blog.html",
            "Does Model and Inference Parameter Matter in LLM Applications? - A Case Study for MATH | AutoGen",
            ["the baseline accuracy of untuned gpt-4 can be improved by 20% in high school math competition problems",
             "April 21, 2023 · 6 min read"],
        ),
    ],
)  # fmt: skip
def test_the_words_a_person_sees(name: str, title: str, words: list[str]) -> None:
    document = read_document(name, office(name))
    assert document.title == title
    assert [passage for passage in words if passage not in document.text] == []
    assert "\ufffd" not in document.text


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("derived_zh_law_gb18030.txt", "gb18030"),
        ("utf16le.txt", "utf-16-le"),
        ("utf16be_nobom.txt", "utf-16-be"),
        ("utf16.html", "utf-16-le"),
        ("blog.html", "utf-8"),
        ("mskanji_cp932.csv", "cp932"),
    ],
)
def test_the_encoding_is_named(name: str, encoding: str) -> None:
    assert read_document(name, office(name)).encoding == encoding


@pytest.mark.parametrize(
    ("name", "suffix", "reason"),
    [
        ("scan_ocr_test.pdf", "", "no readable text (scanned?)"),
        ("scan_rotated_90.pdf", "", "no readable text (scanned?)"),
        ("scan_medical_report.pdf", "", "no readable text (scanned?)"),
        (
            "corrupt_malformed_932.pdf",
            "",
            "no readable text (scanned?) was found, only '2021 3 31' over page images",
        ),
        ("cid_identity_no_tounicode_garbled.pdf", "", "unreadable text"),
        ("cid_identity_no_tounicode_mojibake.pdf", "", "unreadable text"),
        ("cid_non_unicode_cmap.pdf", "", "unreadable text"),
        ("encrypted_r6_user.pdf", "", "password-protected"),
        ("encrypted_rc4_40.pdf", "", "password-protected"),
        ("encrypted_passtika.docx", "", "password-protected"),
        ("corrupt_truncated.docx", "", "damaged or cut-off"),
        ("empty_document.docx", "", "no text"),
        ("empty_0_bytes.txt", "", "0 bytes"),
        ("whitespace_only.txt", "", "no text"),
        ("encrypted.xlsx", "", "password-protected"),
        ("encrypted_passtika.pptx", "", "password-protected"),
        ("encrypted_passtika.doc", "", "password-protected"),
        ("encrypted.xlsx", ".docx", "password-protected"),
        ("sample.pptx", ".docx", "a PowerPoint file"),
        ("sample.xlsx", ".docx", "an Excel file"),
        ("sample.xls", ".txt", "an old Excel file (.xls)"),
        ("sample.epub", ".docx", "an EPUB book"),
        ("sample.rtf", ".txt", "a Rich Text file"),
        ("random.bin", "", "'.bin' are not read"),
        ("random.bin", ".txt", ""),
        ("random.bin", ".pdf", "damaged or cut-off"),
        ("random.bin", ".docx", "damaged or cut-off"),
        ("various.docx", ".pdf", "a Word document was found in a file named .pdf"),
        ("abc.pdf", ".txt", "a PDF was found in a file named .txt"),
    ],
)
def test_what_holds_no_readable_text_is_refused_with_the_reason(name: str, suffix: str, reason: str) -> None:
    data = office("cid_onebyte_identity.pdf" if name == "abc.pdf" else name)
    with pytest.raises(UnreadableFileError) as caught:
        read_document(name + suffix, data)
    assert reason in str(caught.value)
