"""A knowledge base on disk: one SQLite file that holds documents, vectors and keywords."""

from causalviz.knowledge_base.base import KnowledgeBase, UnitTable
from causalviz.knowledge_base.entries import (
    Entry,
    FileEntry,
    FolderSource,
    RecordEntry,
    Source,
    folder_source,
)
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
from causalviz.knowledge_base.indexing import IndexResult, update
from causalviz.knowledge_base.managing import forget, rebuild
from causalviz.knowledge_base.opening import open_knowledge_base
from causalviz.knowledge_base.reporting import (
    Change,
    history,
    pending_changes,
    reports,
    source_folder,
    stored_document,
)
from causalviz.knowledge_base.schema import CONTENT_VERSION
from causalviz.knowledge_base.schema import VERSION as FILE_VERSION

__all__ = [
    "CONTENT_VERSION",
    "FILE_VERSION",
    "Change",
    "Choice",
    "Conditions",
    "Entry",
    "FileEntry",
    "FolderSource",
    "GateRecord",
    "IndexResult",
    "KnowledgeBase",
    "RecordEntry",
    "Source",
    "UnitTable",
    "choose",
    "documents_of",
    "folder_source",
    "forget",
    "history",
    "load_gate",
    "open_knowledge_base",
    "pending_changes",
    "read_gate",
    "rebuild",
    "reports",
    "source_folder",
    "stored_document",
    "update",
    "write_gate",
]
