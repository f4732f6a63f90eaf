"""Addresses that may be shown, and what a server tells."""

import pytest

from causalviz.backends.servers import TOLD, host_of, told
from causalviz.errors import ParameterError


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://127.0.0.1:8000/v1", "127.0.0.1:8000"),
        ("https://models.example/v1", "models.example"),
        ("http://[::1]:8000/v1", "::1:8000"),
    ],
)
def test_an_address_is_named_by_host_and_port(url: str, host: str) -> None:
    assert host_of(url, "THE_VARIABLE") == host


@pytest.mark.parametrize(
    "url",
    [
        "http://user:hunter2@models.example/v1",
        "ftp://user:hunter2@models.example/v1",
        "user:hunter2@models.example",
        "http://user:hunter2@models.example:99999999/v1",
        "https://models.example/v1?key=hunter2",
    ],
)
def test_a_secret_in_an_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ParameterError, match="THE_VARIABLE") as caught:
        host_of(url, "THE_VARIABLE")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "models.example", "http://", "file:///etc/passwd"])
def test_what_is_no_address_says_what_was_expected(url: str) -> None:
    with pytest.raises(ParameterError, match="but an address such as"):
        host_of(url, "THE_VARIABLE")


def test_what_a_server_tells_is_one_short_line_without_the_key() -> None:
    assert told({"message": " no\n such  model. "}, "") == ": no such model"
    assert told({"message": "the key sk-1 is not known"}, "sk-1") == ": the key *** is not known"
    assert len(told({"message": "a" * 999}, "sk-1")) == TOLD
    assert [told(body, "sk-1") for body in (None, "text", {}, {"message": 3}, {"message": " "})] == [""] * 5
