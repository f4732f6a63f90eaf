"""Text -> overlapping passages, each short enough to be read by a model together with a question."""

from collections.abc import Callable, Sequence

OVERLAP = 8
"""Neighbours share an eighth of their tokens, as chunks do (METHOD.md, equation 1: 512 of 4,096)."""


def passages(
    text: str, spans: Sequence[tuple[int, int]], excess: Callable[[str], int], size: int
) -> list[str]:
    """Cut a text between the tokens of a model, so that no passage is too long for it.

    A passage read by itself need not have the tokens it had within its text (a word may be cut), so each is measured
    and shortened until it fits.

    Args:
        text: The text.
        spans: Half-open character range of every token, in reading order; tokens of one character share its range.
        excess: By how many tokens a passage is too long; 0 or less when it fits.
        size: Tokens to start from, at least 1.

    Returns:
        Passages in reading order: the whole text where it fits, none where it has no tokens. Every token lies in one
        of them. A single token is not cut further, whatever its excess.
    """
    if not spans:
        return []
    if excess(text) <= 0:
        return [text]
    found = []
    start = end = 0
    while end < len(spans):
        end = min(start + size, len(spans))
        while (over := excess(_between(text, spans[start:end]))) > 0 and end > start + 1:
            end = max(start + 1, end - over)
        found.append(_between(text, spans[start:end]))
        start = max(start + 1, end - (end - start) // OVERLAP)
    return found


def _between(text: str, spans: Sequence[tuple[int, int]]) -> str:
    return text[spans[0][0] : spans[-1][1]]
