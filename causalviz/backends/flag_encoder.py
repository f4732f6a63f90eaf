"""Any encoder FlagEmbedding knows, with its way of giving an instruction."""

import threading
from collections.abc import Sequence
from typing import Any

from causalviz.arrays import FloatMatrix
from causalviz.backends.loading import (
    DOCUMENT_BATCH,
    LOADING_ERRORS,
    LONGEST,
    QUERY_BATCH,
    first_line,
    instruction_mark,
    loading,
    model_name,
    unit_rows,
    without_bars,
)
from causalviz.errors import MissingBackendError

_MUCH = 1 << 30
"""A tokenizer that knows no limit says a huge number."""


class FlagEncoder:
    """A model of FlagEmbedding on the GPU in half precision where there is one, else on the CPU.

    FlagEmbedding knows models by the last part of their id or folder: their network, their pooling and where an
    instruction goes, but not the instruction itself.
    """

    def __init__(self, model: str, query_instruction: str = "", passage_instruction: str = "") -> None:
        """Load the weights.

        Args:
            model: A hub id, whose weights are downloaded once, or a folder that holds them.
            query_instruction: Given with questions and keywords; "" for none.
            passage_instruction: Given with passages.

        Raises:
            MissingBackendError: FlagEmbedding is not installed or does not know the model, or the weights cannot be
                loaded.
        """
        try:
            import torch
            from FlagEmbedding import FlagAutoModel
        except ImportError as error:
            raise MissingBackendError(
                f"encoder 'flag:{model}' needs FlagEmbedding and torch ({error}); run "
                "`pip install -r requirements.txt`, or choose --encoder e5-small (bundled)."
            ) from error
        gpu = torch.cuda.is_available()
        try:
            with loading(model):
                self._model: Any = FlagAutoModel.from_finetuned(
                    model,
                    use_fp16=gpu,
                    devices="cuda:0" if gpu else "cpu",
                    query_instruction_for_retrieval=query_instruction or None,
                    passage_instruction_for_retrieval=passage_instruction or None,
                    # Code that comes with weights is not run.
                    trust_remote_code=False,
                )
        except LOADING_ERRORS as error:
            raise MissingBackendError(
                f"FlagEmbedding cannot load encoder '{model}' ({first_line(error)}); connect once to download it, name "
                "its folder as the model is called on the hub, or choose st:ID_OR_FOLDER or e5-small (bundled)."
            ) from error
        without_bars(self._model)
        self.name = model_name("flag", model) + instruction_mark(query_instruction, passage_instruction)
        network = self._model.model
        self.dim = int(getattr(network, "model", network).config.hidden_size)
        self._longest = min(LONGEST, _longest(self._model.tokenizer, network))
        self._lock = threading.Lock()

    def default_tau(self, *, centred: bool) -> None:
        """Nothing is known; the knowledge base proposes one."""

    def encode_queries(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode questions and keywords; see Encoder."""
        return self._encode(texts, self._model.encode_queries, QUERY_BATCH)

    def encode_documents(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode passages; see Encoder."""
        return self._encode(texts, self._model.encode_corpus, DOCUMENT_BATCH)

    def _encode(self, texts: Sequence[str], encode: Any, batch: int) -> FloatMatrix:  # noqa: ANN401 - published without types
        def dense(filled: list[str]) -> Any:  # noqa: ANN401 - published without types
            found = encode(filled, batch_size=batch, max_length=self._longest)
            return found["dense_vecs"] if isinstance(found, dict) else found

        with self._lock:
            return unit_rows(texts, self.dim, dense, f"encoder '{self.name}'")


def _longest(tokenizer: Any, network: Any) -> int:  # noqa: ANN401 - published without types
    """Tokens a model reads: what its tokenizer says, and the places its position embeddings have."""
    limits = [tokenizer.model_max_length]
    positions = getattr(getattr(network, "embeddings", None), "position_embeddings", None)
    if positions is not None:
        # RoBERTa's places begin behind the padding's.
        limits.append(
            positions.num_embeddings - (0 if positions.padding_idx is None else positions.padding_idx + 1)
        )
    return min([int(limit) for limit in limits if limit < _MUCH], default=_MUCH)
