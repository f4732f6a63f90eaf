import json

import pytest
from documents.builders import SHARED, needs_shared
from hypothesis import given
from hypothesis import strategies as st

from causalviz.documents import why_unreadable

REAL = {
    "Chinese": "数据处理者向境外提供数据，应当通过所在地省级网信部门申报数据出境安全评估。",
    "English": "The quick brown fox jumps over the lazy dog.",
    "Czech": "Příliš žluťoučký kůň úpěl ďábelské ódy. ČSSR, ŠKODA, PŘÍKLAD.",
    "Polish": "Zażółć gęślą jaźń. ŁÓDŹ, Spółka Akcyjna, ul. Żwirki i Wigury.",
    "Korean": "개인정보의 처리 목적을 명확하게 하여야 한다. 1.5% 빅포인트 적립",
    "Japanese": "個人情報の取扱いについて、次のとおり定めます。カタカナ",
    "Vietnamese": "Cộng hòa xã hội chủ nghĩa Việt Nam, Độc lập",
    "Turkish": "İSTANBUL'da ığdır çığ öğle şişe",
    "Russian": "Съешь же ещё этих мягких французских булок",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता",
    "Arabic": "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق",
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกัน",
    "languages": "English 中文 العربية हिन्दी ไทย ქართული հայերեն ខ្មែរ አማርኛ",
    "code": "def loadModel_v2(x): return {'a': x**2, \"b\": [1, 2]}  # iPhone, McDonald, eBay\n\tif a != b:",
    "formula": "∑ᵢ λᵢ·⟨q, tᵢ⟩ ≥ √(mᵀGm), ∂f/∂x → ∞, α∈ℝⁿ, H₂O, 5×10⁻³",
    "table": "| 1 | 2.5 % | — |\n| 3 | 4.5 % | ✓ |",
    "bullets": "\uf0b7 one\n\uf0b7 two\n\uf0a7 three",
    "form": "☐ 是 ☑ 否 ________ ¥ 1,000.00",
    "emoji": "😀👍🏽👨\u200d👩\u200d👧 好的",
    "names": "Zoë, Māori, MacÉchern, d’Été",
    "nothing": "",
    "white space": " \n\t\r\n\f",
}


@pytest.mark.parametrize("text", REAL.values(), ids=REAL.keys())
def test_what_people_write_is_readable(text: str) -> None:
    assert why_unreadable(text) is None


def as_windows_reads(text: str) -> str:
    """Read UTF-8 as cp1252, the five bytes it leaves out as control characters."""
    return "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in text.encode())


GARBLED = {
    "glyph numbers": ("\x04\x05\x06\x07\x08\t", "control"),
    "shifted letters with control characters for blanks": ("7KLV\x03LV\x03WKH\x03WH[W", "control"),
    "wrong letters (Czech)": ("3HQČåQtSURVWĜHGN\\QD~þWHFK", "words no language has"),
    "wrong letters": ("ČãþĜåêitpċâýěäéÈËeċâýěäéÈËeČãþĜåêitp", "words no language has"),
    "scripts mixed in words": ("ጀᎠកᐁ ᎡኀខᐂᏀ ግᏁᐃៀᚠ ᎢជᐅሀⴀᏃ", "words no language has"),
    "private use": ("\ue001\ue002\ue003\ue004 \ue005\ue006\ue007", "private-use"),
    "replacement characters": ("��� ���ݳ���", "replacement"),
    "replacement characters read as GBK": ("锟斤拷锟斤拷锟斤拷", "replacement"),
    "UTF-8 read as cp1252": (as_windows_reads("“Größe” für Änderung: naïve"), "UTF-8"),
    "UTF-8 read as Latin-1": ("Příliš žluťoučký kůň".encode().decode("latin-1"), "control|UTF-8"),
    "unassigned": ("\u0378\u0379\u0380\u0381 \U0001fffe", "control"),
}


@pytest.mark.parametrize(("text", "reason"), GARBLED.values(), ids=GARBLED.keys())
def test_garbled_text_is_recognised_with_its_reason(text: str, reason: str) -> None:
    found = why_unreadable(text)
    assert found is not None
    assert any(part in found for part in reason.split("|"))


