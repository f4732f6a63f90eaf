"""Chat models: a server that speaks the protocol, well and badly, and a tiny model of Qwen3's architecture."""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from backends.chat_http import KEY, Server, reply_to, serving
from fakes import silent
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from causalviz.backends.chat_local import LocalChat
from causalviz.backends.chat_server import ServerChat
from causalviz.bootstrap import make_chat
from causalviz.errors import BackendError, MissingBackendError, ParameterError, StoppedError
from causalviz.protocols import ChatModel
from causalviz.settings import Settings

PROMPT = "----- source 1, mark 00 -----\nTitle: t\n数据出境需要评估。 Late interaction.\n"
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['content'] }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>{% if enable_thinking is defined and not enable_thinking %}x{% endif %}"
    "{% endif %}"
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Serve as long as this file is tested."""
    with serving() as running:
        yield running


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client's own retries follow at once."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.02)


def said(chat: ChatModel, prompt: str = PROMPT, limit: int = 100) -> str:
    pieces: list[str] = []
    chat.reply(prompt, limit, pieces.append)
    return "".join(pieces)


def test_a_server_streams_its_reply(server: Server) -> None:
    chat = ServerChat(server.url, "good", KEY)
    pieces: list[str] = []
    assert chat.reply(PROMPT, 77, pieces.append) == "complete"
    assert "".join(pieces) == reply_to(PROMPT)
    assert len(pieces) > 2
    request = server.requests[-1]
    assert request["messages"] == [{"role": "user", "content": PROMPT}]
    assert (request["max_tokens"], request["temperature"], request["stream"]) == (77, 0, True)
    assert server.keys[-1] == f"Bearer {KEY}"
    assert chat.name == f"good at 127.0.0.1:{server.server_port}"
    assert chat.count_tokens("数据ab") == 3


def test_a_reply_at_its_limit_says_so(server: Server) -> None:
    assert ServerChat(server.url, "long").reply(PROMPT, 5, silent) == "cut"


def test_a_server_that_is_busy_once_is_asked_again(server: Server, quick: None) -> None:  # noqa: ARG001 - see there
    server.requests.clear()
    assert said(ServerChat(server.url, "busy once")) == reply_to(PROMPT)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("401", r"refused the key \(401\); set OPENAI_API_KEY"),
        ("403", r"refused the key \(403\); set OPENAI_API_KEY"),
        ("404", r"knows no model '404'.*set CAUSALVIZ_CHAT_MODEL"),
        ("429", r"no more requests for now \(429\); wait 0 seconds"),
        ("400", r"refused the request \(400: fault 400 for key \*\*\* second line\); lower the token budget"),
        ("500", r"failed \(500: .*\); look into its log"),
        ("silent", "was silent for too long; check that the model is loaded"),
        ("hangs", "was silent for too long; check that the model is loaded"),
        ("web page", "is no chat stream; check that CAUSALVIZ_CHAT_URL"),
        ("broken", "is no chat stream; check that CAUSALVIZ_CHAT_URL"),
        ("strange", "is no chat stream; check that CAUSALVIZ_CHAT_URL"),
        ("lost", "broke off in the middle of its reply; check that it still runs"),
        ("gone", "broke off in the middle of its reply; check that it still runs"),
        ("fault", r"reported a fault: out of memory, key \*\*\*; look into its log"),
    ],
)
def test_every_fault_is_one_sentence_with_the_cure(
    server: Server,
    quick: None,  # noqa: ARG001 - see there
    caplog: pytest.LogCaptureFixture,
    model: str,
    words: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    chat = ServerChat(server.url, model, KEY, read_seconds=0.3)
    with pytest.raises(BackendError, match=words) as refused:
        said(chat)
    sentence = str(refused.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    for place in (sentence, repr(chat), chat.name, caplog.text):
        assert KEY not in place
    # the next reply comes as if nothing had been
    assert said(ServerChat(server.url, "good")) == reply_to(PROMPT)


def test_a_server_that_is_not_there_says_where_it_was_looked_for(quick: None) -> None:  # noqa: ARG001 - see there
    with serving() as server:
        chat = ServerChat(server.url, "good")
    with pytest.raises(BackendError, match=r"127\.0\.0\.1:\d+ cannot be reached; start it"):
        said(chat)


@pytest.mark.parametrize("url", ["127.0.0.1:1/v1", "ftp://a/v1", "http://", "http://[::1", "http://a:b/v1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ParameterError, match=r"an address such as http://127\.0\.0\.1:8000/v1"):
        ServerChat(url, "m")


@pytest.mark.parametrize("url", [f"http://me:{KEY}@host/v1", f"https://host/v1?key={KEY}", f"me:{KEY}@host"])
def test_a_secret_in_an_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ParameterError) as refused:
        ServerChat(url, "m")
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("model", ["silent", "hangs"])
def test_a_silent_server_is_left_as_soon_as_its_reply_is_unwanted(
    server: Server, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both would keep silent for longer than they are waited for below, before their first piece or after it.
    monkeypatch.setattr(server, "silence", 120.0)
    looks = []

    def stop(piece: str) -> None:
        looks.append(piece)
        if not piece:
            raise StoppedError("stopped.")

    server.left.clear()
    with pytest.raises(StoppedError):
        ServerChat(server.url, model).reply(PROMPT, 10, stop)
    assert looks[-1] == ""
    assert server.left.wait(60)


def test_stopping_ends_the_request(server: Server) -> None:
    pieces = []

    def stop(piece: str) -> None:
        pieces.append(piece)
        raise StoppedError("stopped.")

    with pytest.raises(StoppedError):
        ServerChat(server.url, "good").reply(PROMPT, 10, stop)
    assert len(pieces) == 1


@pytest.fixture(scope="session")
def tiny_qwen3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a model of Qwen3's architecture with two small random layers and a tokenizer of single characters."""
    folder = tmp_path_factory.mktemp("qwen3")
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<unk>"]
    letters = sorted(set(PROMPT) | set("abcdefghijklmnopqrstuvwxyz 数据。"))
    vocabulary = {token: i for i, token in enumerate([*special, *letters])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",  # noqa: S106 - no password
        pad_token="<|endoftext|>",  # noqa: S106
        eos_token="<|im_end|>",  # noqa: S106
        extra_special_tokens=["<|im_start|>"],
    )
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    torch.manual_seed(3)
    config = Qwen3Config(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=512,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    Qwen3ForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def local(tiny_qwen3: Path) -> LocalChat:
    """Load it as the app does."""
    return LocalChat(str(tiny_qwen3))


def test_a_local_model_says_what_the_library_generates(local: LocalChat, tiny_qwen3: Path) -> None:
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tiny_qwen3)
    model: Any = Qwen3ForCausalLM.from_pretrained(tiny_qwen3)
    text = f"<|im_start|>{PROMPT}<|im_end|><|im_start|>x"
    inputs = tokenizer(text, return_tensors="pt")
    output = model.generate(**inputs, max_new_tokens=40, do_sample=False)
    expected = tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    pieces: list[str] = []
    assert local.reply(PROMPT, 40, pieces.append) == "cut"
    assert "".join(pieces) == expected
    assert expected


