"""One contract for both kinds of reranker: their real loading and scoring code on tiny random weights."""

import json
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from FlagEmbedding import FlagReranker
from sentence_transformers import CrossEncoder, SentenceTransformer
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertJapaneseTokenizer,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
    XLMRobertaModel,
)

from causalviz.backends import rerankers
from causalviz.backends.rerankers import CrossEncoderReranker, FlagEmbeddingReranker
from causalviz.bootstrap import make_reranker, unload
from causalviz.errors import BackendError, MissingBackendError, ParameterError
from causalviz.protocols import Reranker
from causalviz.rank import ordered
from causalviz.settings import Settings

LIMIT = 96
QUERY = "How does late interaction work"
SENTENCES = [
    "Late interaction keeps one vector for every token and sums their maximum similarity.",
    "数据出境的安全评估由省级网信部门受理，并在规定的时间内完成。",
    "A meetup on search: late, later, latest; how does it work and how does it not work.",
]
LONG = " ".join(SENTENCES[i % 3] + f" {i}" for i in range(30))
TEXTS = [*SENTENCES, LONG, "late", "安全"]
SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    # Larger than usual, so that random weights tell texts apart.
    "initializer_range": 0.5,
    "num_labels": 1,
}
NETWORKS: dict[str, Any] = {
    "flag-reranker": XLMRobertaForSequenceClassification,
    "cross": BertForSequenceClassification,
}
MARKS: dict[str, Any] = {
    "cls_token": "<s>",
    "sep_token": "</s>",
    "eos_token": "</s>",
    "pad_token": "<pad>",
    "unk_token": "<unk>",
}


def save_tokenizer(folder: Path, *, pieces: bool) -> int:
    """Train a tokenizer on the sentences: SentencePiece's kind as XLM-R has it, or WordPiece as BERT has it."""
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer: trainers.Trainer
    if pieces:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=200, special_tokens=special, unk_token=special[3], show_progress=False
        )
        pair = "<s> $A </s> </s> $B </s>"
    else:
        tokenizer = Tokenizer(models.WordPiece(unk_token=special[3]))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(vocab_size=200, special_tokens=special, show_progress=False)
        pair = "<s> $A </s> $B:1 </s>:1"
    tokenizer.train_from_iterator([LONG, QUERY], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair=pair, special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=LIMIT,
        model_input_names=["input_ids", "attention_mask", *([] if pieces else ["token_type_ids"])],
        **MARKS,
    ).save_pretrained(folder)
    return int(tokenizer.get_vocab_size())


@pytest.fixture(scope="session")
def tiny_flag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a model of bge-reranker-v2-m3's architecture with two small random layers."""
    folder = tmp_path_factory.mktemp("flag")
    words = save_tokenizer(folder, pieces=True)
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=words,
        max_position_embeddings=LIMIT + 2,
        type_vocab_size=1,
        pad_token_id=1,
        **SMALL,
    )
    XLMRobertaForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_cross(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a model of MiniLM's architecture likewise."""
    folder = tmp_path_factory.mktemp("cross")
    words = save_tokenizer(folder, pieces=False)
    torch.manual_seed(1)
    config = BertConfig(vocab_size=words, max_position_embeddings=LIMIT, pad_token_id=1, **SMALL)
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session", params=["flag-reranker", "cross"])
def kind(request: pytest.FixtureRequest) -> str:
    """Give each kind in turn."""
    return str(request.param)


@pytest.fixture(scope="session")
def folder(kind: str, tiny_flag: Path, tiny_cross: Path) -> Path:
    """Its weights."""
    return {"flag-reranker": tiny_flag, "cross": tiny_cross}[kind]


@pytest.fixture(scope="session")
def reranker(kind: str, folder: Path) -> Any:  # noqa: ANN401 - tests look inside
    """Load it."""
    return {"flag-reranker": FlagEmbeddingReranker, "cross": CrossEncoderReranker}[kind](str(folder))


@pytest.fixture(scope="session")
def library(kind: str, folder: Path) -> Callable[[str, str], float]:
    """Score one pair with the library itself, and nothing of ours."""
    if kind == "cross":
        model = CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Identity())
        return lambda query, text: float(model.predict([(query, text)], show_progress_bar=False)[0])
    flag = FlagReranker(str(folder), use_fp16=False, devices="cpu")
    return lambda query, text: float(
        flag.compute_score([(query, text)], batch_size=2, max_length=LIMIT, query_max_length=LIMIT)[0]
    )


