"""A knowledge base on disk: one SQLite file that holds documents, vectors and keywords."""

from causalviz.knowledge_base.base import KnowledgeBase, UnitTable
from causalviz.knowledge_base.indexing import (
    FileEntry,
    IndexResult,
    RecordEntry,
    Source,
    folder_source,
    update,
)
from causalviz.knowledge_base.opening import open_knowledge_base
from causalviz.knowledge_base.store import VERSION as FILE_VERSION

__all__ = [
    "FILE_VERSION",
    "FileEntry",
    "IndexResult",
    "KnowledgeBase",
    "RecordEntry",
    "Source",
    "UnitTable",
    "folder_source",
    "open_knowledge_base",
    "update",
]
