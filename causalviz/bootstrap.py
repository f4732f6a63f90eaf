"""Wire the parts: settings and names to encoders, knowledge bases and pipelines."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

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
from causalviz.errors import KnowledgeBaseError, ParameterError
from causalviz.evaluation.collections import Collection
from causalviz.evaluation.themes import Theme
from causalviz.knowledge_base import (
    FILE_VERSION,
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


def make_encoder(name: str) -> Encoder:
    """Load an encoder, once per process; the environment gives instructions, and a server's address and key.

    Args:
        name: "e5-small", "bge-m3", or a kind with the place its weights or model are found: "bge-m3:FOLDER",
            "st:ID_OR_FOLDER" (sentence-transformers), "flag:ID_OR_FOLDER" (FlagEmbedding), "openai:MODEL" (a server).

    Raises:
        ParameterError: there is no encoder of that name.
        MissingBackendError: its package or weights are absent.
        BackendError: its server does not answer as it should.
    """
    kind, _, place = name.partition(":")
    if name not in ENCODERS and not (place and kind in PLACED_ENCODERS):
        placed = ", ".join(f"{kind}:{place}" for kind, place in PLACED_ENCODERS.items())
        raise ParameterError(f"there is no encoder '{name}'; choose one of: {', '.join(ENCODERS)}, {placed}.")
    return _encoder(name, Settings.of())


@lru_cache(maxsize=2)
def _encoder(name: str, settings: Settings) -> Encoder:
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
            )
    return BgeM3Encoder(place) if place else ENCODERS[kind]()


@lru_cache(maxsize=1)
def make_reranker(name: str) -> Reranker:
    """Load a reranker; the last one is kept.

    Args:
        name: "bge-reranker-v2-m3", or a kind with the place its weights are found: "bge-reranker-v2-m3:FOLDER",
            "flag-reranker:ID_OR_FOLDER" (FlagEmbedding), "cross:ID_OR_FOLDER" (sentence-transformers).

    Raises:
        ParameterError: there is no reranker of that name.
        MissingBackendError: its package or weights are absent, or are those of something else.
    """
    kind, _, place = name.partition(":")
    if kind == "bge-reranker-v2-m3":
        return FlagEmbeddingReranker(place or BGE_RERANKER)
    if kind in RERANKERS and place:
        return RERANKERS[kind](place)
    raise ParameterError(
        f"there is no reranker '{name}'; choose one of: bge-reranker-v2-m3, bge-reranker-v2-m3:FOLDER, "
        "flag-reranker:ID_OR_FOLDER, cross:ID_OR_FOLDER."
    )


def make_chat(settings: Settings) -> ChatModel | None:
    """Load the chat model the settings name; the last one is kept. None where they name none.

    Raises:
        ParameterError: a server is named without a model, or a model without a server.
        MissingBackendError: its package or weights are absent.
        BackendError: the machine has not enough memory for it.
    """
    return _chat(settings.chat_model, settings.chat_url, settings.openai_key)


@lru_cache(maxsize=1)
def _chat(model: str, url: str, key: str) -> ChatModel | None:
    kind, _, place = model.partition(":")
    if kind == "local" and not url:
        return LocalChat(place) if place else LocalChat()
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
    return ServerChat(url, model, key)


def index_into(path: Path, source: Source, encoder: Encoder, progress: Progress) -> IndexResult:
    """Bring the knowledge base at ``path`` up to date with a source."""
    return update(path, source, encoder, default_tokenizer(), progress)


def open_pipeline(path: Path, encoder: Encoder, progress: Progress, name: str | None = None) -> Pipeline:
    """Open a saved knowledge base for questions."""
    base = open_knowledge_base(path, encoder, progress, name)
    return Pipeline(base=base, encoder=encoder, tokenizer=default_tokenizer(), make_index=FaissIndex)


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
    identity = json.dumps([key, encoder.name, FILE_VERSION]).encode("utf-8", "surrogatepass")
    return settings.cache / f"{hashlib.sha256(identity).hexdigest()[:16]}.kb"


def indexed_pipeline(path: Path, source: Source, encoder: Encoder, progress: Progress, name: str) -> Pipeline:
    """Bring a knowledge base up to date with its source, touching only what changed since, and open it."""
    index_into(path, source, encoder, progress)
    return open_pipeline(path, encoder, progress, name)