def before_reading(reranker: Any, check: Callable[[torch.Tensor, torch.Tensor], None]) -> Any:  # noqa: ANN401 - either kind
    """Call with the token ids and the mask of every batch before the network reads it, until the hook is removed."""
    network = getattr(reranker, "_network", None) or reranker._model.model  # noqa: SLF001 - nothing else tells

    def call(_: object, args: tuple[torch.Tensor, ...], inputs: dict[str, torch.Tensor]) -> None:
        check(args[0] if args else inputs["input_ids"], inputs["attention_mask"])

    return network.base_model.register_forward_pre_hook(call, with_kwargs=True)


def read_inputs(reranker: Any, run: Callable[[], object]) -> list[list[int]]:  # noqa: ANN401 - of either kind
    """Token ids of every pair the network is given during a run, without padding."""
    seen: list[list[int]] = []

    def note(ids: torch.Tensor, masks: torch.Tensor) -> None:
        seen.extend(row[mask.bool()].tolist() for row, mask in zip(ids, masks, strict=True))

    hook = before_reading(reranker, note)
    try:
        run()
    finally:
        hook.remove()
    assert seen
    return seen


def test_scores_are_the_librarys_own_in_order_and_raw(
    reranker: Reranker, library: Callable[[str, str], float]
) -> None:
    short = [text for text in TEXTS if text != LONG]
    scores = reranker.score(QUERY, short)
    assert scores.dtype == np.float32
    expected = [library(QUERY, text) for text in short]
    assert scores == pytest.approx(expected, abs=1e-4)
    # The random weights do tell the texts apart, and a sigmoid would not give this.
    assert np.ptp(scores) > 0.05
    assert ((scores < 0) | (scores > 1)).any()
    assert ordered(scores.astype(np.float64)).tolist() == np.argsort(-np.array(expected)).tolist()


def test_a_long_text_scores_as_its_best_passage(
    reranker: Any,  # noqa: ANN401 - the test looks inside
    library: Callable[[str, str], float],
) -> None:
    parts = reranker._passages(QUERY, LONG)  # noqa: SLF001 - the library scores each by itself
    assert len(parts) > 5
    expected = max(library(QUERY, part) for part in parts)
    assert reranker.score(QUERY, [LONG])[0] == pytest.approx(expected, abs=1e-4)
    assert reranker.score(QUERY, parts).max() == reranker.score(QUERY, [LONG])[0]


def test_the_whole_question_stands_before_every_passage_and_no_token_is_lost(reranker: Any) -> None:  # noqa: ANN401
    tokenizer = reranker._tokenizer  # noqa: SLF001 - the test looks inside
    seen = read_inputs(reranker, lambda: reranker.score(QUERY, [LONG]))
    question = tokenizer(QUERY, add_special_tokens=False)["input_ids"]
    assert all(len(ids) <= LIMIT for ids in seen)
    # Nearly full: the passages are as long as they may be.
    assert sorted(len(ids) for ids in seen)[1] > 0.8 * LIMIT
    assert all(ids[1 : 1 + len(question)] == question for ids in seen)
    # Were a passage cut short by the tokenizer, its end would be missing.
    for part in reranker._passages(QUERY, LONG):  # noqa: SLF001 - the test looks inside
        whole = tokenizer(QUERY, part, truncation=False)["input_ids"]
        assert whole in seen


def test_a_question_too_long_leaves_half_for_the_passage(reranker: Any) -> None:  # noqa: ANN401 - looks inside
    query = " ".join([QUERY] * 40)
    seen = read_inputs(reranker, lambda: reranker.score(query, [LONG]))
    tokenizer = reranker._tokenizer  # noqa: SLF001 - the test looks inside
    end = tokenizer.sep_token_id
    for ids in seen:
        assert len(ids) <= LIMIT
        # The marks count as the question's.
        assert ids.index(end) + 1 <= LIMIT // 2
    assert max(len(ids) for ids in seen) > 0.8 * LIMIT
    assert max(ids.index(end) for ids in seen) > 0.3 * LIMIT


