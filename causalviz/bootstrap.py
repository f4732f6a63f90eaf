"""Wire the parts: settings and names to encoders, knowledge bases and pipelines."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from causalviz.backends.bge_m3 import BgeM3Encoder
from causalviz.backends.chat_local import LocalChat
from causalviz.backends.chat_server import ServerChat
from causalviz.backends.e5_small import E5SmallEncoder
from causalviz.backends.faiss_index import FaissIndex
from causalviz.backends.flag_encoder import FlagEncoder
from causalviz.backends.rerankers import BGE_RERANKER, CrossEncoderReranker, FlagEmbeddingReranker
from causalviz.backends.segmentation import default_tokenizer
from causalviz.backends.sentence_encoder import SentenceEncoder
from causalviz.backends.server_encoder import ServerEncoder
from causalviz.backends.shelf import LentEncoder, Shelf
from causalviz.documents.limits import limits_of
from causalviz.errors import KnowledgeBaseError, ParameterError
from causalviz.evaluation.collections import Collection
from causalviz.evaluation.themes import Theme
from causalviz.knowledge_base import (
    CONTENT_VERSION,
    IndexResult,
    RecordEntry,
    Source,
    folder_source,
    open_knowledge_base,
    update,
)
from causalviz.pipeline import Pipeline
from causalviz.protocols import ChatModel, Encoder, Progress, Reranker
from causalviz.settings import ROOT, Settings

ENCODERS: dict[str, Callable[[], Encoder]] = {"e5-small": E5SmallEncoder, "bge-m3": BgeM3Encoder}
PLACED_ENCODERS = {
    "bge-m3": "FOLDER",
    "st": "ID_OR_FOLDER",
    "flag": "ID_OR_FOLDER",
    "openai": "MODEL",
}
"""Encoders whose name goes on with the place their model is found."""
RERANKERS: dict[str, Callable[[str], Reranker]] = {
    "flag-reranker": FlagEmbeddingReranker,
    "cross": CrossEncoderReranker,
}
SAMPLE = ROOT / "sample_kb"
Role = Literal["encoder", "reranker", "chat"]
"""What a model is for."""
TRIAL_SECONDS = 15.0
"""Waited for a server that is only tried."""

# One in use and one that is tried, or two that are compared.
_encoders: Shelf[Encoder] = Shelf(2)
_rerankers: Shelf[Reranker] = Shelf(2)
_chats: Shelf[ChatModel] = Shelf(2)
_SHELVES: dict[Role, Shelf[Any]] = {"encoder": _encoders, "reranker": _rerankers, "chat": _chats}


def make_encoder(name: str, settings: Settings | None = None, *, trial: bool = False) -> Encoder:
    """Load an encoder, once per process.

    Args:
        name: "e5-small", "bge-m3", or a kind with the place its weights or model are found: "bge-m3:FOLDER",
            "st:ID_OR_FOLDER" (sentence-transformers), "flag:ID_OR_FOLDER" (FlagEmbedding), "openai:MODEL" (a server).
        settings: They give instructions, and a server's address and key; None for what the environment and, for the
            encoder it names, the Models page say.
        trial: Wait for a server no longer than somebody who looks on.

    Raises:
        ParameterError: there is no encoder of that name.
        MissingBackendError: its package or weights are absent.
        BackendError: its server does not answer as it should.
    """
    kind, _, place = name.partition(":")
    if name not in ENCODERS and not (place and kind in PLACED_ENCODERS):
        placed = ", ".join(f"{kind}:{place}" for kind, place in PLACED_ENCODERS.items())
        raise ParameterError(f"there is no encoder '{name}'; choose one of: {', '.join(ENCODERS)}, {placed}.")
    if settings is None:
        settings = Settings.of()
        if settings.encoder != name:
            settings = Settings.of_environment()
    if kind == "openai" and trial:
        return _encoder(name, settings, seconds=TRIAL_SECONDS, retries=0)
    key = _key("encoder", replace(settings, encoder=name))
    return _encoders.get(key, partial(_encoder, name, settings))


def _encoder(name: str, settings: Settings, **patience: Any) -> Encoder:  # noqa: ANN401 - seconds and retries
    kind, _, place = name.partition(":")
    instructions = (settings.query_instruction, settings.passage_instruction)
    match kind:
        case "st":
            return SentenceEncoder(place, *instructions)
        case "flag":
            return FlagEncoder(place, *instructions)
        case "openai":
            return ServerEncoder(
                place,
                url=settings.openai_url,
                key=settings.openai_key,
                query_instruction=settings.query_instruction,
                passage_instruction=settings.passage_instruction,
                **patience,
            )
    return BgeM3Encoder(place) if place else ENCODERS[kind]()


def make_reranker(name: str) -> Reranker:
    """Load a reranker, once per process.

    Args:
        name: "bge-reranker-v2-m3", or a kind with the place its weights are found: "bge-reranker-v2-m3:FOLDER",
            "flag-reranker:ID_OR_FOLDER" (FlagEmbedding), "cross:ID_OR_FOLDER" (sentence-transformers).

    Raises:
        ParameterError: there is no reranker of that name.
        MissingBackendError: its package or weights are absent, or are those of something else.
    """
    kind, _, place = name.partition(":")
    if kind == "bge-reranker-v2-m3":
        return _rerankers.get((name,), lambda: FlagEmbeddingReranker(place or BGE_RERANKER))
    if kind in RERANKERS and place:
        return _rerankers.get((name,), lambda: RERANKERS[kind](place))
    raise ParameterError(
        f"there is no reranker '{name}'; choose one of: bge-reranker-v2-m3, bge-reranker-v2-m3:FOLDER, "
        "flag-reranker:ID_OR_FOLDER, cross:ID_OR_FOLDER."
    )


def make_chat(settings: Settings, *, trial: bool = False) -> ChatModel | None:
    """Load the chat model the settings name, once per process. None where they name none.

    Args:
        settings: Name, address and key.
        trial: Wait for a server no longer than somebody who looks on.

    Raises:
        ParameterError: a server is named without a model, or a model without a server.
        MissingBackendError: its package or weights are absent.
        BackendError: the machine has not enough memory for it.
    """
    model, url = settings.chat_model, settings.chat_url
    kind, _, place = model.partition(":")
    key = _key("chat", settings)
    if kind == "local" and not url:
        return _chats.get(key, lambda: LocalChat(place) if place else LocalChat())
    if not model and not url:
        return None
    if not model:
        raise ParameterError(
            "CAUSALVIZ_CHAT_URL names a server, but CAUSALVIZ_CHAT_MODEL names no model; set it to one it offers."
        )
    if not url:
        raise ParameterError(
            f"CAUSALVIZ_CHAT_MODEL is '{model}', but CAUSALVIZ_CHAT_URL names no server; set it, for example to "
            "http://127.0.0.1:11434/v1, or choose a model of this machine as local:ID_OR_FOLDER."
        )
    if trial:
        return ServerChat(url, model, settings.openai_key, read_seconds=TRIAL_SECONDS)
    return _chats.get(key, lambda: ServerChat(url, model, settings.openai_key))


def loaded(role: Role, settings: Settings) -> bool:
    """Whether the model the settings name is in memory."""
    return _SHELVES[role].loaded(_key(role, settings))


def unload(role: Role, settings: Settings) -> None:
    """Give the memory of the model the settings name back; it is loaded again when it is next needed."""
    _SHELVES[role].unload(_key(role, settings))


def keep_only(role: Role, settings: Settings) -> None:
    """Give up every other model of this role; a run in progress ends with the one it began with."""
    _SHELVES[role].keep_only([_key(role, settings)])


def _key(role: Role, settings: Settings) -> tuple[str, ...]:
    """All that decides what is loaded."""
    match role:
        case "encoder":
            instructions = (settings.query_instruction, settings.passage_instruction)
            match settings.encoder.partition(":")[0]:
                case "st" | "flag":
                    return settings.encoder, *instructions
                case "openai":
                    return settings.encoder, *instructions, settings.openai_url, settings.openai_key
            return (settings.encoder,)
        case "reranker":
            return (settings.reranker,)
        case "chat":
            return settings.chat_model, settings.chat_url, settings.openai_key if settings.chat_url else ""


def index_into(path: Path, source: Source, encoder: Encoder, progress: Progress) -> IndexResult:
    """Bring the knowledge base at ``path`` up to date with a source, within the limits the environment sets."""
    limits = limits_of(Settings.of().limits)
    return update(path, source, encoder, default_tokenizer(), progress, limits=limits)


def open_pipeline(path: Path, encoder: Encoder, progress: Progress, name: str | None = None) -> Pipeline:
    """Open a saved knowledge base for questions."""
    base = open_knowledge_base(path, encoder, progress, name)
    place = _encoders.place_of(encoder)
    lent = encoder if place is None else LentEncoder(place, encoder)
    return Pipeline(base=base, encoder=lent, tokenizer=default_tokenizer(), make_index=FaissIndex)


def pipeline_for(target: Path, encoder: Encoder, settings: Settings, progress: Progress) -> Pipeline:
    """Open a knowledge base file, or index a folder of documents into the cache and open that.

    Raises:
        KnowledgeBaseError: there is neither at ``target``, or a knowledge base does not fit the encoder.
    """
    if not target.is_dir():
        return open_pipeline(target, encoder, progress)
    path = cache_file(settings, encoder, str(target.resolve()))
    return indexed_pipeline(path, folder_source(target), encoder, progress, target.resolve().name)


def sample_pipeline(encoder: Encoder, settings: Settings, progress: Progress) -> Pipeline:
    """Open the sample knowledge base; its first use indexes it."""
    path = cache_file(settings, encoder, "sample_kb")
    return indexed_pipeline(path, folder_source(SAMPLE / "documents"), encoder, progress, "sample_kb")


def themes_pipeline(
    themes: Sequence[Theme], file: Path, encoder: Encoder, settings: Settings, progress: Progress
) -> Pipeline:
    """Index all documents of a themes file together, as its keyword weights are fitted on all of them."""
    source = [RecordEntry(document) for theme in themes for document in theme.documents]
    path = cache_file(settings, encoder, f"themes:{file.resolve()}")
    return indexed_pipeline(path, source, encoder, progress, file.stem)


def collection_pipeline(
    collection: Collection, folder: Path, encoder: Encoder, settings: Settings, progress: Progress
) -> Pipeline:
    """Index the documents of a test collection into the cache; a second run finds them there."""
    source = [RecordEntry(document) for document in collection.documents]
    path = cache_file(settings, encoder, f"collection:{folder.resolve()}")
    return indexed_pipeline(path, source, encoder, progress, collection.name)


def attacked_pipeline(
    clean: Pipeline, attacked: Collection, key: str, settings: Settings, progress: Progress
) -> Pipeline:
    """Index a collection with injected documents beside the clean one: a copy, where only they are encoded.

    Raises:
        KnowledgeBaseError: the copy cannot be written.
    """
    path = cache_file(settings, clean.encoder, f"attacked:{clean.base.path.resolve()}:{key}")
    if not path.exists():
        building = path.with_name(f"{path.name}.{os.getpid()}.new")
        try:
            shutil.copyfile(clean.base.path, building)
            building.replace(path)
        except OSError as error:
            raise KnowledgeBaseError(
                f"'{path}' cannot be written ({error.strerror}); make room, or set CAUSALVIZ_HOME to another place."
            ) from error
    source = [RecordEntry(document) for document in attacked.documents]
    return indexed_pipeline(path, source, clean.encoder, progress, f"{clean.base.name}, attacked")


def cache_file(settings: Settings, encoder: Encoder, key: str) -> Path:
    """Place of the knowledge base that is built on the way for a key and an encoder."""
    identity = json.dumps([key, encoder.name, CONTENT_VERSION]).encode("utf-8", "surrogatepass")
    return settings.cache / f"{hashlib.sha256(identity).hexdigest()[:16]}.kb"


def indexed_pipeline(path: Path, source: Source, encoder: Encoder, progress: Progress, name: str) -> Pipeline:
    """Bring a knowledge base up to date with its source, touching only what changed since, and open it."""
    index_into(path, source, encoder, progress)
    return open_pipeline(path, encoder, progress, name)
