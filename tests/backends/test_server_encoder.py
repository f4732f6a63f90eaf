"""The client of a server of embeddings, against a real one on this machine that also fails on demand."""

import gc
import json
import logging
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from backends.embeddings_server import Answer, EmbeddingsServer, Fault, as_json, embeddings, serving
from fakes import WordEncoder, plain_tokenizer, silent

from causalviz.backends.server_encoder import BATCH, ServerEncoder
from causalviz.errors import BackendError, KnowledgeBaseError, MissingBackendError, ParameterError
from causalviz.knowledge_base import RecordEntry, open_knowledge_base, update
from causalviz.knowledge_base.store import Store
from causalviz.records import Document
from causalviz.settings import Settings

KEY = "sk-a-secret"
GOOD = [[1.0] + [0.0] * 31, [0.0, 2.0] + [0.0] * 30]


@pytest.fixture
def server() -> Iterator[EmbeddingsServer]:
    with serving() as running:
        yield running


def connect(server: EmbeddingsServer, *, retries: int = 0, seconds: float = 30) -> ServerEncoder:
    return ServerEncoder("words", url=server.url, key=KEY, seconds=seconds, retries=retries)


def test_vectors_are_scaled_to_one_and_the_key_is_sent(server: EmbeddingsServer) -> None:
    encoder = connect(server)
    assert encoder.dim == 32
    assert encoder.encode_queries(["one two", ""]) == pytest.approx(
        WordEncoder().encode_queries(["one two", ""]), abs=1e-6
    )
    assert {headers["Authorization"] for headers, _ in server.requests} == {f"Bearer {KEY}"}
    assert [asked["input"] for _, asked in server.requests][1:] == [["one two"]]


def test_its_connections_are_closed_when_it_is_let_go_of(server: EmbeddingsServer) -> None:
    kept: list[object] = [connect(server)]
    kept.append(kept)  # as an encoder on a page that refers to itself: only a collection finds it
    client = kept[0]._client  # type: ignore[attr-defined]  # noqa: SLF001 - nothing else tells
    assert not client.is_closed()
    del kept
    gc.collect()
    assert client.is_closed()


def test_vectors_are_put_in_the_order_of_their_index(server: EmbeddingsServer) -> None:
    encoder = connect(server)
    server.faults.append(lambda _: embeddings(GOOD, order=[1, 0]))
    assert encoder.encode_queries(["a", "b"]).tolist() == [GOOD[0], [0.0, 1.0] + [0.0] * 30]


def test_many_texts_are_asked_in_batches_with_their_instruction(server: EmbeddingsServer) -> None:
    encoder = ServerEncoder(
        "words", url=server.url, query_instruction="query: ", passage_instruction="passage: "
    )
    texts = [f"word{i}" for i in range(2 * BATCH + 1)]
    found = encoder.encode_documents(texts)
    asked = [request["input"] for _, request in server.requests[1:]]
    assert [len(batch) for batch in asked] == [BATCH, BATCH, 1]
    assert [text for batch in asked for text in batch] == [f"passage: {text}" for text in texts]
    assert found == pytest.approx(
        WordEncoder().encode_queries([f"passage {text}" for text in texts]), abs=1e-6
    )
    encoder.encode_queries(["x"])
    assert server.requests[-1][1]["input"] == ["query: x"]


def test_the_name_holds_model_host_length_and_instructions_but_no_key(server: EmbeddingsServer) -> None:
    host = server.url.removeprefix("http://").removesuffix("/v1")
    encoder = connect(server)
    assert encoder.name == f"openai:words@{host}/32"
    instructed = ServerEncoder("words", url=server.url, key=KEY, query_instruction="query: ")
    assert instructed.name.startswith(f"{encoder.name}+")
    assert KEY not in instructed.name + repr(instructed)


def test_a_busy_server_is_asked_again_when_it_says(server: EmbeddingsServer) -> None:
    encoder = connect(server, retries=2)
    busy = as_json(429, {"error": {"message": "slow down"}}, Retry_After="0.01")
    failing = as_json(500, {"error": {"message": "oops"}}, Retry_After="0.01")
    server.faults.extend([lambda _: busy, lambda _: failing])
    found = encoder.encode_queries(["one"])
    assert found == pytest.approx(WordEncoder().encode_queries(["one"]), abs=1e-6)
    assert [asked["input"] for _, asked in server.requests][1:] == [["one"]] * 3