CHINESE = (
    "第一条 为了规范数据出境活动，保护个人信息权益，维护国家安全和社会公共利益，促进数据跨境安全、自由流动。"
)
JAPANESE = "個人情報の取扱いについて、次のとおり定めます。利用者の情報を適切に保護することは重要な責務です。"
TAIWANESE = "資料處理者向境外提供資料，應當通過所在地省級網信部門申報資料出境安全評估。"
KOREAN = "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다."
RUSSIAN = "Все люди рождаются свободными и равными в своем достоинстве и правах."


@pytest.mark.parametrize("errors", ["replace", "ignore"])  # what programs do with what they cannot decode
@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (CHINESE, "gb18030", "latin-1"),
        (CHINESE, "gb18030", "cp1252"),
        (CHINESE, "gb18030", "big5"),
        (CHINESE, "gb18030", "cp932"),
        (CHINESE, "gb18030", "utf-8"),
        (CHINESE, "gb18030", "cp1251"),
        (CHINESE, "utf-8", "gb18030"),
        (CHINESE, "utf-8", "gbk"),
        (CHINESE, "utf-8", "latin-1"),
        (CHINESE, "utf-8", "cp1252"),
        (CHINESE, "utf-8", "cp932"),
        (CHINESE, "utf-8", "cp437"),
        (TAIWANESE, "big5", "gbk"),
        (TAIWANESE, "big5", "latin-1"),
        (TAIWANESE, "utf-8", "gbk"),
        (JAPANESE, "cp932", "gbk"),
        (JAPANESE, "cp932", "cp1252"),
        (JAPANESE, "utf-8", "latin-1"),
        (JAPANESE, "utf-8", "cp932"),
        (JAPANESE, "utf-8", "gbk"),
        (KOREAN, "euc-kr", "gbk"),
        (KOREAN, "euc-kr", "latin-1"),
        (KOREAN, "utf-8", "cp1252"),
        (RUSSIAN, "cp1251", "latin-1"),
        (RUSSIAN, "utf-8", "cp1252"),
        (RUSSIAN, "utf-8", "gbk"),
        ("Größe für Änderungen: Übermäßig schöne Straßen führen über die Brücke.", "utf-8", "gbk"),
        ("Les élèves étaient très déçus à la fin de l'été, forêts brûlées, dîners gâchés.", "utf-8", "cp437"),
    ],
)
def test_text_decoded_wrongly_and_saved_is_recognised(text: str, right: str, wrong: str, errors: str) -> None:
    assert why_unreadable(text) is None
    assert why_unreadable((text * 3).encode(right).decode(wrong, errors=errors)) is not None


def test_the_reason_shows_what_the_text_should_have_been() -> None:
    reason = why_unreadable(CHINESE.encode("gbk").decode("latin-1"))
    assert reason == "it is GBK that was read as Western European and saved again ('µÚÒ»' for '第一条')"


def test_greek_letters_in_an_english_text_are_no_mistake() -> None:
    assert why_unreadable("Phosphorylation of PKCμ and NF-κB by IKKβ, TNF-α, IFN-γ and TGF-β. " * 20) is None


def test_a_few_odd_characters_do_not_condemn_a_text() -> None:
    assert (
        why_unreadable("描述团队的共同目标，有利于团队成员理解目标并朝着目标努力。\n\x83 知识库简介 \x07")
        is None
    )


@given(st.text())
def test_any_text_gets_a_verdict(text: str) -> None:
    reason = why_unreadable(text)
    assert reason is None or reason


@needs_shared
def test_all_real_texts_at_hand_are_readable() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (SHARED / "zh_law").glob("*/*.md")]
    for corpus in ("scifact", "cranfield", "asrc", "zh_stard"):
        lines = (SHARED / corpus / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
        texts += [json.loads(line)["text"] for line in lines[::40]]
    texts += [path.read_text(encoding="utf-8") for path in sorted((SHARED / "holisqa").rglob("*.md"))[:50]]
    assert len(texts) > 500
    assert [text[:80] for text in texts if why_unreadable(text)] == []
