"""Any sentence-transformers model, with the prompts it declares."""

import json
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
    instruction_mark,
    loading,
    model_name,
    unit_rows,
)
from causalviz.errors import MissingBackendError

_KIND = "SentenceTransformer"
_QUERY_PROMPTS = ("query",)
_PASSAGE_PROMPTS = ("document", "passage", "corpus")
"""Names under which models declare them, the first that is there counts: as encode_document looks for them."""


class SentenceEncoder:
    """A sentence-transformers model on the GPU in half precision where there is one, else on the CPU."""

    def __init__(self, model: str, query_instruction: str = "", passage_instruction: str = "") -> None:
        """Load the weights.

        Args:
            model: A hub id, whose weights are downloaded once, or a folder that holds them.
            query_instruction: Put before questions and keywords, unless the model declares a prompt of its own.
            passage_instruction: The same for passages.

        Raises:
            MissingBackendError: sentence-transformers is not installed, the weights cannot be loaded, or are those of
                something else.
        """
        try:
            import torch
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingBackendError(
                f"encoder 'st:{model}' needs sentence-transformers and torch ({error}); run "
                "`pip install -r requirements.txt`, or choose --encoder e5-small (bundled)."
            ) from error
        gpu = torch.cuda.is_available()
        try:
            with loading(model):
                kind = _kind(model)
                if kind == _KIND:
                    self._model = SentenceTransformer(
                        model,
                        device="cuda" if gpu else "cpu",
                        model_kwargs={"dtype": torch.float16} if gpu else None,
                    )
        except LOADING_ERRORS as error:
            raise MissingBackendError(
                f"sentence-transformers cannot load encoder '{model}' ({first_line(error)}); connect once to download "
                "it, give its folder as --encoder st:FOLDER, or choose e5-small (bundled)."
            ) from error
        if kind != _KIND:
            raise MissingBackendError(
                f"'{model}' is {kind}, but an encoder is a SentenceTransformer with its modules.json; choose one, or "
                "e5-small (bundled)."
            )
        own = {name: prompt for name, prompt in self._model.prompts.items() if prompt}
        self._query = next((own[name] for name in _QUERY_PROMPTS if name in own), None)
        self._passage = next((own[name] for name in _PASSAGE_PROMPTS if name in own), None)
        given = ("" if self._query else query_instruction, "" if self._passage else passage_instruction)
        self._query = self._query or query_instruction
        self._passage = self._passage or passage_instruction
        self.name = model_name("st", model) + instruction_mark(*given)
        self.dim = int(self._model.get_embedding_dimension() or 0)
        if (self._model.max_seq_length or LONGEST) > LONGEST:
            self._model.max_seq_length = LONGEST
        self._lock = threading.Lock()

    def default_tau(self, *, centred: bool) -> None:
        """Nothing is known; the knowledge base proposes one."""

    def encode_queries(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode questions and keywords; see Encoder."""
        with self._lock:
            return unit_rows(
                texts,
                self.dim,
                lambda filled: self._model.encode_query(
                    filled, prompt=self._query, batch_size=QUERY_BATCH, show_progress_bar=False
                ),
                f"encoder '{self.name}'",
            )

    def encode_documents(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode passages; see Encoder."""
        with self._lock:
            return unit_rows(
                texts,
                self.dim,
                lambda filled: self._model.encode_document(
                    filled, prompt=self._passage, batch_size=DOCUMENT_BATCH, show_progress_bar=False
                ),
                f"encoder '{self.name}'",
            )


def _kind(model: str) -> str:
    """What the weights say they are: anything else the library would convert, into vectors that mean little."""
    from sentence_transformers.util import load_file_path

    if load_file_path(model, "modules.json") is None:
        if load_file_path(model, "config.json") is None:
            raise OSError("neither modules.json nor config.json can be found")
        return "a bare network"
    config = load_file_path(model, "config_sentence_transformers.json")
    if config is None:
        return _KIND
    kind = json.loads(Path(config).read_text(encoding="utf-8")).get("model_type", _KIND)
    return _KIND if kind == _KIND else f"a {kind}"
