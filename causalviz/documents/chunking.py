"""Text -> overlapping windows."""

from collections.abc import Iterator

from causalviz.errors import ParameterError
from causalviz.records import Chunk


def chunk(text: str, size: int = 4096, overlap: int = 512) -> tuple[Chunk, ...]:
    """Cut a text into windows of ``size`` characters, each sharing ``overlap`` with the one before (METHOD.md, eq. 1).

    See windows.

    Args:
        text: As cleaned; "" gives no chunks.
        size: Characters, at least 1.
        overlap: Characters, 0 <= overlap < size.

    Raises:
        ParameterError: size < 1, or overlap is outside [0, size).
    """
    return tuple(windows(len(text), size, overlap))


def windows(length: int, size: int = 4096, overlap: int = 512) -> Iterator[Chunk]:
    """Give the chunks of a text of some length one by one.

    Windows start at 0, size - overlap, 2 (size - overlap), ...; the first that reaches the end of the text is the
    last, so that none lies wholly within another. A text not longer than ``size`` is one chunk.

    Args:
        length: Characters; 0 gives no chunks.
        size: Characters, at least 1.
        overlap: Characters, 0 <= overlap < size.

    Returns:
        Chunks in order; together they cover the text.

    Raises:
        ParameterError: size < 1, or overlap is outside [0, size).
    """
    if size < 1:
        raise ParameterError(f"the chunk size is {size} characters, but must be at least 1; 4096 is usual.")
    if not 0 <= overlap < size:
        raise ParameterError(
            f"chunks of {size} characters overlap by {overlap}, but the overlap must be at least 0 and below the "
            f"chunk size; choose it in 0..{size - 1}."
        )
    step = size - overlap
    # A window is needed as long as the one before has not reached the end.
    starts = range(0, max(1, length - overlap), step) if length else ()
    return (Chunk(start=start, end=min(start + size, length)) for start in starts)