def test_a_local_model_counts_by_its_own_tokenizer(local: LocalChat) -> None:
    assert local.count_tokens("") == 0
    assert local.count_tokens("late数据") == 6
    assert local.context == 512


@pytest.mark.parametrize("place", ["server", "local"])
def test_lone_surrogates_and_nuls_are_no_fault(server: Server, local: LocalChat, place: str) -> None:
    chat = local if place == "local" else ServerChat(server.url, "good")
    prompt = PROMPT.replace("late", "la\ud800te") + "\0\udfff"
    assert chat.count_tokens(prompt) > 0
    assert said(chat, prompt, limit=3)


def test_a_local_model_ends_where_its_own_end_token_is(tiny_qwen3: Path) -> None:
    chat = LocalChat(str(tiny_qwen3))
    # whatever comes first is declared the end
    first = said(chat, limit=1)
    token = PreTrainedTokenizerFast.from_pretrained(tiny_qwen3).convert_tokens_to_ids(first)
    chat._model.generation_config.eos_token_id = [0, token]  # noqa: SLF001 - random weights have no end of their own
    assert chat.reply(PROMPT, 40, silent) == "complete"


def test_stopping_a_local_model_frees_it_for_the_next(local: LocalChat) -> None:
    calls = []

    def stop(piece: str) -> None:
        calls.append(piece)
        if len(calls) == 3:
            raise StoppedError("stopped.")

    with pytest.raises(StoppedError):
        local.reply(PROMPT, 400, stop)
    assert len(calls) == 3
    assert said(local, limit=3)


def test_replies_from_several_threads_do_not_mix(local: LocalChat) -> None:
    alone = said(local, limit=30)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: said(local, limit=30), range(6))) == [alone] * 6


def test_a_prompt_beyond_the_models_context_says_what_to_lower(local: LocalChat) -> None:
    with pytest.raises(BackendError, match=r"takes at most 412; lower the token budget"):
        said(local, "a" * 450, limit=100)


def test_a_model_that_is_absent_or_of_another_kind_says_what_to_do(tmp_path: Path, tiny_qwen3: Path) -> None:
    with pytest.raises(MissingBackendError, match=r"cannot be loaded from .*local:FOLDER"):
        LocalChat(str(tmp_path))
    for file in tiny_qwen3.iterdir():
        if file.name != "chat_template.jinja":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    with pytest.raises(
        ParameterError, match=r"has no chat template.*choose a chat model such as Qwen/Qwen3-4B"
    ):
        LocalChat(str(tmp_path))


def settings(**environment: str) -> Settings:
    return Settings.of({f"CAUSALVIZ_{name}": value for name, value in environment.items()})


def test_the_environment_chooses_the_chat_model(tiny_qwen3: Path) -> None:
    assert make_chat(settings()) is None
    chat = make_chat(settings(CHAT_URL="http://127.0.0.1:9/v1", CHAT_MODEL="qwen3:4b"))
    assert chat is not None
    assert chat.name == "qwen3:4b at 127.0.0.1:9"
    chat = make_chat(settings(CHAT_MODEL=f"local:{tiny_qwen3}"))
    assert chat is not None
    assert chat.name.startswith(f"local:{tiny_qwen3.name}@")
    assert make_chat(settings(CHAT_MODEL=f"local:{tiny_qwen3}")) is chat
    with pytest.raises(ParameterError, match="CAUSALVIZ_CHAT_MODEL names no model"):
        make_chat(settings(CHAT_URL="http://127.0.0.1:9/v1"))
    with pytest.raises(ParameterError, match="CAUSALVIZ_CHAT_URL names no server"):
        make_chat(settings(CHAT_MODEL="gpt"))


def test_settings_do_not_show_the_key() -> None:
    assert KEY not in repr(Settings.of({"OPENAI_API_KEY": KEY}))
