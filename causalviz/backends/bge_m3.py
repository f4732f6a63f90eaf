"""The paper's encoder: BGE-M3's dense vectors through FlagEmbedding."""

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from causalviz.errors import MissingBackendError
from causalviz.records import FloatMatrix

HUB_ID = "BAAI/bge-m3"
QUERY_TOKENS = 512
DOCUMENT_TOKENS = 8192
"""What the model was trained for; a chunk of 4,096 characters fits."""
BATCH = 12


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
        gpu = torch.cuda.is_available()
        try:
            self._model = BGEM3FlagModel(model, use_fp16=gpu, devices="cuda:0" if gpu else "cpu")
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise MissingBackendError(
                f"the weights of encoder 'bge-m3' cannot be loaded from '{model}' ({str(error).splitlines()[0]}); "
                "connect once to download them, give their folder as --encoder bge-m3:FOLDER, or choose e5-small "
                "(bundled)."
            ) from error
        config = self._model.model.model.config
        self.name = f"bge-m3@{getattr(config, '_commit_hash', None) or _folder_revision(Path(model))}"
        self.dim = int(config.hidden_size)
        self._lock = threading.Lock()

    def default_tau(self, *, centred: bool) -> float:  # noqa: ARG002 - the paper has one value, for raw vectors
        """Return 0.6, the paper's choice for this encoder."""
        return 0.6

    def encode_queries(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode questions and keywords; see Encoder."""
        return self._encode(texts, QUERY_TOKENS)

    def encode_documents(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode passages; see Encoder."""
        return self._encode(texts, DOCUMENT_TOKENS)

    def _encode(self, texts: Sequence[str], max_length: int) -> FloatMatrix:
        vectors = np.zeros((len(texts), self.dim), np.float32)
        filled = [i for i, text in enumerate(texts) if text.strip()]
        if filled:
            with self._lock:
                found = self._model.encode(
                    [texts[i] for i in filled], batch_size=BATCH, max_length=max_length
                )
            vectors[filled] = found["dense_vecs"]
            # Half precision leaves norms a little off one.
            vectors[filled] /= np.linalg.norm(vectors[filled], axis=1, keepdims=True)
        return vectors


def _folder_revision(folder: Path) -> str:
    """Identify local weights by the names, sizes and small files of their folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
            if path.suffix == ".json":
                digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