def test_an_empty_text_has_no_score_and_ranks_last(reranker: Reranker) -> None:
    scores = reranker.score(QUERY, ["", TEXTS[0], " \n", TEXTS[1]])
    assert np.isnan(scores).tolist() == [True, False, True, False]
    assert set(ordered(scores.astype(np.float64))[2:].tolist()) == {0, 2}
    assert reranker.score(QUERY, []).shape == (0,)


def test_the_same_call_gives_the_same_bits_from_any_thread(reranker: Reranker) -> None:
    first = reranker.score(QUERY, TEXTS)
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: reranker.score(QUERY, TEXTS), range(8)):
            assert np.array_equal(found, first)


def test_a_score_depends_on_no_other_text_and_no_batch(
    reranker: Reranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = reranker.score(QUERY, TEXTS)
    assert together == pytest.approx([reranker.score(QUERY, [text])[0] for text in TEXTS], abs=1e-4)
    assert together[::-1] == pytest.approx(reranker.score(QUERY, TEXTS[::-1]), abs=1e-4)
    for size in (1, 3):
        monkeypatch.setattr(rerankers, "BATCH", size)
        assert reranker.score(QUERY, TEXTS) == pytest.approx(together, abs=1e-4)


def test_the_same_text_scores_the_same_to_the_last_bit(
    reranker: Reranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerankers, "BATCH", 2)
    scores = reranker.score(QUERY, [TEXTS[0], "late", LONG, TEXTS[0], TEXTS[2], TEXTS[0]])
    assert scores[0] == scores[3] == scores[5]


def test_progress_counts_characters_and_may_cancel(reranker: Reranker) -> None:
    told: list[tuple[int, int]] = []
    reranker.score(QUERY, TEXTS, lambda done, total, _: told.append((done, total)))
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert len({total for _, total in told}) == 1
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1] >= len(LONG)

    def cancel(done: int, _: int, __: str) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reranker.score(QUERY, TEXTS, cancel)
    assert np.isfinite(reranker.score(QUERY, TEXTS)).all()


def test_unknown_characters_and_marks_in_a_text_are_only_text(reranker: Reranker) -> None:
    odd = ["😀" * 100, "x\0y", "</s> <s> late </s>", "a" * 500, "ends\n", "\ud800 lone"]
    assert np.isfinite(reranker.score(QUERY, odd)).all()


def test_less_memory_makes_smaller_batches(reranker: Any) -> None:  # noqa: ANN401 - looks inside
    expected = reranker.score(QUERY, TEXTS)
    sizes: list[int] = []

    def fail_above_two(ids: torch.Tensor, _: torch.Tensor) -> None:
        sizes.append(len(ids))
        if sizes[-1] > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    hook = before_reading(reranker, fail_above_two)
    try:
        assert reranker.score(QUERY, TEXTS) == pytest.approx(expected, abs=1e-4)
    finally:
        hook.remove()
    assert sizes[0] > 2
    assert sizes[-1] <= 2


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (
            torch.OutOfMemoryError("CUDA out of memory."),
            "ran out of memory on one passage of at most 96 tokens; close",
        ),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "ran out of memory on one passage"),
        (MemoryError(), "ran out of memory on one passage"),
    ],
)
def test_no_memory_at_all_is_said(reranker: Any, error: Exception, named: str) -> None:  # noqa: ANN401 - looks inside
    def fail(*_: object) -> None:
        raise error

    hook = before_reading(reranker, fail)
    try:
        with pytest.raises(BackendError, match=named):
            reranker.score(QUERY, TEXTS)
    finally:
        hook.remove()
    assert np.isfinite(reranker.score(QUERY, TEXTS)).all()


def test_another_failure_is_not_called_memory(reranker: Any) -> None:  # noqa: ANN401 - looks inside
    def fail(*_: object) -> None:
        raise RuntimeError("device lost")

    hook = before_reading(reranker, fail)
    try:
        with pytest.raises(RuntimeError, match="device lost"):
            reranker.score(QUERY, TEXTS)
    finally:
        hook.remove()


