import json

import pytest
from documents.builders import SHARED, needs_shared
from hypothesis import given
from hypothesis import strategies as st

from causalviz.documents import language_of

# Mostly the first article of the Universal Declaration of Human Rights.
SENTENCES = {
    "Chinese": "人人生而自由，在尊严和权利上一律平等。",
    "English": "All human beings are born free and equal in dignity and rights.",
    "Japanese": "すべての人間は、生まれながらにして自由であり、平等である。",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 존엄과 권리에 있어 동등하다.",
    "German": "Alle Menschen sind frei und gleich an Würde und Rechten geboren.",
    "French": "Tous les êtres humains naissent libres et égaux en dignité et en droits.",
    "Spanish": "Todos los seres humanos nacen libres e iguales en dignidad y derechos.",
    "Portuguese": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos.",
    "Italian": "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti.",
    "Czech": "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv.",
    "Polish": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności.",
    "Russian": "Все люди рождаются свободными и равными в своем достоинстве и правах.",
    "Ukrainian": "Всі люди народжуються вільними і рівними у своїй гідності та правах.",
    "Arabic": "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता",
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกัน",
    "Vietnamese": "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm.",
    "Turkish": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar.",
}


@pytest.mark.parametrize(("language", "text"), SENTENCES.items())
def test_languages_are_named_in_english(language: str, text: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("資料處理者向境外提供資料，應當申報安全評估。", "Chinese"),  # traditional characters
        ("本文提出 late interaction 方法,在 MS MARCO 上效果优于 BM25 等基线模型。", "Chinese"),
        ("The term 辨证论治 (syndrome differentiation) is used in traditional Chinese medicine.", "English"),
        ("书名《ノルウェイの森》由林少华译成中文，讲述了主人公渡边的往事，在读者中影响很大。", "Chinese"),
    ],
)
def test_what_most_of_the_text_is_in_counts(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "PPR-9087",
        "数据出境",
        "1 2.5 3 4 1,000.00 2026-01-01",
        "| 1 | 2.5 % | — |\n| 3 | 4.5 % | ✓ |",
        '{"a": [1, 2, 3], "name": "x", "value": null, "items": [{"id": 7}]}',
        "for (let i = 0; i < n; i++) { sum += weights[i] * values[i]; } return sum;",
        "def load(x):\n    return x + 1\n\nimport numpy as np\nfor i in range(10):\n    print(load(i))",
        "😀👍🏽👨\u200d👩\u200d👧" * 20,
    ],
)
def test_code_numbers_and_what_is_too_short_have_none(text: str) -> None:
    assert language_of(text) is None


@given(st.text())
def test_any_text_gets_an_answer(text: str) -> None:
    assert language_of(text) != ""


def test_of_a_long_text_beginning_middle_and_end_are_looked_at() -> None:
    table = "1 2.5 3 4 1,000.00\n" * 150
    assert language_of(table + SENTENCES["German"] * 10_000) == "German"


@needs_shared
def test_real_documents_are_in_the_language_they_are_in() -> None:
    laws = [path.read_text(encoding="utf-8") for path in sorted((SHARED / "zh_law").glob("*/*.md"))[::5]]
    assert {language_of(law) for law in laws} == {"Chinese"}
    for corpus, language in (("zh_stard", "Chinese"), ("scifact", "English")):
        lines = (SHARED / corpus / "corpus.jsonl").read_text(encoding="utf-8").splitlines()[::100]
        told = [language_of(json.loads(line)["text"]) for line in lines]
        assert told.count(language) >= 0.98 * len(told)
