"""One contract for every encoder: the bundled one, and BGE-M3's real loading code on tiny random weights."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

from causalviz.backends.bge_m3 import BgeM3Encoder
from causalviz.backends.e5_small import E5SmallEncoder
from causalviz.bootstrap import make_encoder
from causalviz.errors import MissingBackendError, ParameterError
from causalviz.protocols import Encoder

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = [
    "数据出境的安全如何评估",
    "How does late interaction work?",
    "a",
    "😀",
    "word " * 400,
    "x\0y",
    "ends\n",
]


@pytest.fixture(scope="session")
def tiny_bge_m3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a model of BGE-M3's architecture with two small random layers, as FlagEmbedding expects it on disk."""
    folder = tmp_path_factory.mktemp("bge-m3")
    letters = sorted(set("".join(TEXTS)) | set("abcdefghijklmnopqrstuvwxyz?"))
    vocabulary = {token: i for i, token in enumerate(["<s>", "<pad>", "</s>", "<unk>", *letters])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = {"bos": "<s>", "cls": "<s>", "eos": "</s>", "sep": "</s>", "pad": "<pad>", "unk": "<unk>"}
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]  # published without types
        tokenizer_object=tokenizer,
        model_max_length=512,
        **{f"{name}_token": token for name, token in names.items()},
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=8194,
        type_vocab_size=1,
        pad_token_id=1,
    )
    XLMRobertaModel(config).save_pretrained(folder)
    torch.save(torch.nn.Linear(32, 32).state_dict(), folder / "colbert_linear.pt")
    torch.save(torch.nn.Linear(32, 1).state_dict(), folder / "sparse_linear.pt")
    return folder


@pytest.fixture(scope="session", params=["e5-small", "bge-m3"])
def encoder(request: pytest.FixtureRequest, tiny_bge_m3: Path) -> Encoder:
    """Give each encoder in turn."""
    makers: dict[str, Callable[[], Encoder]] = {
        "e5-small": E5SmallEncoder,
        "bge-m3": lambda: BgeM3Encoder(str(tiny_bge_m3)),
    }
    return makers[request.param]()


def test_rows_are_float32_of_norm_one_in_order(encoder: Encoder) -> None:
    for encode in (encoder.encode_queries, encoder.encode_documents):
        vectors = encode(TEXTS)
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(TEXTS), encoder.dim)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
        alone = np.concatenate([encode([text]) for text in TEXTS])
        assert vectors == pytest.approx(alone, abs=1e-5)


def test_nothing_gives_nothing_and_an_empty_text_a_zero_row(encoder: Encoder) -> None:
    assert encoder.encode_queries([]).shape == (0, encoder.dim)
    vectors = encoder.encode_documents(["a", "", "  \n"])
    assert vectors[1:].tolist() == np.zeros((2, encoder.dim)).tolist()
    assert vectors[0].any()


def test_the_same_text_gives_the_same_bits_from_any_thread(encoder: Encoder) -> None:
    first = encoder.encode_queries(TEXTS[:3])
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: encoder.encode_queries(TEXTS[:3]), range(8)):
            assert np.array_equal(found, first)


def test_the_default_tau_is_a_cosine(encoder: Encoder) -> None:
    assert all(-1 <= encoder.default_tau(centred=centred) <= 1 for centred in (False, True))


def test_a_text_after_a_nul_is_not_lost() -> None:
    encoder = E5SmallEncoder()
    assert np.array_equal(encoder.encode_queries(["x\0y"]), encoder.encode_queries(["x y"]))


def test_the_name_tells_other_weights_apart(tiny_bge_m3: Path, tmp_path: Path) -> None:
    name = BgeM3Encoder(str(tiny_bge_m3)).name
    assert name.startswith("bge-m3@")
    assert BgeM3Encoder(str(tiny_bge_m3)).name == name
    config = json.loads((tiny_bge_m3 / "config.json").read_text())
    for file in tiny_bge_m3.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "config.json").write_text(json.dumps(config | {"layer_norm_eps": 1e-6}))
    assert BgeM3Encoder(str(tmp_path)).name != name


def test_an_encoder_is_chosen_by_name_and_place(tiny_bge_m3: Path) -> None:
    assert make_encoder("e5-small").name == "e5-small"
    assert make_encoder(f"bge-m3:{tiny_bge_m3}").dim == 32
    with pytest.raises(ParameterError, match="no encoder 'word2vec'; choose one of: e5-small, bge-m3"):
        make_encoder("word2vec")


def test_absent_weights_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(MissingBackendError, match=r"cannot be loaded from.*e5-small \(bundled\)"):
        make_encoder(f"bge-m3:{tmp_path}")