def test_a_score_that_is_no_number_is_refused(kind: str, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    model = NETWORKS[kind].from_pretrained(tmp_path)
    for weights in model.classifier.parameters():
        weights.data.fill_(float("nan"))
    model.save_pretrained(tmp_path)
    with pytest.raises(BackendError, match="gave a score that is NaN or infinite, but a number was expected"):
        make_reranker(f"{kind}:{tmp_path}").score(QUERY, TEXTS)


def test_the_name_tells_weights_apart_and_not_where_they_lie(kind: str, folder: Path, tmp_path: Path) -> None:
    name = make_reranker(f"{kind}:{folder}").name
    assert name.startswith(f"{kind}:{folder.name}@")
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    assert make_reranker(f"{kind}:{copy}").name == name
    weights = copy / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    unload("reranker", replace(Settings.of({}), reranker=f"{kind}:{copy}"))
    assert make_reranker(f"{kind}:{copy}").name != name


def test_a_reranker_is_chosen_by_name_and_place(tiny_flag: Path, tiny_cross: Path) -> None:
    kinds: dict[str, type] = {
        f"bge-reranker-v2-m3:{tiny_flag}": FlagEmbeddingReranker,
        f"flag-reranker:{tiny_flag}": FlagEmbeddingReranker,
        f"cross:{tiny_cross}": CrossEncoderReranker,
        f"cross:{tiny_flag}": CrossEncoderReranker,
    }
    for name, expected in kinds.items():
        found = make_reranker(name)
        assert type(found) is expected
        assert make_reranker(name) is found
    for wrong in ("cohere", "cross", "flag-reranker:", ""):
        with pytest.raises(
            ParameterError, match=f"no reranker '{wrong}'; choose one of: bge-reranker-v2-m3, "
        ):
            make_reranker(wrong)


def test_both_kinds_read_the_same_weights_alike(tiny_flag: Path) -> None:
    flag, cross = FlagEmbeddingReranker(str(tiny_flag)), CrossEncoderReranker(str(tiny_flag))
    assert flag.score(QUERY, TEXTS) == pytest.approx(cross.score(QUERY, TEXTS), abs=1e-4)


def test_a_sigmoid_the_model_declares_is_left_out(tiny_cross: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_cross, tmp_path, dirs_exist_ok=True)
    config = json.loads((tmp_path / "config.json").read_text())
    config["sentence_transformers"] = {"activation_fn": "torch.nn.modules.activation.Sigmoid"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    squashed = CrossEncoder(str(tmp_path), device="cpu").predict([(QUERY, "late")], show_progress_bar=False)
    raw = CrossEncoderReranker(str(tmp_path)).score(QUERY, ["late"])
    assert 1 / (1 + np.exp(-raw)) == pytest.approx(squashed, abs=1e-5)
    assert raw == pytest.approx(CrossEncoderReranker(str(tiny_cross)).score(QUERY, ["late"]), abs=1e-5)


def test_a_saved_cross_encoder_loads_as_one(tiny_cross: Path, tmp_path: Path) -> None:
    CrossEncoder(str(tiny_cross), device="cpu").save_pretrained(str(tmp_path))
    assert (tmp_path / "modules.json").exists()
    found = CrossEncoderReranker(str(tmp_path)).score(QUERY, TEXTS)
    assert found == pytest.approx(CrossEncoderReranker(str(tiny_cross)).score(QUERY, TEXTS), abs=1e-4)


def test_a_causal_language_model_answers_yes_or_no(tmp_path: Path) -> None:
    words = ["<s>", "<pad>", "</s>", "<unk>", "yes", "no", *sorted(set(f"{QUERY} {LONG}".split()))]
    vocabulary = {word: i for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=LIMIT,
        **MARKS,
    ).save_pretrained(tmp_path)
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(words),
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=LIMIT,
        pad_token_id=1,
        **SMALL,
    )
    Qwen3ForCausalLM(config).save_pretrained(tmp_path)
    model = CrossEncoder(str(tmp_path), device="cpu", activation_fn=torch.nn.Identity())
    reranker = CrossEncoderReranker(str(tmp_path))
    expected = model.predict([(QUERY, text) for text in SENTENCES], show_progress_bar=False)
    assert reranker.score(QUERY, SENTENCES) == pytest.approx(expected, abs=1e-4)
    assert np.isfinite(reranker.score(QUERY, [LONG])).all()
    with pytest.raises(
        MissingBackendError, match="holds Qwen3ForCausalLM, but a reranker reads question and text tog"
    ):
        FlagEmbeddingReranker(str(tmp_path))


def test_a_tokenizer_that_tells_no_places_cuts_by_characters(tiny_cross: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_cross, tmp_path, dirs_exist_ok=True)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "tokenizer_config.json").unlink()
    characters = ["<s>", "<pad>", "</s>", "<unk>", *sorted(set(LONG + QUERY) - {" "})]
    (tmp_path / "vocab.txt").write_text("\n".join(characters), encoding="utf-8")
    BertJapaneseTokenizer(
        str(tmp_path / "vocab.txt"),
        word_tokenizer_type="basic",
        subword_tokenizer_type="character",
        do_lower_case=False,
        model_max_length=LIMIT,
        **MARKS,
    ).save_pretrained(tmp_path)
    reranker = CrossEncoderReranker(str(tmp_path))
    assert not reranker._tokenizer.is_fast  # noqa: SLF001 - else this tests nothing
    seen = read_inputs(reranker, lambda: reranker.score("安全", [LONG]))
    assert all(len(ids) <= LIMIT for ids in seen)
    assert sum(map(len, seen)) > len(LONG.replace(" ", ""))


