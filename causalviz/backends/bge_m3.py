"""The paper's encoder: BGE-M3's dense vectors through FlagEmbedding."""

import threading
from collections.abc import Sequence
from pathlib import Path

from causalviz.arrays import FloatMatrix
from causalviz.backends.loading import (
    DOCUMENT_BATCH,
    LOADING_ERRORS,
    LONGEST,
    QUERY_BATCH,
    first_line,
    loading,
    revision,
    unit_rows,
    without_bars,
)
from causalviz.errors import MissingBackendError

HUB_ID = "BAAI/bge-m3"
QUERY_TOKENS = 512
DOCUMENT_TOKENS = LONGEST
"""What the model was trained for; a chunk of 4,096 characters fits."""


class BgeM3Encoder:
    """BGE-M3 on the GPU in half precision where there is one, else on the CPU; it needs no instructions."""

    def __init__(self, model: str = HUB_ID) -> None:
        """Load the weights.

        Args:
            model: A hub id, whose weights are downloaded once, or a folder that holds them.

        Raises:
            MissingBackendError: FlagEmbedding is not installed, or the weights cannot be loaded.
        """
        try:
            import torch
            from FlagEmbedding import BGEM3FlagModel
        except ImportError as error:
            raise MissingBackendError(
                f"encoder 'bge-m3' needs FlagEmbedding and torch ({error}); run `pip install -r requirements.txt`, "
                "or choose --encoder e5-small (bundled)."
            ) from error
        if Path(model, "config.json").is_file() and not Path(model, "sparse_linear.pt").is_file():
            raise MissingBackendError(
                f"'{model}' holds a model without sparse_linear.pt, so it is no BGE-M3; choose st:FOLDER or "
                "flag:FOLDER for it, or e5-small (bundled)."
            )
        gpu = torch.cuda.is_available()
        try:
            with loading(model):
                self._model = BGEM3FlagModel(model, use_fp16=gpu, devices="cuda:0" if gpu else "cpu")
        except LOADING_ERRORS as error:
            raise MissingBackendError(
                f"the weights of encoder 'bge-m3' cannot be loaded from '{model}' ({first_line(error)}); "
                "connect once to download them, give their folder as --encoder bge-m3:FOLDER, or choose e5-small "
                "(bundled)."
            ) from error
        without_bars(self._model)
        self.name = f"bge-m3@{revision(model)}"
        self.dim = int(self._model.model.model.config.hidden_size)
        self._lock = threading.Lock()

    def default_tau(self, *, centred: bool) -> float | None:
        """Return 0.6, the paper's choice for raw vectors; for centred ones there is none."""
        return None if centred else 0.6

    def encode_queries(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode questions and keywords; see Encoder."""
        return self._encode(texts, QUERY_BATCH, QUERY_TOKENS)

    def encode_documents(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode passages; see Encoder."""
        return self._encode(texts, DOCUMENT_BATCH, DOCUMENT_TOKENS)

    def _encode(self, texts: Sequence[str], batch: int, max_length: int) -> FloatMatrix:
        with self._lock:
            return unit_rows(
                texts,
                self.dim,
                lambda filled: self._model.encode(filled, batch_size=batch, max_length=max_length)[
                    "dense_vecs"
                ],
                f"encoder '{self.name}'",
            )
