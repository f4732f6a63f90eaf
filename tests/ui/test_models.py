"""The models of an app: chosen, tried, used, unloaded, with tiny models of the real architectures and local servers."""

import gc
import json
import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from backends import chat_http, embeddings_server, tiny_models
from fakes import silent
from safetensors.torch import save_file
from transformers import (
    Qwen3Config,
    Qwen3ForCausalLM,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
    XLMRobertaModel,
)

from causalviz import bootstrap
from causalviz.backends import shelf, weights
from causalviz.backends.weights import KNOWN, Weights, find_weights
from causalviz.bootstrap import index_into, open_pipeline
from causalviz.choices import FILE, Choices, read_choices
from causalviz.errors import BackendError, CausalvizError, MissingBackendError, ParameterError
from causalviz.knowledge_base import RecordEntry
from causalviz.pipeline import SearchSettings
from causalviz.records import Document, RankSettings
from causalviz.settings import Serving, Settings
from causalviz.ui import present_models
from causalviz.ui.models import Asker, Choice, Models, Needs, Tried, is_shared, refusal, watched

KEY = "sk-very-secret"
HERE = Asker(client="127.0.0.1", host="localhost:7860", forwarded=False)


@pytest.fixture(autouse=True, scope="module")
def _small_heap() -> Iterator[None]:
    """Let collections look at what these tests make, not at all that the libraries did: each takes a second else."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _empty_shelves(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let no test find a model of another, nor look for one on the hub."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    yield
    nothing = Settings.of({"CAUSALVIZ_ENCODER": "nothing"})
    for role in ("encoder", "reranker", "chat"):
        bootstrap.keep_only(role, nothing)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.of({"CAUSALVIZ_HOME": str(tmp_path / "home")})


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("models")
    bare = tiny_models.bert(place / "bge-small-zh-v1.5")
    return {
        "bge-m3": tiny_models.bge_m3(place / "bge-m3"),
        "flag": bare,
        "st": tiny_models.sentence(place / "plain", bare, {}),
        "cross": tiny_models.scoring(place / "scoring"),
        "local": tiny_models.chat(place / "chat"),
    }


def encoder(tiny: dict[str, Path], kind: str, **more: str) -> Choice:
    return Choice(role="encoder", kind=kind, place=str(tiny[kind]), **more)


BUNDLED = Choice(role="encoder", kind="e5-small")


def test_an_encoder_is_tested_used_and_kept_and_the_one_in_use_stays_while_another_is_tested(
    settings: Settings, tiny: dict[str, Path]
) -> None:
    models = Models(settings)
    tried = models.test(encoder(tiny, "st"), shared=False)
    assert (tried.dim, tried.name.split("@")[0]) == (tiny_models.DIM, "st:plain")
    assert models.settings.encoder == "e5-small"
    assert not (settings.home / FILE).exists()
    models.use(encoder(tiny, "st"), shared=False)
    assert models.encoder.name == tried.name
    assert read_choices(settings.home) == (Choices(encoder=f"st:{tiny['st']}"), "")
    assert models.chosen("encoder") == encoder(tiny, "st")


@pytest.mark.parametrize(
    ("choice", "kept"),
    [
        (Choice(role="encoder", kind="bge-m3", place="bge-m3"), {"encoder": "bge-m3:{}"}),
        (
            Choice(role="encoder", kind="flag", place="flag", query="find: ", passage="text: "),
            {"encoder": "flag:{}", "query_instruction": "find: ", "passage_instruction": "text: "},
        ),
        (Choice(role="reranker", kind="cross", place="cross"), {"reranker": "cross:{}"}),
        (Choice(role="reranker", kind="flag-reranker", place="cross"), {"reranker": "flag-reranker:{}"}),
        (
            Choice(role="reranker", kind="bge-reranker-v2-m3", place="cross"),
            {"reranker": "bge-reranker-v2-m3:{}"},
        ),
        (Choice(role="chat", kind="local", place="local"), {"chat_model": "local:{}"}),
    ],
)
def test_every_kind_of_local_model_is_loaded_by_the_real_code_and_kept_by_name(
    settings: Settings, tiny: dict[str, Path], choice: Choice, kept: dict[str, str]
) -> None:
    models = Models(settings)
    place = str(tiny[choice.place])
    choice = replace(choice, place=place)
    tried = models.use(choice, shared=False)
    assert tried is not None
    assert tried.seconds > 0
    found = Choices(
        **{"encoder": "e5-small" if choice.role == "encoder" else "", **kept},
    )
    expected = replace(found, **{name: value.format(place) for name, value in kept.items()})
    assert read_choices(settings.home) == (replace(Choices(), **{n: getattr(expected, n) for n in kept}), "")
    assert models.chosen(choice.role) == choice
    assert models.loaded(choice.role)
    assert models.needs(choice, shared=False).where == "loaded"


def test_switching_off_gives_the_memory_back(settings: Settings, tiny: dict[str, Path]) -> None:
    models = Models(settings)
    models.use(Choice(role="reranker", kind="cross", place=str(tiny["cross"])), shared=False)
    gone = weakref.ref(models.reranker._model.model)  # type: ignore[attr-defined]  # noqa: SLF001 - the torch module itself
    assert models.use(Choice(role="reranker", kind=""), shared=False) is None
    assert gone() is None
    assert not models.has_reranker
    assert read_choices(settings.home)[0].reranker == ""


def networks(models: Models, role: str) -> Callable[[], object]:
    """Watch the torch module of a model in use."""
    match role:
        case "encoder":
            return weakref.ref(models.encoder._model)  # type: ignore[attr-defined]  # noqa: SLF001 - the module itself
        case "reranker":
            return weakref.ref(models.reranker._network)  # type: ignore[attr-defined]  # noqa: SLF001 - the module itself
    return weakref.ref(models.chat._model)  # type: ignore[union-attr]  # noqa: SLF001 - the module itself


@pytest.mark.parametrize(
    ("role", "kind", "place"),
    [("encoder", "st", "st"), ("reranker", "flag-reranker", "cross"), ("chat", "local", "local")],
)
def test_unloading_frees_the_network_and_the_next_use_loads_it_again(
    settings: Settings, tiny: dict[str, Path], role: bootstrap.Role, kind: str, place: str
) -> None:
    models = Models(settings)
    models.use(Choice(role=role, kind=kind, place=str(tiny[place])), shared=False)
    network = networks(models, role)
    assert network() is not None
    models.unload(role)
    assert network() is None
    assert not models.loaded(role)
    assert networks(models, role)() is not None
    assert models.loaded(role)


def test_what_was_only_tested_is_unloaded_too(settings: Settings, tiny: dict[str, Path]) -> None:
    models = Models(settings)
    models.test(encoder(tiny, "st"), shared=False)
    tested = replace(settings, encoder=f"st:{tiny['st']}")
    network = weakref.ref(bootstrap.make_encoder(tested.encoder, tested)._model)  # type: ignore[attr-defined]  # noqa: SLF001 - the torch module itself
    assert network() is not None
    models.unload("encoder")
    assert network() is None


def knowledge_base(models: Models, path: Path) -> None:
    texts = {"one": "late interaction", "two": "token vectors"}
    index_into(
        path,
        [RecordEntry(Document(id=i, title=i, text=t, reader="text")) for i, t in texts.items()],
        models.encoder,
        silent,
    )


def test_a_shown_ranking_does_not_keep_an_unloaded_encoder_and_can_be_asked_again(
    settings: Settings, tiny: dict[str, Path], tmp_path: Path
) -> None:
    models = Models(settings)
    models.use(encoder(tiny, "st"), shared=False)
    knowledge_base(models, tmp_path / "my.kb")
    pipeline = open_pipeline(tmp_path / "my.kb", models.encoder, silent)
    rank = RankSettings(tau=0.5)
    before = pipeline.ask("late interaction", SearchSettings(theta=-1), rank)
    network = networks(models, "encoder")
    models.unload("encoder")
    assert network() is None  # though the pipeline lives on
    after = pipeline.ask("late interaction", SearchSettings(theta=-1), rank)
    assert [c.similarity for c in after.candidates] == [c.similarity for c in before.candidates]
    assert models.loaded("encoder")


def test_a_run_in_progress_ends_with_the_encoder_it_began_with(
    settings: Settings, tiny: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Models(settings)
    models.use(encoder(tiny, "st"), shared=False)
    knowledge_base(models, tmp_path / "my.kb")
    pipeline = open_pipeline(tmp_path / "my.kb", models.encoder, silent)
    network, old = networks(models, "encoder"), models.encoder.name
    pipeline.ask("late", SearchSettings(), RankSettings(tau=0.5))
    monkeypatch.setattr(shelf, "GRACE", 3600.0)
    models.use(BUNDLED, shared=False)
    # the run asks on, and gets the encoder it began with
    assert pipeline.ask("interaction", SearchSettings(theta=-1), RankSettings(tau=0.5)).encoder == old
    assert models.encoder.name == "e5-small"
    assert network() is not None
    # once it is over, nothing keeps the old one
    monkeypatch.setattr(shelf, "GRACE", 0.0)
    pipeline.encoder._place.give_up()  # type: ignore[attr-defined]  # noqa: SLF001 - what the timer does, at once
    assert network() is None
    with pytest.raises(BackendError, match="another encoder was chosen on the Models page since"):
        pipeline.ask("late", SearchSettings(), RankSettings(tau=0.5))


def test_indexing_that_outlives_its_encoders_time_still_ends_with_it(
    settings: Settings, tiny: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "GRACE", 0.0)
    models = Models(settings)
    models.use(encoder(tiny, "st"), shared=False)
    name = models.encoder.name

    def switch(_done: int, _total: int, _what: str) -> None:
        if models.settings.encoder != "e5-small":
            models.use(BUNDLED, shared=False)

    held = models.encoder
    documents = [
        RecordEntry(Document(id=str(i), title="t", text=f"word{i} " * 900, reader="text")) for i in range(4)
    ]
    index_into(tmp_path / "my.kb", documents, held, switch)
    pipeline = open_pipeline(tmp_path / "my.kb", held, silent)
    assert (pipeline.base.encoder, models.encoder.name) == (name, "e5-small")
    network = weakref.ref(held._model)  # type: ignore[attr-defined]  # noqa: SLF001 - the torch module itself
    del held
    gc.collect()
    assert network() is None  # the pipeline does not keep it


def test_two_who_ask_at_once_load_one_model(settings: Settings, tiny: dict[str, Path]) -> None:
    models = Models(replace(settings, encoder=f"st:{tiny['st']}"))
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(models.encoder)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(model) for model in found}) == 1


def test_a_second_change_at_the_same_time_is_refused(settings: Settings, tiny: dict[str, Path]) -> None:
    models = Models(settings)
    with models._only_one("encoder"), pytest.raises(ParameterError, match="being loaded here already"):  # noqa: SLF001 - as somebody else who loads
        models.use(encoder(tiny, "st"), shared=False)
    models.use(encoder(tiny, "st"), shared=False)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (Choice(role="encoder", kind="st", place="{empty}"), "cannot load encoder .*choose e5-small"),
        (Choice(role="encoder", kind="st", place="nobody/no-such-model"), "connect once to download it"),
        (Choice(role="encoder", kind="flag", place="{empty}"), "FlagEmbedding cannot load encoder"),
        (Choice(role="encoder", kind="bge-m3", place="{flag}"), "so it is no BGE-M3; choose st:FOLDER"),
        (Choice(role="encoder", kind="st", place="{flag}"), "is a bare network, but an encoder is"),
        (Choice(role="encoder", kind="st", place="{broken}"), "cannot"),
        (Choice(role="reranker", kind="cross", place="{st}"), "but a reranker"),
        (
            Choice(role="reranker", kind="flag-reranker", place="{flag}"),
            "but a reranker reads question and text",
        ),
        (Choice(role="reranker", kind="cross", place="{broken}"), "cannot"),
        (Choice(role="chat", kind="local", place="{empty}"), "cannot be loaded from"),
        (Choice(role="chat", kind="local", place="{flag}"), "has no chat template"),
        (Choice(role="chat", kind="local", place="{broken}"), "cannot"),
        (Choice(role="encoder", kind="st"), "no model is named yet"),
        (Choice(role="encoder", kind="openai", url="http://x/v1"), "needs the name of one of its models"),
        (Choice(role="encoder", kind="openai", place="m"), "no address is given yet"),
        (
            Choice(role="encoder", kind="openai", place="m", url="file:///etc/passwd"),
            "the address is 'file:///etc/passwd'",
        ),
        (Choice(role="chat", kind="server", place="m", url="gopher"), "the address is 'gopher'"),
        (Choice(role="encoder", kind="nonsense"), "a kind of model that does not exist"),
        (Choice(role="encoder", kind="st", place="x" * 1001), "more than 1,000 characters"),
        (Choice(role="encoder", kind="st", place="x" * 600), "can be neither a hub id nor a folder"),
        (Choice(role="encoder", kind="st", place="~nobody-here/x"), "can be neither a hub id nor a folder"),
        (Choice(role="chat", kind="local", place="/nowhere/at all"), "there is no folder '/nowhere/at all'"),
        (Choice(role="reranker", kind="cross", place="./nowhere"), "there is no folder './nowhere'"),
        (Choice(role="encoder", kind="st", place="a\0b"), "cannot load encoder|neither a hub id"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_the_model_before_stays_in_use(
    settings: Settings, tiny: dict[str, Path], tmp_path: Path, choice: Choice, words: str
) -> None:
    (tmp_path / "empty").mkdir()
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in tiny["cross"].iterdir():
        (broken / file.name).write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    places = {**tiny, "empty": tmp_path / "empty", "broken": broken}
    place = choice.place
    for name, folder in places.items():
        place = place.replace(f"{{{name}}}", str(folder))
    models = Models(settings)
    for attempt in (models.test, models.use):
        with pytest.raises(CausalvizError, match=words) as refused:
            attempt(replace(choice, place=place), shared=False)
        assert "\n" not in str(refused.value)
    assert models.settings == settings
    assert not (settings.home / FILE).exists()
    assert models.encoder.name == "e5-small"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "this machine has not enough free memory for the model; close other programs"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "can't allocate memory"),
        (
            Exception("data did not match any variant"),
            r"the model cannot be used \(data did not match any variant\)",
        ),
    ],
)
def test_running_out_of_memory_and_errors_of_no_known_kind_are_named(
    settings: Settings, tiny: dict[str, Path], monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("sentence_transformers.SentenceTransformer", fail)
    with pytest.raises(CausalvizError, match=words):
        Models(settings).use(encoder(tiny, "st"), shared=False)


@pytest.fixture(scope="module")
def embeddings() -> Iterator[embeddings_server.EmbeddingsServer]:
    with embeddings_server.serving() as server:
        yield server


@pytest.fixture(scope="module")
def chat() -> Iterator[chat_http.Server]:
    with chat_http.serving() as server:
        yield server


def test_servers_are_tested_and_used_each_with_its_own_key(
    settings: Settings, embeddings: embeddings_server.EmbeddingsServer, chat: chat_http.Server
) -> None:
    models = Models(replace(settings, openai_key="from-the-environment"))
    vectors = Choice(role="encoder", kind="openai", place="words", url=embeddings.url, key=KEY)
    assert models.use(vectors, shared=False) == pytest.approx(None) or models.encoder.dim == 32
    assert {request[0]["authorization"] for request in embeddings.requests} == {f"Bearer {KEY}"}
    assert models.has_key("encoder")
    chat.keys.clear()
    tried = models.use(Choice(role="chat", kind="server", place="good", url=chat.url), shared=False)
    assert tried is not None
    # the key typed for one server goes to no other
    assert set(chat.keys) == {"Bearer from-the-environment"}
    assert chat.requests[-1]["max_tokens"] == 1
    assert models.chat is not None
    found = [path.read_text() for path in settings.home.rglob("*") if path.is_file()]
    assert found
    assert not any(KEY in text or "from-the-environment" in text for text in found)
    assert KEY not in repr(models.settings) + repr(vectors) + repr(models.chosen("encoder"))


def test_a_key_is_not_sent_to_an_address_it_was_not_typed_for(
    settings: Settings, embeddings: embeddings_server.EmbeddingsServer
) -> None:
    models = Models(settings)
    models.use(Choice(role="encoder", kind="openai", place="a", url=embeddings.url, key=KEY), shared=False)
    embeddings.requests.clear()
    elsewhere = embeddings.url.replace("127.0.0.1", "localhost")
    models.use(Choice(role="encoder", kind="openai", place="a", url=elsewhere), shared=False)
    assert not any(KEY in request[0]["authorization"] for request in embeddings.requests)
    assert not models.has_key("encoder")


@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("status", ["401", "500", "web page", "lost"])
def test_a_server_that_fails_is_named_without_the_key(
    settings: Settings,
    chat: chat_http.Server,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    status: str,
) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    caplog.set_level(logging.DEBUG)
    models = Models(settings)
    choice = Choice(role="chat", kind="server", place=status, url=chat.url, key=KEY)
    for attempt in (models.test, models.use):
        with pytest.raises(BackendError) as refused:
            attempt(choice, shared=False)
        assert KEY not in str(refused.value) + caplog.text
    assert not models.has_chat
    # a key that did not work is not kept
    assert models._keys == {}  # noqa: SLF001 - there is no other way to see it


@pytest.mark.parametrize(
    "url", [f"http://user:{KEY}@127.0.0.1:9/v1", f"http://127.0.0.1:9/v1?key={KEY}", f"ftp://{KEY}@x"]
)
def test_a_key_in_an_address_is_refused_and_repeated_nowhere(settings: Settings, url: str) -> None:
    models = Models(settings)
    choice = Choice(role="encoder", kind="openai", place="m", url=url)
    for attempt in (models.test, models.use, models.needs):
        with pytest.raises(ParameterError) as refused:
            attempt(choice, shared=False)
        assert KEY not in str(refused.value)
    assert not settings.home.exists()


def test_a_server_that_is_down_is_named_in_a_moment(settings: Settings) -> None:
    with embeddings_server.serving() as server:
        url = server.url
    with pytest.raises(BackendError, match="cannot be reached; start it, or correct CAUSALVIZ_OPENAI_URL"):
        Models(settings).test(Choice(role="encoder", kind="openai", place="m", url=url), shared=False)


def test_what_the_environment_or_the_command_line_set_cannot_be_changed_here(
    settings: Settings, tiny: dict[str, Path], chat: chat_http.Server
) -> None:
    models = Models(
        replace(settings, fixed=frozenset({"CAUSALVIZ_ENCODER", "CAUSALVIZ_CHAT_URL"}), chat_url=chat.url)
    )
    assert models.settled("encoder") == "CAUSALVIZ_ENCODER"
    with pytest.raises(ParameterError, match="this model is set by CAUSALVIZ_ENCODER; leave that out"):
        models.use(encoder(tiny, "st"), shared=False)
    assert models.test(encoder(tiny, "st"), shared=False).dim == tiny_models.DIM
    named = Models(replace(settings, fixed=frozenset({"--encoder", "CAUSALVIZ_ENCODER"})))
    assert named.settled("encoder") == "--encoder"
    assert models.settled("chat") == "CAUSALVIZ_CHAT_URL"
    assert models.settled("reranker") == ""


def test_an_address_of_the_environment_is_used_whatever_is_typed_and_not_kept(
    settings: Settings, embeddings: embeddings_server.EmbeddingsServer
) -> None:
    fixed = replace(settings, fixed=frozenset({"CAUSALVIZ_OPENAI_URL"}), openai_url=embeddings.url)
    models = Models(fixed)
    models.use(Choice(role="encoder", kind="openai", place="m", url="http://127.0.0.1:9/v1"), shared=False)
    assert models.encoder.dim == 32
    assert models.settled_address("encoder") == "CAUSALVIZ_OPENAI_URL"
    assert read_choices(settings.home)[0] == Choices(encoder="openai:m")


@pytest.mark.parametrize(
    ("changes", "asker", "shared"),
    [
        ({}, HERE, False),
        ({}, replace(HERE, host="127.0.0.1:7860"), False),
        ({}, replace(HERE, host="[::1]:7860", client="::1"), False),
        ({"host": "0.0.0.0"}, HERE, True),  # noqa: S104 - what is tested
        ({"host": "::"}, HERE, True),
        ({"serving": Serving(auth_file=Path("people"))}, HERE, True),
        ({"serving": Serving(trust_proxy="127.0.0.1")}, HERE, True),
        ({"serving": Serving(root_path="/x")}, HERE, True),
        ({}, replace(HERE, forwarded=True), True),
        ({}, replace(HERE, client="192.168.1.7"), True),
        ({}, replace(HERE, host="causalviz.example.org"), True),
        ({}, replace(HERE, host="127.0.0.1.evil.example:7860"), True),
        ({}, replace(HERE, host=""), True),
        ({}, replace(HERE, client=""), True),
    ],
)
def test_models_may_be_changed_only_where_the_app_is_one_persons(
    settings: Settings, changes: dict[str, str], asker: Asker, shared: bool
) -> None:
    served = replace(settings, **changes)  # type: ignore[arg-type]  # fields of Settings
    assert is_shared(served, asker) is shared
    assert ("shared" in refusal(served, asker)) is shared
    assert refusal(replace(served, allow_model_changes=True), asker) == ""


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (
            Choice(role="encoder", kind="openai", place="m", url="http://169.254.169.254/v1"),
            "CAUSALVIZ_OPENAI_URL",
        ),
        (Choice(role="chat", kind="server", place="m", url="http://127.0.0.1:22/v1"), "CAUSALVIZ_CHAT_URL"),
        (Choice(role="encoder", kind="st", place="/etc"), "those suggested here"),
        (Choice(role="encoder", kind="bge-m3", place="/etc"), "those suggested here"),
        (Choice(role="reranker", kind="cross", place="../.."), "those suggested here"),
        (Choice(role="chat", kind="local", place="~"), "those suggested here"),
        (Choice(role="encoder", kind="flag", place="nobody/huge-model"), "those suggested here"),
        (Choice(role="encoder", kind="st", place="assets/view"), "those suggested here"),
    ],
)
def test_in_shared_use_no_address_folder_or_download_of_a_strangers_own_is_reached(
    settings: Settings, choice: Choice, words: str
) -> None:
    models = Models(replace(settings, allow_model_changes=True))
    for attempt in (models.test, models.use, models.needs):
        with pytest.raises(ParameterError, match=words):
            attempt(choice, shared=True)


def test_in_shared_use_the_servers_of_the_environment_may_be_chosen(
    settings: Settings, embeddings: embeddings_server.EmbeddingsServer
) -> None:
    fixed = frozenset({"CAUSALVIZ_OPENAI_URL"})
    models = Models(replace(settings, fixed=fixed, openai_url=embeddings.url, allow_model_changes=True))
    models.use(Choice(role="encoder", kind="openai", place="m", url="http://169.254.169.254/v1"), shared=True)
    assert models.encoder.dim == 32


def test_the_sizes_known_are_those_of_the_published_architectures() -> None:
    xlm_r = XLMRobertaConfig(
        vocab_size=250_002,
        hidden_size=1024,
        num_hidden_layers=24,
        num_attention_heads=16,
        intermediate_size=4096,
        max_position_embeddings=8194,
        type_vocab_size=1,
        num_labels=1,
    )
    qwen3 = Qwen3Config(
        vocab_size=151_936,
        hidden_size=2560,
        num_hidden_layers=36,
        num_attention_heads=32,
        num_key_value_heads=8,
        head_dim=128,
        intermediate_size=9728,
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        counted = {
            "BAAI/bge-m3": (XLMRobertaModel(xlm_r), 4),
            "BAAI/bge-reranker-v2-m3": (XLMRobertaForSequenceClassification(xlm_r), 4),
            "Qwen/Qwen3-4B": (Qwen3ForCausalLM(qwen3), 2),
        }
    for name, (network, size) in counted.items():
        count = sum(parameter.numel() for parameter in network.parameters())
        assert (KNOWN[name].parameters, KNOWN[name].size) == (count, count * size)


@pytest.mark.parametrize("kind", ["bge-m3", "flag", "st"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_memory_foretold_is_what_the_loaded_network_takes(
    settings: Settings, tiny: dict[str, Path], tmp_path: Path, kind: str, dtype: torch.dtype
) -> None:
    folder = tmp_path / tiny[kind].name
    for file in sorted(tiny[kind].rglob("*")):
        if file.is_file():
            to = folder / file.relative_to(tiny[kind])
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(file.read_bytes())
    loaded = torch_weights(folder / "model.safetensors")
    save_file({k: v.to(dtype) for k, v in loaded.items()}, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "dtype": str(dtype).removeprefix("torch.")}))
    models = Models(settings)
    choice = Choice(role="encoder", kind=kind, place=str(folder))
    needs = models.needs(choice, shared=False)
    assert needs.where == "here"
    models.use(choice, shared=False)
    network = models.encoder._model  # type: ignore[attr-defined]  # noqa: SLF001 - the torch module itself
    network = network if kind == "st" else network.model
    taken = sum(p.numel() * p.element_size() for p in network.parameters())
    assert needs.memory == pytest.approx(
        1.2 * taken, rel=0.15
    )  # the header of the file is as large as the weights here


def torch_weights(path: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return dict(load_file(path))


def test_weights_are_counted_once_however_often_they_lie_there(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "onnx").mkdir(parents=True)
    (folder / ".cache").mkdir()
    save_file({"a": torch.zeros(10, 100), "b": torch.zeros(24)}, folder / "model.safetensors")
    size = (folder / "model.safetensors").stat().st_size
    for copy in ("pytorch_model.bin", "onnx/model.bin", ".cache/model.bin"):
        (folder / copy).write_bytes(b"0" * 5000)
    assert find_weights(str(folder)) == Weights(size=size, parameters=1024)


def test_older_weights_are_counted_by_size_and_type(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"0" * 5000)
    assert find_weights(str(tmp_path)) == Weights(size=5000, parameters=1250)
    (tmp_path / "config.json").write_text('{"torch_dtype": "bfloat16"}')
    assert find_weights(str(tmp_path)) == Weights(size=5000, parameters=2500)


@pytest.mark.parametrize("content", [b"", b"\xff" * 8, b"\x02\0\0\0\0\0\0\0[]", b"\x08\0\0\0\0\0\0\0{}"])
def test_damaged_weights_are_measured_by_their_size_or_not_at_all(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    found = find_weights(str(tmp_path))
    assert found is None or found.size == len(content)


def test_a_download_in_the_hubs_cache_is_found_and_measured_as_it_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.file_download.constants.HF_HUB_CACHE", str(tmp_path))
    assert find_weights("nobody/model") is None
    assert find_weights("BAAI/bge-m3") == KNOWN["BAAI/bge-m3"]
    place = tmp_path / "models--nobody--model"
    (place / "blobs").mkdir(parents=True)
    (place / "blobs" / "abc.incomplete").write_bytes(b"0" * 300)
    assert weights.downloaded("nobody/model") == 300
    snapshot = place / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text("a" * 40)
    (snapshot / "config.json").write_text("{}")
    assert find_weights("nobody/model") is None
    assert not weights.in_cache("nobody/model")
    (place / "blobs" / "abc").write_bytes(b"0" * 400)
    (snapshot / "pytorch_model.bin").symlink_to(place / "blobs" / "abc")
    assert find_weights("nobody/model") == Weights(size=400, parameters=100)
    assert weights.in_cache("nobody/model")
    assert not weights.in_cache(str(snapshot))


GB = 1_000_000_000


@pytest.mark.parametrize(
    ("needs", "words"),
    [
        (Needs(where="none"), ""),
        (Needs(where="loaded", free_memory=GB), "It is in memory already. 1.0 GB of memory are still free."),
        (Needs(where="bundled"), "It came with the software: nothing to download, little memory."),
        (Needs(where="server"), "It runs on the server: nothing is downloaded, and no memory is taken here."),
        (
            Needs(where="unknown", free_memory=4 * GB, free_disk=50 * GB),
            (
                "It is not on this disk: its size is unknown until it is downloaded. Free here: 4.0 GB of memory, "
                "50.0 GB of disk."
            ),
        ),
        (
            Needs(where="here", memory=480_000_000, free_memory=GB),
            "It is on this disk. It takes about 480 MB of memory; free here: 1.0 GB of memory.",
        ),
        (
            Needs(where="hub", memory=3 * GB, download=5 * GB, free_memory=2 * GB, free_disk=4 * GB),
            (
                "It is downloaded once: 5.0 GB. It takes about 3.0 GB of memory; free here: 2.0 GB of memory, 4.0 GB "
                "of disk. There is not enough memory and disk for it: unload another model, close programs or make "
                "room, or choose a smaller one."
            ),
        ),
    ],
)
def test_what_a_model_takes_is_said_beside_what_is_free(needs: Needs, words: str) -> None:
    assert present_models.needs_words(needs) == words


def test_a_trial_is_summed_up_in_a_sentence() -> None:
    tried = Tried(name="st:x@1", seconds=0.0123, loading=2.25, dim=1024)
    assert present_models.tried_words(tried) == (
        "st:x@1 works: 1,024 numbers a text, a short text takes 12 ms, loading took 2.2 s."
    )
    assert (
        present_models.tried_words(Tried(name="m", seconds=3, loading=0))
        == "m works: a short text takes 3.0 s."
    )


def test_the_state_of_a_role_names_no_folder_and_no_address(
    settings: Settings, tiny: dict[str, Path]
) -> None:
    models = Models(replace(settings, chat_model="qwen", chat_url="http://10.0.0.1/v1"))
    assert present_models.state_words(models, "reranker") == "off"
    assert present_models.state_words(models, "chat") == "qwen on a server"
    assert present_models.state_words(models, "encoder") == "e5-small, loaded when it is first needed"
    models.use(encoder(tiny, "st"), shared=False)
    assert present_models.state_words(models, "encoder") == "plain, in memory"


def test_knowledge_bases_of_another_encoder_are_named() -> None:
    assert present_models.rebuild_words({}, "e5-small") == ""
    assert present_models.rebuild_words({"mine": "bge-m3@1"}, "e5-small") == (
        "Made with another encoder, and not to be asked with e5-small: mine (bge-m3@1). Index their documents again, "
        "or choose their encoder here."
    )


def test_long_work_is_watched_and_its_error_comes_through() -> None:
    go_on = threading.Event()

    def work() -> str:
        go_on.wait()
        return "done"

    run = watched(work, every=0.01)
    assert isinstance(next(run), float)
    go_on.set()
    assert list(run)[-1] == "done"

    def fail() -> str:
        raise MissingBackendError("no.")

    with pytest.raises(MissingBackendError):
        list(watched(fail))
