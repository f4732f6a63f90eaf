"""What the adapters of models share: where weights come from, which they are, and vectors as Encoder promises them."""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from safetensors import SafetensorError

from causalviz.errors import BackendError
from causalviz.records import FloatMatrix

LOADING_ERRORS = (OSError, ValueError, RuntimeError, KeyError, AttributeError, TypeError, SafetensorError)
"""What the libraries raise for weights that are absent, gated, damaged or of another kind of model."""
QUERY_BATCH = 32
"""Questions and keywords, which are short, in one pass of a network."""
DOCUMENT_BATCH = 12
"""Passages, of up to LONGEST tokens."""
LONGEST = 8192
"""Tokens read of a text, where the model does not read fewer."""
OTHER_FORMATS = {"onnx", "openvino"}
"""Folders of a download that hold the weights again, for runtimes that are not used."""


def revision(model: str) -> str:
    """Identify weights: the hub's commit for a hub id, a digest of all that is in a folder.

    Args:
        model: What was loaded just now, a folder or a hub id.
    """
    folder = Path(model)
    if folder.is_dir():
        return _digest(folder)
    from huggingface_hub import try_to_load_from_cache

    for file in ("config.json", "modules.json"):
        found = try_to_load_from_cache(model, file)
        if isinstance(found, str):
            return Path(found).parent.name[:12]  # .../snapshots/COMMIT/config.json
    raise BackendError(
        f"the revision of '{model}' is not in the hub's cache; download its weights into a folder."
    )


def model_name(kind: str, model: str) -> str:
    """Name a model by kind, hub id (or its folder's own name) and revision: the same wherever the folder lies."""
    folder = Path(model)
    return f"{kind}:{folder.resolve().name if folder.is_dir() else model}@{revision(model)}"


def instruction_mark(query: str, passage: str) -> str:
    """Return what instructions that were given from outside add to an encoder's name."""
    if not query and not passage:
        return ""
    return f"+{hashlib.sha256(json.dumps([query, passage]).encode()).hexdigest()[:8]}"


def unit_rows(
    texts: Sequence[str], dim: int, encode: Callable[[list[str]], ArrayLike], who: str
) -> FloatMatrix:
    """Encode the texts that hold something, and give the others zero rows.

    Args:
        texts: n texts.
        dim: Length of a vector.
        encode: Gives one row a text.
        who: Named in errors.

    Returns:
        Float32 (n, dim), the rows of norm 1.

    Raises:
        BackendError: rows are missing, of another length, not finite or zero; or the model failed.
    """
    vectors = np.zeros((len(texts), dim), np.float32)
    filled = [i for i, text in enumerate(texts) if text.strip()]
    if not filled:
        return vectors
    try:
        found = np.asarray(encode([texts[i] for i in filled]), np.float32)
    except BackendError:
        raise
    # FlagEmbedding makes the batch smaller until nothing is left of it, and then fails with AttributeError.
    except (RuntimeError, MemoryError, AttributeError) as error:
        raise BackendError(
            f"{who} failed, most often because memory ran out ({first_line(error)}); close other programs, or choose a "
            "smaller encoder such as e5-small (bundled)."
        ) from error
    if found.shape != (len(filled), dim):
        raise BackendError(
            f"{who} gave vectors of shape {found.shape}, but ({len(filled)}, {dim}) was expected; "
            "check that it is the model the name says."
        )
    norms = np.linalg.norm(found.astype(np.float64), axis=1, keepdims=True)
    if not np.all(np.isfinite(norms) & (norms > 0)):
        raise BackendError(
            f"{who} gave a vector that holds NaN, infinity or only zeros, but a direction is needed; "
            "check its weights, or choose another encoder."
        )
    # Half precision leaves norms a little off one, and some models leave them as they come.
    vectors[filled] = found / norms
    return vectors


def first_line(error: Exception) -> str:
    """Return the first sentence of what a library says, to stand in one of ours."""
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line.split(". ")[0].rstrip(".") for line in lines if line), type(error).__name__)


def no_bars_in_logs() -> None:
    """Keep the libraries' progress bars out of a stderr that nobody watches; call before they are imported."""
    if not sys.stderr.isatty():
        os.environ.setdefault("TQDM_DISABLE", "1")


def _digest(folder: Path) -> str:
    """Digest every file: two fine-tuned models differ in nothing but their weights."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        # A model card says nothing about vectors, and what a download notes about itself neither.
        told = path.suffix == ".md" or any(part.startswith(".") for part in place.parts)
        if path.is_file() and not told and place.parts[0] not in OTHER_FORMATS:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"{place.as_posix()}\0{content}\0".encode())
    return digest.hexdigest()[:12]
