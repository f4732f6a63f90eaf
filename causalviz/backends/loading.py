"""What the adapters of models share: where weights come from, which they are, and vectors as Encoder promises them."""

import hashlib
import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from safetensors import SafetensorError

from causalviz.arrays import FloatMatrix
from causalviz.errors import BackendError

LOADING_ERRORS = (OSError, ValueError, RuntimeError, KeyError, AttributeError, TypeError, SafetensorError)
"""What the libraries raise for weights that are absent, gated, damaged or of another kind of model."""
QUERY_BATCH = 32
"""Questions and keywords, which are short, in one pass of a network."""
DOCUMENT_BATCH = 12
"""Passages, of up to LONGEST tokens."""
LONGEST = 8192
"""Tokens read of a text, where the model does not read fewer."""
CONNECT_SECONDS = 10.0
"""Waited for a connection to the hub; a slow network that works has one by then."""
_UNREACHABLE = {"ConnectError", "ConnectTimeout"}
"""What the hub's client raises where there is no way to the hub; slow or refused answers are not among them."""
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
    clean = [encodable(text) for text in texts]
    filled = [i for i, text in enumerate(clean) if text.strip()]
    if not filled:
        return vectors
    try:
        found = np.asarray(encode([clean[i] for i in filled]), np.float32)
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


def encodable(text: str) -> str:
    """Drop lone surrogates, which tokenizers and JSON refuse."""
    return text.encode("utf-8", "ignore").decode()


@contextmanager
def loading(model: str) -> Iterator[None]:
    """Surround the loading of weights: nothing is drawn into logs, and a hub that cannot be reached costs no minute.

    Args:
        model: A hub id, or a folder.
    """
    _quiet()
    with _hub_if_reachable(model):
        yield


def without_bars(model: object) -> None:
    """Take FlagEmbedding's progress bars out of logs: it draws them whatever tqdm is told.

    Args:
        model: One of its models.
    """
    if sys.stderr.isatty():
        return
    for kind in type(model).__mro__:
        module = sys.modules[kind.__module__]
        if hasattr(module, "trange"):
            vars(module).update(tqdm=lambda items, **_: items, trange=lambda *ends, **_: range(*ends))


def _quiet() -> None:
    """Keep the libraries' bars and hints out of a stderr that nobody watches."""
    if sys.stderr.isatty():
        return
    for library in ("huggingface_hub", "transformers"):
        told: Any = import_module(f"{library}.utils.logging")  # published without types
        told.set_verbosity_error()
    told.disable_progress_bar()  # the hub's, too
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)


_unreached = 0
"""How many are loading without the hub at this moment."""
_counting = threading.Lock()


@contextmanager
def _hub_if_reachable(model: str) -> Iterator[None]:
    """Tell the hub's client to use its cache alone where there is no network.

    It would ask for each file that a model may have and the cache has not, six times in 23 seconds.
    """
    global _unreached  # noqa: PLW0603 - the client's switch is as global
    from huggingface_hub import constants

    with _counting:
        offline = not Path(model).is_dir() and (
            _unreached > 0 or not (constants.HF_HUB_OFFLINE or _reachable())
        )
        if offline:
            _unreached += 1
            constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        if offline:
            with _counting:
                _unreached -= 1
                constants.HF_HUB_OFFLINE = _unreached > 0


def _reachable() -> bool:
    """Whether anything answers at the hub's address, by the client's own connection, proxies and certificates."""
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=CONNECT_SECONDS)
    # By name: the hub changes its client library between releases. Of anything else the loading itself may tell.
    except Exception as error:  # noqa: BLE001
        return type(error).__name__ not in _UNREACHABLE
    return True


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