@pytest.fixture(scope="session")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Save encoders: a bare network, and one of sentence-transformers."""
    bare, sentence = tmp_path_factory.mktemp("bare"), tmp_path_factory.mktemp("sentence")
    words = save_tokenizer(bare, pieces=True)
    XLMRobertaModel(
        XLMRobertaConfig(vocab_size=words, max_position_embeddings=LIMIT + 2, pad_token_id=1, **SMALL)
    ).save_pretrained(bare)
    SentenceTransformer(str(bare), device="cpu").save_pretrained(str(sentence))
    return {"bare": bare, "sentence": sentence}


def test_an_encoder_is_refused_as_a_reranker(kind: str, encoders: dict[str, Path]) -> None:
    named = (
        "holds XLMRobertaModel, but a reranker reads question and text together .*choose one, such as bge-rer"
    )
    with pytest.raises(MissingBackendError, match=named):
        make_reranker(f"{kind}:{encoders['bare']}")
    if kind == "cross":
        named = "is a SentenceTransformer of sentence-transformers, but a reranker is a CrossEncoder"
    with pytest.raises(MissingBackendError, match=named):
        make_reranker(f"{kind}:{encoders['sentence']}")


def test_a_classifier_with_several_labels_is_refused(kind: str, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    NETWORKS[kind].from_pretrained(folder, num_labels=3, ignore_mismatched_sizes=True).save_pretrained(
        tmp_path
    )
    with pytest.raises(MissingBackendError, match="gives 3 numbers for a pair, but a reranker gives one"):
        make_reranker(f"{kind}:{tmp_path}")


def test_absent_and_damaged_weights_say_what_to_do(
    kind: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = f"the weights of reranker '.*' cannot be loaded \\(.*\\); connect once .*folder as {kind}:FOLDER, or go"
    with pytest.raises(MissingBackendError, match=named):
        make_reranker(f"{kind}:{tmp_path}")
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(MissingBackendError, match=named):
        make_reranker(f"{kind}:{tmp_path}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(MissingBackendError, match=named):
        make_reranker(f"{kind}:nobody/no-such-reranker")


def test_an_absent_package_is_named(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = {"flag-reranker": "FlagEmbedding", "cross": "sentence_transformers"}[kind]
    monkeypatch.setitem(sys.modules, package, None)
    named = (
        f"reranker '{kind}:.*' needs {package.replace('_', '-')} and torch .*pip install -r requirements.txt"
    )
    unload("reranker", replace(Settings.of({}), reranker=f"{kind}:{folder}"))
    with pytest.raises(MissingBackendError, match=named):
        make_reranker(f"{kind}:{folder}")
