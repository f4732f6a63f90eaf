import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalviz.documents.encodings import decode, decode_as, is_surely_utf8
from causalviz.errors import UnreadableFileError

SIMPLIFIED = "数据处理者向境外提供数据，应当申报安全评估。"
TRADITIONAL = "個人資料之蒐集、處理及利用，應尊重當事人之權益。"
JAPANESE = "個人情報の取扱いについて、次のとおり定めます。"
KOREAN = "개인정보의 처리 목적을 명확하게 하여야 한다."


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        (SIMPLIFIED, "utf-8", "utf-8"),
        (SIMPLIFIED, "gbk", "gb18030"),
        (SIMPLIFIED, "gb2312", "gb18030"),
        ("评估办法", "gbk", "gb18030"),  # a title: charset-normalizer says cp949
        ("GB18030 生僻字：㐀𠀀𪚥，扩展区。\r\n第二行：数据出境", "gb18030", "gb18030"),  # four bytes each
        (TRADITIONAL, "big5", "big5hkscs"),
        ("資料保護", "big5", "big5hkscs"),
        (JAPANESE, "cp932", "cp932"),
        ("名前,年齢,住所", "cp932", "cp932"),
        (JAPANESE, "euc_jp", "euc_jp"),
        (KOREAN, "cp949", "cp949"),
        ("Überprüfung der Größe für Änderungen", "cp1252", "cp1252"),
        ("Le résumé de la thèse a été envoyé à l’été", "cp1252", "cp1252"),
        ("El niño comió piña: ¿mañana también?", "cp1252", "cp1252"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy, řekl učitel dějepisu.", "cp1250", "cp1250"),
        ("Съешь же ещё этих мягких французских булок, да выпей чаю.", "cp1251", "cp1251"),
    ],
)
def test_text_is_decoded_right_and_its_encoding_named(text: str, encoding: str, name: str) -> None:
    decoded = decode(text.encode(encoding))
    assert decoded.text == text
    assert decoded.encoding == name


@pytest.mark.parametrize(
    "text",
    ["plain ASCII\nof two lines", SIMPLIFIED, "一、总则", "第1条\n数据", "Grüße", "привет, мир", KOREAN],
)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("mark", [True, False])
def test_wide_encodings_are_known_with_and_without_mark(text: str, encoding: str, mark: bool) -> None:
    if not mark and text == KOREAN and encoding.startswith("utf-16"):
        text += (
            "\n2026"  # without any ASCII or NUL byte, only Chinese is told apart from the legacy encodings
        )
    decoded = decode((("\ufeff" if mark else "") + text).encode(encoding))
    assert decoded.text == text
    assert decoded.encoding == encoding


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(codecs.BOM_UTF8, "utf-8"), (b"\x84\x31\x95\x33", "gb18030")],
)
def test_a_byte_order_mark_is_obeyed_and_dropped(mark: bytes, encoding: str) -> None:
    decoded = decode(mark + SIMPLIFIED.encode(encoding))
    assert (decoded.text, decoded.encoding) == (SIMPLIFIED, encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_a_file_cut_off_within_a_character_loses_only_that_one(encoding: str) -> None:
    decoded = decode(SIMPLIFIED.encode(encoding)[:-1])
    assert decoded.text == SIMPLIFIED[:-1]
    assert decoded.encoding == encoding
    assert decoded.warnings


def test_a_damaged_utf8_file_is_not_taken_for_another_encoding() -> None:
    decoded = decode("“Quoted” text ".encode() + b"\xff" + b" and the rest")
    assert decoded.text == "“Quoted” text  and the rest"
    assert decoded.encoding == "utf-8"
    assert len(decoded.warnings) == 1


def test_replacement_characters_that_were_saved_before_are_dropped_and_told() -> None:
    decoded = decode("数据出境\ufffd安全".encode())
    assert decoded.text == "数据出境安全"
    assert decoded.warnings


def test_a_stray_nul_byte_does_not_make_a_text_utf16() -> None:
    decoded = decode("some text,\0 and 数据".encode())
    assert decoded.text == "some text,\0 and 数据"
    assert decoded.encoding == "utf-8"


def test_a_guess_is_called_one() -> None:
    assert "guess" in decode("Příliš žluťoučký kůň úpěl ďábelské ódy.".encode("cp1250")).warnings[-1]


@given(st.binary(max_size=400))
def test_any_bytes_give_text_without_replacement_characters_or_a_named_error(data: bytes) -> None:
    try:
        decoded = decode(data)
    except UnreadableFileError:
        return
    assert "\ufffd" not in decoded.text
    assert decoded.text.encode("utf-8") or not decoded.text  # no half of a surrogate pair
    assert codecs.lookup(decoded.encoding)


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffd\ufeff"), max_size=60)
)
def test_utf8_always_comes_back(text: str) -> None:
    assert decode(text.encode()).text == text


def test_binary_data_is_refused() -> None:
    with pytest.raises(UnreadableFileError, match="binary"):
        decode(bytes(range(256)) * 4)


def test_a_given_codec_never_leaves_replacement_characters() -> None:
    decoded = decode_as(b"\xb0\xa1\xff\xb0\xa2", "gb18030")
    assert decoded.text == "啊阿"
    assert "(1 times)" in decoded.warnings[0]


@pytest.mark.parametrize(
    ("data", "sure"),
    [
        (SIMPLIFIED.encode(), True),
        (SIMPLIFIED.encode("gbk"), False),
        ("café".encode(), False),
        (b"ascii", False),
    ],
)
def test_utf8_is_sure_only_with_several_three_byte_characters(data: bytes, sure: bool) -> None:
    assert is_surely_utf8(data) is sure