def refusal(status: int, told: str = f"the key {KEY} is no good") -> Answer:
    """Answer an error; some servers quote the key."""
    return as_json(status, {"error": {"message": f"{told}.\nSecond line."}}, Retry_After="0.01")


def rows(*vectors: list[float]) -> Answer:
    return embeddings(vectors)


FAULTS: dict[str, tuple[Fault, str]] = {
    "401": (lambda _: refusal(401), r"refuses the key \(401\); set OPENAI_API_KEY"),
    "403": (lambda _: refusal(403), r"refuses the key \(403\); set OPENAI_API_KEY"),
    "404": (
        lambda _: refusal(404, "no such model"),
        r"\(404: no such model. Second line\); correct the model's name",
    ),
    "429": (lambda _: refusal(429), r"still asks to wait \(429: .*\); try again later"),
    "500": (lambda _: refusal(500), r"failed \(500: .*\); read its log"),
    "503 without a word": (lambda _: (503, {}, b"gone"), r"failed \(503\); read its log"),
    "400": (
        lambda _: refusal(400, "too long"),
        r"refuses the texts \(400: too long.*\); choose a model that reads",
    ),
    "broken JSON": (
        lambda _: (200, {"Content-Type": "application/json"}, b'{"data": [{"index": 0, "embed'),
        "holds no embeddings; check that CAUSALVIZ_OPENAI_URL",
    ),
    "a web page": (lambda _: (200, {"Content-Type": "text/html"}, b"<html>"), "holds no embeddings"),
    "JSON of something else": (lambda _: as_json(200, {"choices": []}), "holds no embeddings"),
    "null": (lambda _: as_json(200, None), "holds no embeddings"),
    "text for numbers": (
        lambda _: as_json(200, {"data": [{"index": 0, "embedding": ["x"]}]}),
        "holds no embeddings",
    ),
    "no rows": (lambda _: rows(), "gave 0 vectors for 2 texts"),
    "fewer rows": (lambda _: rows(GOOD[0]), "gave 1 vectors for 2 texts"),
    "more rows": (lambda _: rows(*GOOD, GOOD[0]), "gave 3 vectors for 2 texts"),
    "a row twice": (lambda _: embeddings(GOOD, order=[1, 1]), "gave 2 vectors for 2 texts"),
    "another dimension": (
        lambda _: rows([1.0] * 16, [1.0] * 16),
        "vectors of 16 numbers, but 'words' gave 32",
    ),
    "two dimensions": (
        lambda _: rows([1.0] * 16, GOOD[0]),
        "vectors of 16 and 32 numbers, but 'words' gave 32",
    ),
    "NaN": (lambda _: rows(GOOD[0], [float("nan")] * 32), "NaN, infinity or only zeros"),
    "infinity": (lambda _: rows(GOOD[0], [float("inf")] * 32), "NaN, infinity or only zeros"),
    "zeros": (lambda _: rows(GOOD[0], [0.0] * 32), "NaN, infinity or only zeros"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_sentence_with_the_cure_and_without_the_key(
    fault: str, server: EmbeddingsServer, caplog: pytest.LogCaptureFixture
) -> None:
    answer, expected = FAULTS[fault]
    caplog.set_level(logging.DEBUG)
    encoder = connect(server, retries=1)
    server.faults.extend([answer, answer])
    with pytest.raises(BackendError, match=expected) as error:
        encoder.encode_queries(["one", "two"])
    assert "\n" not in str(error.value)
    assert KEY not in "".join(traceback.format_exception(error.value))
    assert KEY not in caplog.text
    server.faults.clear()
    assert encoder.encode_queries(["one"]).any()  # and the encoder can be used again


def test_a_server_that_does_not_answer_is_not_waited_for_for_ever(server: EmbeddingsServer) -> None:
    encoder = connect(server, seconds=0.2)
    server.faults.append(lambda _: None)
    with pytest.raises(BackendError, match=r"did not answer in 0\.2 s; see whether it is busy"):
        encoder.encode_queries(["one"])


def test_a_server_that_is_down_is_named() -> None:
    with serving() as server:
        url = server.url
    with pytest.raises(BackendError, match=r"cannot be reached; start it, or correct CAUSALVIZ_OPENAI_URL"):
        ServerEncoder("words", url=url, retries=0)


def test_a_vector_of_nothing_is_refused(server: EmbeddingsServer) -> None:
    server.faults.append(lambda _: rows([]))
    with pytest.raises(BackendError, match="a vector of no numbers; check that 'words' makes embeddings"):
        connect(server)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", "needs the address of a server; set CAUSALVIZ_OPENAI_URL"),
        ("localhost:8000/v1", "an address such as http://127.0.0.1:8000/v1 was expected"),
        ("http://", "an address such as http://127.0.0.1:8000/v1 was expected"),
        ("http://host:port/v1", "an address such as http://127.0.0.1:8000/v1 was expected"),
        (f"http://me:{KEY}@host/v1", "put the key into OPENAI_API_KEY"),
        (f"http://host/v1?key={KEY}", "put the key into OPENAI_API_KEY"),
    ],
)
def test_an_address_that_is_none_is_refused_before_anything_is_sent(url: str, expected: str) -> None:
    with pytest.raises(ParameterError, match=expected) as error:
        ServerEncoder("words", url=url)
    assert KEY not in str(error.value)


