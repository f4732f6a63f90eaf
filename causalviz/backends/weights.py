"""What a model would need: its weights on this disk, or what is known of those that are not, and what is free here."""

import json
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from causalviz.backends.bge_m3 import HUB_ID as BGE_M3
from causalviz.backends.chat_local import HUB_ID as QWEN3_4B
from causalviz.backends.loading import OTHER_FORMATS
from causalviz.backends.rerankers import BGE_RERANKER

_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
_FLOAT32 = 4
_DAMAGED = (OSError, ValueError, LookupError, TypeError, AttributeError, struct.error)
"""What files raise that were cut off or hold no weights; loading says what is wrong with them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """Weights of a model."""

    size: int
    """Bytes of the weights as they were saved."""
    parameters: int
    download: int = 0
    """Bytes still to be fetched; 0 for weights on this disk."""

    @property
    def in_float32(self) -> int:
        """Bytes in memory for a library that computes in float32 on a CPU."""
        return self.parameters * _FLOAT32


# Parameters of the published architectures, times the bytes of the type they are published in; a test counts them.
# BGE-M3 is fetched by FlagEmbedding, which takes the whole repository: the same weights once more for ONNX.
_XLM_R = 567_754_752
_XLM_R_SCORING = 567_755_777
_QWEN3 = 4_022_468_096
KNOWN = {
    BGE_M3: Weights(size=4 * _XLM_R, parameters=_XLM_R, download=2 * 4 * _XLM_R),
    BGE_RERANKER: Weights(size=4 * _XLM_R_SCORING, parameters=_XLM_R_SCORING, download=4 * _XLM_R_SCORING),
    QWEN3_4B: Weights(size=2 * _QWEN3, parameters=_QWEN3, download=2 * _QWEN3),
}


def find_weights(model: str) -> Weights | None:
    """Look up what a model needs; nothing is asked of the hub.

    Args:
        model: A folder or a hub id.

    Returns:
        The weights in the folder or in the hub's cache, else what is known of the id; None where nothing is.
    """
    folder = _folder(model)
    return (folder and _measured(folder)) or KNOWN.get(model)


def downloaded(model: str) -> int:
    """Bytes of a hub id in the hub's cache so far, those of unfinished files too."""
    from huggingface_hub.constants import HF_HUB_CACHE

    blobs = Path(HF_HUB_CACHE) / f"models--{model.replace('/', '--')}" / "blobs"
    total = 0
    for path in blobs.glob("*"):
        try:
            total += path.stat().st_size
        except OSError:  # it got its final name meanwhile
            continue
    return total


def free_memory() -> int:
    """Bytes that programs can have without others being pushed out."""
    return int(psutil.virtual_memory().available)


def free_disk() -> int:
    """Bytes free where downloads go."""
    from huggingface_hub.constants import HF_HUB_CACHE

    place = Path(HF_HUB_CACHE)
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free


def in_cache(model: str) -> bool:
    """Whether weights of a hub id are on this disk already; a folder is no hub id."""
    if Path(model).is_dir():
        return False
    folder = _folder(model)
    return folder is not None and _measured(folder) is not None


def _folder(model: str) -> Path | None:
    """Where a model lies on this disk."""
    if Path(model).is_dir():
        return Path(model)
    from huggingface_hub import try_to_load_from_cache

    for file in ("config.json", "modules.json"):
        try:
            found = try_to_load_from_cache(model, file)
        except ValueError:  # it cannot be a hub id
            return None
        if isinstance(found, str):
            return Path(found).parent
    return None


def _measured(folder: Path) -> Weights | None:
    size = parameters = 0
    for path in _weight_files(folder):
        try:
            size += path.stat().st_size
            parameters += _count(path)
        except _DAMAGED:
            continue
    return Weights(size=size, parameters=parameters) if size else None


def _weight_files(folder: Path) -> Iterator[Path]:
    """Give the files a library would load; beside safetensors lie older copies of the same weights."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        if inside[0] in OTHER_FORMATS or any(part.startswith(".") for part in inside):
            continue
        if path.suffix in {".safetensors", ".pt"} or (
            path.suffix == ".bin" and not any(path.parent.glob("*.safetensors"))
        ):
            yield path


def _count(path: Path) -> int:
    """Count the parameters: from the header, or from the size and the type the configuration names."""
    if path.suffix != ".safetensors":
        return path.stat().st_size // _BYTES.get(str(_config(path.parent).get("dtype", "float32")), _FLOAT32)
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > path.stat().st_size:
            raise ValueError(path)
        header = json.loads(file.read(length))
    return sum(
        (entry["data_offsets"][1] - entry["data_offsets"][0]) // _BYTES.get(entry["dtype"], 1)
        for name, entry in header.items()
        if name != "__metadata__"
    )


def _config(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {"dtype": found.get("dtype") or found.get("torch_dtype") or "float32"}
