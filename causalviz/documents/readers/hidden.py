"""Text that is in a file and not to be seen: it is left out, and said to be."""

from collections.abc import Sequence

_SHOWN = 40  # characters of the first passage
_LISTED = 10


def hidden_text(passages: Sequence[str]) -> tuple[str, ...]:
    """Warn of hidden passages of a text that were left out; those without a letter or digit do not count."""
    words = [" ".join(passage.split()) for passage in passages if any(map(str.isalnum, passage))]
    if not words:
        return ()
    begins = words[0] if len(words[0]) <= _SHOWN else f"{words[0][:_SHOWN]}..."
    if len(words) == 1:
        return (f"hidden text was left out: '{begins}'",)
    return (f"hidden text was left out: {len(words)} passages, the first is '{begins}'",)


def hidden_parts(what: str, names: Sequence[str]) -> tuple[str, ...]:
    """Warn of hidden sheets, slides, rows that were left out: "1 hidden sheet was left out: Prices"."""
    if not names:
        return ()
    listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
    plural, verb = ("", "was") if len(names) == 1 else ("s", "were")
    return (f"{len(names)} hidden {what}{plural} {verb} left out: {listed}",)
