"""A knowledge base on disk: one SQLite file that holds documents, vectors and keywords."""

from causalviz.knowledge_base.base import KnowledgeBase, UnitTable
from causalviz.knowledge_base.gate_record import (
    Choice,
    Conditions,
    GateRecord,
    choose,
    documents_of,
    load_gate,
    read_gate,
    write_gate,
)
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
    "Choice",
    "Conditions",
    "FileEntry",
    "GateRecord",
    "IndexResult",
    "KnowledgeBase",
    "RecordEntry",
    "Source",
    "UnitTable",
    "choose",
    "documents_of",
    "folder_source",
    "load_gate",
    "open_knowledge_base",
    "read_gate",
    "update",
    "write_gate",
]
