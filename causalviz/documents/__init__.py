"""Bytes -> Document -> Chunk: readers (one per format), cleaning, quality, chunking, and the files of a folder."""

from causalviz.documents.chunking import chunk
from causalviz.documents.cleaning import clean
from causalviz.documents.folder import SourceFile, scan
from causalviz.documents.language import language_of
from causalviz.documents.limits import DEFAULT_LIMITS, Limits
from causalviz.documents.quality import why_unreadable
from causalviz.documents.readers import SUPPORTED_SUFFIXES, read_document

__all__ = [
    "DEFAULT_LIMITS",
    "SUPPORTED_SUFFIXES",
    "Limits",
    "SourceFile",
    "chunk",
    "clean",
    "language_of",
    "read_document",
    "scan",
    "why_unreadable",
]
