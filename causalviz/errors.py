"""Every error a user can meet, on one screen.

Each message says what was found, what was expected and how to mend it, in one sentence.
"""


class CausalvizError(Exception):
    """Root of all errors raised on purpose by this package."""


class ParameterError(CausalvizError, ValueError):
    """A setting or argument is outside its allowed range."""


class ShapeError(CausalvizError, ValueError):
    """Arrays that belong together disagree in shape."""


class UnreadableFileError(CausalvizError, ValueError):
    """A file holds no text that could be indexed; the message is the reason shown in the report."""


class KnowledgeBaseError(CausalvizError):
    """A knowledge base is missing, of another version or encoder, or damaged."""


class StoppedError(CausalvizError):
    """Somebody asked a long run to stop; what it had finished is kept."""


class TraceError(CausalvizError, ValueError):
    """A trace file is not one, or of a version this release cannot read."""


class ThemesError(CausalvizError, ValueError):
    """A themes file breaks its format."""


class CollectionError(CausalvizError, ValueError):
    """A test collection breaks the BEIR layout."""


class MissingBackendError(CausalvizError, ImportError):
    """An encoder or reranker was asked for whose package or weights are absent."""


class BackendError(CausalvizError, RuntimeError):
    """A model or server failed while it was used, or answered with something that cannot be used."""
