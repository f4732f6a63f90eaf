"""Who may come in: logins, names and places, without a server."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Scope

from causalviz.errors import ParameterError
from causalviz.settings import Settings
from causalviz.ui.present import without_places
from causalviz.ui.serving import Accounts, login_line
from causalviz.ui.serving.clients import Names, address_of, bare, is_foreign, without_forwarded

PASSWORD = "four words of yours"  # noqa: S105 - of nobody


def scope(client: str = "192.0.2.1", **headers: str) -> Scope:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "method": "POST", "client": (client, 1), "headers": pairs}


def test_a_login_opens_with_its_own_password_alone(tmp_path: Path) -> None:
    file = tmp_path / "logins"
    lines = [login_line("ann", PASSWORD), "", "# staff", login_line("王小明", PASSWORD + "\ud800")]
    file.write_text("\n".join(lines), encoding="utf-8")
    accounts = Accounts.read(file)
    tried = {
        (name, password): accounts.accepts(name, password)
        for name, password in [
            ("ann", PASSWORD), ("ann", PASSWORD + " "), ("王小明", PASSWORD + "\ud800"), ("eve", PASSWORD),
        ]
    }  # fmt: skip
    assert list(tried.values()) == [True, False, True, False]


def test_a_line_of_the_file_says_nothing_of_the_password_and_is_never_the_same() -> None:
    first, second = login_line("ann", PASSWORD), login_line("ann", PASSWORD)
    assert first != second
    assert PASSWORD not in first


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a" * 65, "a\nb"])
def test_a_login_is_one_word(name: str) -> None:
    with pytest.raises(ParameterError, match="cannot be a login"):
        login_line(name, PASSWORD)


def test_a_short_password_is_refused_without_being_repeated() -> None:
    with pytest.raises(ParameterError, match="has 5 characters") as error:
        login_line("ann", "abcde")
    assert "abcde" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "holds nobody"),
        ("# nobody yet\n", "holds nobody"),
        ("\nann:secret\n", "line 2"),
        ("ann:scrypt:AAAA:AAAA\n", "line 1"),
        ("ann:scrypt:not base64!:AAAA\n", "line 1"),
        ("ann:md5:c2VjcmV0:c2VjcmV0\n", "line 1"),
    ],
)
def test_a_broken_file_of_logins_is_named_by_its_line_and_not_repeated(
    tmp_path: Path, text: str, found: str
) -> None:
    (tmp_path / "logins").write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError, match=found) as error:
        Accounts.read(tmp_path / "logins")
    assert "secret" not in str(error.value).replace(str(tmp_path), "")
    assert "c2VjcmV0" not in str(error.value)


def test_a_person_is_named_once(tmp_path: Path) -> None:
    line = login_line("ann", PASSWORD)
    (tmp_path / "logins").write_text(f"{line}\n{line}\n", encoding="utf-8")
    with pytest.raises(ParameterError, match=r"line 2 of .* for the second time"):
        Accounts.read(tmp_path / "logins")
    with pytest.raises(ParameterError, match="cannot be read"):
        Accounts.read(tmp_path / "none")


@pytest.mark.parametrize(
    ("host", "given", "answered", "refused"),
    [
        ("127.0.0.1", "", ["localhost", "127.0.0.1", "::1"], ["10.0.0.1", "app.example.org", ""]),
        ("127.0.0.1", "app.example.org", ["localhost", "app.example.org"], ["example.org", "10.0.0.1"]),
        ("0.0.0.0", "", ["10.0.0.1", "2001:db8::1", "localhost"], ["app.example.org"]),  # noqa: S104 - an example
        ("0.0.0.0", "*.example.org", ["a.example.org"], ["example.org", "a.example.org.evil", "10.0.0.1"]),  # noqa: S104 - an example
    ],
)
def test_names_that_are_answered_to(host: str, given: str, answered: list[str], refused: list[str]) -> None:
    names = Names(Settings.of({"CAUSALVIZ_HOST": host, "CAUSALVIZ_HOSTS": given}))
    assert [name for name in answered + refused if names.answers_to(name)] == answered


@pytest.mark.parametrize(
    ("host", "name"),
    [("a:1", "a"), ("[::1]:80", "::1"), ("[::1]", "::1"), ("a", "a"), ("[", ""), ("a@b", "b"), ("", "")],
)
def test_the_name_in_a_host(host: str, name: str) -> None:
    assert bare(host) == name


@pytest.mark.parametrize(
    ("headers", "foreign"),
    [
        ({"host": "a:1"}, False),
        ({"host": "a:1", "origin": "http://a:1"}, False),
        ({"host": "a:1", "origin": "http://a:2"}, True),
        ({"host": "a", "origin": "https://a"}, False),
        ({"host": "a", "origin": "https://a.evil"}, True),
        ({"host": "127.0.0.1:7860", "x_forwarded_host": "a", "origin": "https://a"}, False),
        ({"host": "a", "origin": "null"}, True),
        ({"host": "a", "origin": "http://["}, True),
        ({"host": "a", "sec_fetch_site": "same-origin"}, False),
        ({"host": "a", "sec_fetch_site": "cross-site"}, True),
    ],
)
def test_whose_page_asks(headers: dict[str, str], foreign: bool) -> None:
    assert is_foreign(scope(**headers)) is foreign


def test_what_a_proxy_says_is_left_out_but_not_that_there_is_one() -> None:
    said = scope(
        host="a", x_forwarded_host="evil", x_forwarded_for="192.0.2.9", x_gradio_server="http://evil"
    )
    assert [name for name, _ in without_forwarded(said, trusted=False)["headers"]] == [b"host", b"via"]
    assert [name for name, _ in without_forwarded(said, trusted=True)["headers"]] == [
        b"host", b"x-forwarded-host", b"x-forwarded-for", b"via",
    ]  # fmt: skip
    assert without_forwarded(scope(host="a"), trusted=False) == scope(host="a")


def test_a_household_is_one_client() -> None:
    assert address_of(scope("2001:db8:0:1::5")) == address_of(scope("2001:db8:0:1:ffff::9"))
    assert address_of(scope("2001:db8:0:1::5")) != address_of(scope("2001:db8:0:2::5"))
    assert address_of(scope("192.0.2.1")) == "192.0.2.1"


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("'/home/x/.local/foo.kb' is in use; wait.", "'foo' is in use; wait."),
        (
            "the knowledge base '/a b/it's.kb' is damaged (x); do.",
            "the knowledge base 'it's' is damaged (x); do.",
        ),
        (r"'C:\Users\x\foo.kb' is a folder", "'foo' is a folder"),
        ("make one with `index FOLDER --kb '/a/b.kb'`.", "make one with `index FOLDER --kb 'b'`."),
        ("'/a/one.txt' and '/b/two.txt'", "'one.txt' and 'two.txt'"),
        ("the file 'a/b.txt' is empty", "the file 'a/b.txt' is empty"),
    ],
)
def test_an_error_names_a_file_without_its_place(sentence: str, shown: str) -> None:
    assert without_places(sentence) == shown


@given(st.lists(st.text("ab .", min_size=1), min_size=1), st.sampled_from([";", ",", ".", " ", ")"]))
def test_no_folder_is_left_in_an_error(folders: list[str], after: str) -> None:
    place = "/" + "/".join(f"secret{folder}" for folder in folders)
    assert without_places(f"the file '{place}/name.txt'{after} x") == f"the file 'name.txt'{after} x"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("CAUSALVIZ_QUERY_RATE", "0"),
        ("CAUSALVIZ_MAX_QUEUE", "many"),
        ("CAUSALVIZ_ROOT_PATH", "causalviz"),
        ("CAUSALVIZ_TRUST_PROXY", "proxy.local"),
        ("CAUSALVIZ_TRUST_PROXY", "127.0.0.1,"),
    ],
)
def test_what_cannot_be_set_is_named(variable: str, value: str) -> None:
    with pytest.raises(ParameterError, match=variable):
        Settings.of({variable: value})


def test_what_is_set_is_read() -> None:
    serving = Settings.of(
        {
            "CAUSALVIZ_HOSTS": "A.example.org, b",
            "CAUSALVIZ_ROOT_PATH": "/x/",
            "CAUSALVIZ_TRUST_PROXY": "10.0.0.0/8, ::1",
            "CAUSALVIZ_MAX_REQUEST_MB": "0.5",
            "CAUSALVIZ_FRAME_ANCESTORS": "https://a  https://b",
        }
    ).serving
    assert serving.hosts == ("a.example.org", "b")
    assert (serving.root_path, serving.trust_proxy) == ("/x", "10.0.0.0/8,::1")
    assert (serving.request_bytes, serving.frame_ancestors) == (500_000, "https://a https://b")
