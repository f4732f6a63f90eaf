"""Open a saved knowledge base."""

from dataclasses import replace
from pathlib import Path

from causalviz.knowledge_base.base import KnowledgeBase
from causalviz.knowledge_base.snapshot import take_snapshot
from causalviz.knowledge_base.store import Store, named_errors
from causalviz.protocols import Encoder, Progress


def open_knowledge_base(
    path: Path, encoder: Encoder, progress: Progress, name: str | None = None
) -> KnowledgeBase:
    """Load a knowledge base; one whose last indexing was interrupted opens with the files that were finished.

    Args:
        path: The file.
        encoder: Must be the one the vectors come from; it is used only to finish an interrupted run.
        progress: Told of that.
        name: Shown to people; default: the file's name without its suffix.

    Raises:
        KnowledgeBaseError: the file is missing, damaged, in use, or of another version or encoder.
    """
    with named_errors(path), Store.open(path) as store:
        store.check_encoder(encoder.name)
        parts = store.read_snapshot()
        if parts is None:
            base = take_snapshot(store, encoder.encode_queries, encoder.dim, progress)
            return base if name is None else replace(base, name=name)
        return KnowledgeBase.from_parts(parts, store, name or path.stem)
