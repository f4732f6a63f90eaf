"""Cross-encoders as rerankers: FlagEmbedding's and sentence-transformers', for documents of any length."""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from causalviz.arrays import FloatVector
from causalviz.backends.loading import LOADING_ERRORS, encodable, first_line, loading, model_name
from causalviz.documents.passages import passages
from causalviz.errors import BackendError, MissingBackendError
from causalviz.protocols import Progress

BGE_RERANKER = "BAAI/bge-reranker-v2-m3"
"""The paper's reranker."""
LONGEST = 1024
"""Tokens of a pair, where the model does not read fewer: bge-reranker-v2-m3 was trained on as many."""
BATCH = 16
_PROBE = "a"
"""The shortest passage there is, to measure what a question leaves room for."""


class _PassageReranker(ABC):
    """Scores documents by their best passage; how one pair is read is the subclass's."""

    name: str
    _tokenizer: Any
    _limit: int

    def __init__(self) -> None:
        # Tokenizers keep the truncation of the last call, so two threads must not share one at a time.
        self._lock = threading.Lock()

    def score(self, query: str, texts: Sequence[str], progress: Progress | None = None) -> FloatVector:
        """Score texts for a question; see Reranker."""
        question = self._question(encodable(query))
        cut = [self._passages(question, text) if text.strip() else [] for text in map(encodable, texts)]
        # Each distinct passage once: padding moves a score's last bits, and the same text must score the same. The
        # longest first: a batch is padded to its longest, and memory runs out early or not at all.
        distinct = sorted(dict.fromkeys(passage for parts in cut for passage in parts), key=len, reverse=True)
        found = dict(zip(distinct, self._batches(question, distinct, progress), strict=True))
        return np.array([max((found[part] for part in parts), default=np.nan) for parts in cut], np.float32)

    def _question(self, query: str) -> str:
        """Cut a question that would leave a passage less than half of the tokens."""
        half = self._limit // 2
        kept = passages(query, self._spans(query), lambda text: self._length(text, _PROBE) - half, half)
        return next(iter(kept), query)

    def _passages(self, question: str, text: str) -> list[str]:
        room = max(1, self._limit - len(self._spans(question)))
        return passages(
            text, self._spans(text), lambda part: self._length(question, part) - self._limit, room
        )

    def _batches(self, question: str, parts: Sequence[str], progress: Progress | None) -> list[float]:
        scores: list[float] = []
        characters, size = sum(map(len, parts)), BATCH
        while len(scores) < len(parts):
            if progress:
                progress(sum(map(len, parts[: len(scores)])), characters, "reading with the reranker")
            batch = parts[len(scores) : len(scores) + size]
            try:
                with self._lock:
                    found = self._pair_scores(question, batch)
            except (RuntimeError, MemoryError) as error:
                # torch tells of memory in words only; its classes differ between devices.
                if not (isinstance(error, MemoryError) or "memory" in str(error)):
                    raise
                if len(batch) == 1:
                    raise BackendError(
                        f"reranker '{self.name}' ran out of memory on one passage of at most {self._limit} tokens; "
                        "close other programs, or choose a smaller reranker."
                    ) from error
                size = len(batch) // 2
                continue
            if not np.isfinite(found).all():
                raise BackendError(
                    f"reranker '{self.name}' gave a score that is NaN or infinite, but a number was expected; "
                    "check its weights, or choose another reranker."
                )
            scores.extend(found)
        if progress:
            progress(characters, characters, "reading with the reranker")
        return scores

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Character range of every token; of every character where the tokenizer does not tell."""
        if not self._tokenizer.is_fast:
            return [(i, i + 1) for i in range(len(text))]
        with self._lock:
            found = self._tokenizer(
                text, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
            )
        return [(start, end) for start, end in found["offset_mapping"] if end > start]

    @abstractmethod
    def _length(self, question: str, passage: str) -> int:
        """Count the tokens of a pair as the model reads it, nothing cut off."""

    @abstractmethod
    def _pair_scores(self, question: str, batch: Sequence[str]) -> list[float]:
        """Score passages that fit, in one pass: raw, in order."""


class FlagEmbeddingReranker(_PassageReranker):
    """An encoder-only reranker of FlagEmbedding: in half precision on the GPU where there is one, else on the CPU."""

    def __init__(self, model: str = BGE_RERANKER) -> None:
        """Load the weights.

        Args:
            model: A hub id, whose weights are downloaded once, or a folder that holds them.

        Raises:
            MissingBackendError: FlagEmbedding is not installed, or the weights cannot be loaded or are no reranker's.
        """
        super().__init__()
        try:
            import torch
            from FlagEmbedding import FlagReranker
        except ImportError as error:
            raise _absent_package(f"flag-reranker:{model}", "FlagEmbedding", error) from error
        gpu = torch.cuda.is_available()
        device = "cuda:0" if gpu else "cpu"
        try:
            with loading(model):
                _refuse_other_networks(model, ("ForSequenceClassification",))
                # Kept whole: when it goes, it moves its network off the GPU.
                self._model = FlagReranker(model, use_fp16=gpu, devices=device)
        except LOADING_ERRORS as error:
            raise _absent_weights(model, "flag-reranker", error) from error
        # FlagEmbedding's own loop reads the first batch of a call twice, turns texts into tokens and back, and hides
        # that memory ran out; what it computes is these two, and a test holds them to it.
        self._tokenizer = self._model.tokenizer
        self._network: Any = self._model.model.to(device).eval()
        if gpu:
            self._network.half()
        _refuse_several_scores(model, self._network.config.num_labels)
        self.name = model_name("flag-reranker", model)
        self._limit = _limit(self._tokenizer, self._network)

    def _length(self, question: str, passage: str) -> int:
        with self._lock:
            return len(self._tokenizer([question], [passage], verbose=False)["input_ids"][0])

    def _pair_scores(self, question: str, batch: Sequence[str]) -> list[float]:
        import torch

        inputs = self._tokenizer(
            [question] * len(batch),
            list(batch),
            padding=True,
            truncation="only_second",
            max_length=self._limit,
            return_tensors="pt",
        )
        with torch.inference_mode():
            logits = self._network(**inputs.to(self._network.device)).logits
        scores: list[float] = logits.view(-1).float().cpu().tolist()
        return scores


class CrossEncoderReranker(_PassageReranker):
    """A sentence-transformers CrossEncoder: in half precision on the GPU where there is one, else on the CPU."""

    def __init__(self, model: str) -> None:
        """Load the weights.

        Args:
            model: A hub id, whose weights are downloaded once, or a folder that holds them.

        Raises:
            MissingBackendError: sentence-transformers is not installed, or the weights cannot be loaded or are no
                reranker's.
        """
        super().__init__()
        try:
            import torch
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise _absent_package(f"cross:{model}", "sentence-transformers", error) from error
        gpu = torch.cuda.is_available()
        try:
            with loading(model):
                if (kind := _declared_kind(model)) is None:
                    _refuse_other_networks(model, ("ForSequenceClassification", "ForCausalLM"))
                elif kind != CrossEncoder.__name__:
                    raise MissingBackendError(
                        f"'{model}' is a {kind} of sentence-transformers, but a reranker is a CrossEncoder; choose "
                        "one, such as bge-reranker-v2-m3."
                    )
                self._model = CrossEncoder(
                    model,
                    device="cuda" if gpu else "cpu",
                    model_kwargs={"dtype": torch.float16} if gpu else None,
                    # Raw: in float32 a sigmoid makes 1 of every score above 17, and their order is lost.
                    activation_fn=torch.nn.Identity(),
                )
        except LOADING_ERRORS as error:
            raise _absent_weights(model, "cross", error) from error
        _refuse_several_scores(model, self._model.num_labels)
        self.name = model_name("cross", model)
        self._tokenizer = self._model.tokenizer
        self._limit = self._model.max_seq_length = _limit(self._tokenizer, self._model.model)
        self._prompt = self._model.prompts.get(self._model.default_prompt_name or "")

    def _length(self, question: str, passage: str) -> int:
        whole = {"text": {"truncation": False, "verbose": False}}
        with self._lock:
            read = self._model.preprocess([(question, passage)], prompt=self._prompt, processing_kwargs=whole)
        return int(read["input_ids"].shape[-1])

    def _pair_scores(self, question: str, batch: Sequence[str]) -> list[float]:
        pairs = [(question, passage) for passage in batch]
        scores: list[float] = self._model.predict(
            pairs, batch_size=len(pairs), show_progress_bar=False
        ).tolist()
        return scores


def _limit(tokenizer: Any, network: Any) -> int:  # noqa: ANN401 - published without types
    """Tokens of a pair: what the tokenizer says, and the places the position embeddings have."""
    limits = [LONGEST, tokenizer.model_max_length]
    positions = getattr(getattr(network.base_model, "embeddings", None), "position_embeddings", None)
    if positions is not None:
        # RoBERTa's places begin behind the padding's.
        limits.append(
            positions.num_embeddings - (0 if positions.padding_idx is None else positions.padding_idx + 1)
        )
    return int(min(limits))


def _declared_kind(model: str) -> str | None:
    """Class of sentence-transformers a model was saved from; None for a plain network."""
    from sentence_transformers.util import load_file_path

    if load_file_path(model, "modules.json") is None:
        return None
    config = load_file_path(model, "config_sentence_transformers.json")
    kind = json.loads(Path(config).read_text(encoding="utf-8")).get("model_type") if config else None
    # Encoders saved before there were other classes say nothing.
    return str(kind or "SentenceTransformer")


def _refuse_other_networks(model: str, suffixes: tuple[str, ...]) -> None:
    """Look before loading: the libraries give an encoder's weights a random last layer, and score with it."""
    from transformers import AutoConfig

    network = next(iter(AutoConfig.from_pretrained(model).architectures or ()), "a network of no name")
    if not network.endswith(suffixes):
        raise MissingBackendError(
            f"'{model}' holds {network}, but a reranker reads question and text together (a network whose name ends in "
            f"{' or '.join(suffixes)}); choose one, such as bge-reranker-v2-m3."
        )


def _refuse_several_scores(model: str, count: int) -> None:
    if count != 1:
        raise MissingBackendError(
            f"'{model}' gives {count} numbers for a pair, but a reranker gives one; choose one that does, such as "
            "bge-reranker-v2-m3."
        )


def _absent_package(name: str, package: str, error: ImportError) -> MissingBackendError:
    return MissingBackendError(
        f"reranker '{name}' needs {package} and torch ({error}); run `pip install -r requirements.txt`, or go without "
        "a reranker."
    )


def _absent_weights(model: str, kind: str, error: Exception) -> Exception:
    if isinstance(error, MissingBackendError):
        return error
    return MissingBackendError(
        f"the weights of reranker '{model}' cannot be loaded ({first_line(error)}); connect once to download them, "
        f"give their folder as {kind}:FOLDER, or go without a reranker."
    )
