"""Settings: the environment first, then what the Models page kept, then the defaults."""

import json
import logging
from pathlib import Path

import pytest

from causalviz.bootstrap import make_encoder
from causalviz.choices import DAMAGED, FILE, Choices, read_choices, write_choices
from causalviz.errors import MissingBackendError, ParameterError
from causalviz.settings import Settings

CHOSEN = Choices(
    encoder="st:chosen",
    openai_url="http://chosen/v1",
    query_instruction="find: ",
    passage_instruction="text: ",
    reranker="cross:chosen",
    chat_model="chosen",
    chat_url="http://chosen/v1",
)
VARIABLES = (
    "ENCODER",
    "OPENAI_URL",
    "QUERY_INSTRUCTION",
    "PASSAGE_INSTRUCTION",
    "RERANKER",
    "CHAT_MODEL",
    "CHAT_URL",
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in VARIABLES:
        monkeypatch.delenv(f"CAUSALVIZ_{name}", raising=False)
    monkeypatch.setenv("CAUSALVIZ_HOME", str(tmp_path))
    return tmp_path


def models(settings: Settings) -> Choices:
    return Choices(
        encoder=settings.encoder,
        openai_url=settings.openai_url,
        query_instruction=settings.query_instruction,
        passage_instruction=settings.passage_instruction,
        reranker=settings.reranker,
        chat_model=settings.chat_model,
        chat_url=settings.chat_url,
    )


def test_what_is_kept_comes_back_and_nothing_else_is_left_in_the_folder(home: Path) -> None:
    write_choices(home, Choices())
    write_choices(home, CHOSEN)
    assert read_choices(home) == (CHOSEN, "")
    assert [path.name for path in home.iterdir()] == [FILE]


def test_the_app_takes_every_choice_and_a_command_the_encoder_alone(home: Path) -> None:
    write_choices(home, CHOSEN)
    assert models(Settings.of(app=True)) == CHOSEN
    command = Settings.of()
    assert (command.encoder, command.query_instruction) == ("st:chosen", "find: ")
    assert (command.reranker, command.chat_model, command.chat_url) == ("", "", "")


def test_without_a_file_the_defaults_hold(home: Path) -> None:
    assert models(Settings.of(app=True)) == Choices(encoder="e5-small")
    assert Settings.of().remark == ""
    assert list(home.iterdir()) == []


def test_a_mapping_stands_alone(home: Path) -> None:
    write_choices(home, CHOSEN)
    assert Settings.of({"CAUSALVIZ_HOME": str(home)}, app=True).encoder == "e5-small"
    assert Settings.of_environment().encoder == "e5-small"


def test_the_environment_wins_over_the_file_and_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_choices(home, CHOSEN)
    monkeypatch.setenv("CAUSALVIZ_ENCODER", "bge-m3")
    monkeypatch.setenv("CAUSALVIZ_CHAT_MODEL", "mine")
    found = Settings.of(app=True)
    # the address and the instructions were chosen for another encoder, the server for another model
    assert models(found) == Choices(encoder="bge-m3", reranker="cross:chosen", chat_model="mine")
    assert found.fixed == {"CAUSALVIZ_ENCODER", "CAUSALVIZ_CHAT_MODEL"}


def test_an_empty_variable_is_as_good_as_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_choices(home, CHOSEN)
    for name in VARIABLES:
        monkeypatch.setenv(f"CAUSALVIZ_{name}", "")
    found = Settings.of(app=True)
    assert models(found) == CHOSEN
    assert found.fixed == frozenset()


def test_an_encoder_named_on_the_command_line_takes_no_instruction_chosen_for_another(home: Path) -> None:
    write_choices(home, Choices(encoder="openai:chosen", openai_url="http://127.0.0.1:9/v1"))
    with pytest.raises(ParameterError, match="needs the address of a server; set CAUSALVIZ_OPENAI_URL"):
        make_encoder("openai:named")


def test_an_encoder_chosen_on_the_page_holds_for_the_command_line(home: Path) -> None:
    write_choices(home, Choices(encoder=f"bge-m3:{home}"))
    with pytest.raises(MissingBackendError, match="the weights of encoder 'bge-m3' cannot be loaded"):
        make_encoder(Settings.of().encoder)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is no JSON"),
        (b"{", "it is no JSON"),
        (b"\xff\xfe\x00", "it is no JSON"),
        (b"[" * 60_000, "it is no JSON"),
        (b"[]", "it is not of version 1"),
        (b'{"version": 2, "encoder": "st:new"}', "it is not of version 1"),
        (b'{"version": 1, "colour": "red"}', "it holds 'colour', which this release does not know"),
        (b'{"version": 1, "encoder": 7}', "its 'encoder' is no text"),
        (b'{"version": 1, "encoder": null}', "its 'encoder' is no text"),
    ],
)
def test_a_damaged_or_unknown_file_is_named_and_put_aside(
    home: Path, caplog: pytest.LogCaptureFixture, content: bytes, why: str
) -> None:
    (home / FILE).write_bytes(content)
    with caplog.at_level(logging.WARNING):
        found = Settings.of(app=True)
    assert found.encoder == "e5-small"
    assert f"cannot be read ({why}), so the defaults are used; it is kept beside as {DAMAGED}" in found.remark
    assert found.remark in caplog.text
    assert (home / DAMAGED).read_bytes() == content
    assert not (home / FILE).exists()
    # the next choice is kept, and what was put aside stays
    write_choices(home, CHOSEN)
    assert Settings.of().remark == ""
    assert (home / DAMAGED).read_bytes() == content


def test_a_folder_in_the_place_of_the_file_is_named(home: Path) -> None:
    (home / FILE).mkdir()
    assert "cannot be read (Is a directory)" in Settings.of().remark


def test_a_home_that_cannot_be_written_is_named(home: Path) -> None:
    (home / "file").write_text("")
    with pytest.raises(ParameterError, match="holds until the app ends, but cannot be kept"):
        write_choices(home / "file", CHOSEN)


def test_no_secret_has_a_place_in_the_file(home: Path) -> None:
    write_choices(home, CHOSEN)
    assert not any("key" in name for name in json.loads((home / FILE).read_text()))


@pytest.mark.parametrize(("value", "allowed"), [("1", True), ("yes", True), ("", False), ("0", False)])
def test_changes_of_models_in_shared_use_are_allowed_by_a_variable(value: str, allowed: bool) -> None:
    assert Settings.of({"CAUSALVIZ_ALLOW_MODEL_CHANGES": value}).allow_model_changes is allowed