def test_a_missing_client_says_what_to_install(
    server: EmbeddingsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingBackendError, match=r"needs the package openai.*requirements\.txt"):
        connect(server)


def test_settings_keep_the_key_to_themselves() -> None:
    settings = Settings.of({"OPENAI_API_KEY": KEY, "CAUSALVIZ_OPENAI_URL": "http://host/v1"})
    assert (settings.openai_key, settings.openai_url) == (KEY, "http://host/v1")
    assert KEY not in repr(settings)


def documents(count: int) -> list[RecordEntry]:
    return [
        RecordEntry(Document(id=f"{i:02}", title=f"t{i}", text=f"word{i} common " * 300, reader="record"))
        for i in range(count)
    ]


@pytest.mark.parametrize("fault", ["500", "NaN", "fewer rows", "another dimension"])
def test_an_interrupted_index_holds_whole_documents_only_and_is_finished_later(
    fault: str, server: EmbeddingsServer, tmp_path: Path
) -> None:
    encoder, source = connect(server), documents(12)
    path, whole = tmp_path / "a.kb", tmp_path / "whole.kb"
    update(whole, source, encoder, plain_tokenizer(), silent)
    server.faults.extend([None, None, FAULTS[fault][0]])
    with pytest.raises(BackendError):
        update(path, source, encoder, plain_tokenizer(), silent)
    with Store.open(path) as store:
        units = list(store.document_units())
        assert 0 < len(units) < 12
        assert all(np.linalg.norm(unit.vector) == pytest.approx(1, abs=1e-5) for unit in units)
        assert store.read_snapshot() is None
    server.requests.clear()
    update(path, source, encoder, plain_tokenizer(), silent)
    sent = json.dumps([asked["input"] for _, asked in server.requests])
    assert all(f"word{int(unit.id)} common" not in sent for unit in units)
    again, at_once = (open_knowledge_base(place, encoder, silent, "x") for place in (path, whole))
    assert again.fingerprint == at_once.fingerprint
    assert np.array_equal(again.documents.vectors, at_once.documents.vectors)
    assert np.array_equal(again.term_vectors, at_once.term_vectors)


def test_a_server_with_another_model_does_not_open_the_knowledge_base(
    server: EmbeddingsServer, tmp_path: Path
) -> None:
    update(tmp_path / "a.kb", documents(1), connect(server), plain_tokenizer(), silent)
    server.faults.append(lambda _: rows([1.0] * 16))
    with pytest.raises(KnowledgeBaseError, match=r"holds vectors of encoder 'openai:words@.*/32'"):
        open_knowledge_base(tmp_path / "a.kb", connect(server), silent)
