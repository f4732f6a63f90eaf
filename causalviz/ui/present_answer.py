"""What the Answer page shows, as messages to its view."""

from collections.abc import Sequence

from causalviz.answer.support import SUPPORT, SupportedSentence
from causalviz.records import JsonObject
from causalviz.ui.answering import Column, Columns
from causalviz.ui.present import message
from causalviz.ui.present_judging import METHOD_WORDS

NO_MODEL = (
    "No chat model is set up here, so these are the finished prompts: copy one into an assistant of your choice, or "
    "choose a model on the Models page to read answers here."
)
_MISSING_SHOWN = 6


def columns_message(columns: Columns, query: str, knowledge_base: str, note: str = "") -> str:
    """Show both columns as far as they have come.

    Args:
        columns: By similarity, and re-ranked.
        query: The question.
        knowledge_base: Whose documents these are.
        note: A sentence above them.
    """
    ids = [{source.passage.id for source in column.prompt.sources} for column in columns]
    return message(
        {
            "question": query,
            "knowledgeBase": knowledge_base,
            "note": note,
            "same": columns[0].prompt.text == columns[1].prompt.text,
            "columns": [
                _column(column, only=own - other)
                for column, own, other in zip(columns, ids, reversed(ids), strict=True)
            ],
        }
    )


def _column(column: Column, only: set[str]) -> JsonObject:
    checked = [sentence for sentence in column.sentences if sentence.kind != "nothing"]
    supported = sum(sentence.kind != "unsupported" for sentence in checked)
    return {
        "name": "By similarity" if column.method == "similarity" else "Re-ranked",
        "method": "" if column.method == "similarity" else METHOD_WORDS[column.method],
        "state": column.state,
        "said": column.said,
        "supported": supported,
        "checked": len(checked),
        "parts": _parts(column),
        "sources": [
            {
                "number": source.number,
                "document": source.passage.document,
                "title": source.passage.title,
                "text": source.text,
                "original": column.originals.get(source.passage.id),
                "cut": source.cut,
                "only": source.passage.id in only,
            }
            for source in column.prompt.sources
        ],
        "leftOut": column.prompt.left_out,
        "tokens": column.prompt.tokens,
        "prompt": column.prompt.text,
    }


def _parts(column: Column) -> list[JsonObject]:
    """The answer in pieces: its sentences with what they rest on, and what stands between them."""
    parts: list[JsonObject] = []
    at = 0
    for sentence in column.sentences:
        if at < sentence.start:
            parts.append({"text": column.answer[at : sentence.start]})
        parts.append(
            {
                "text": column.answer[sentence.start : sentence.end],
                "kind": sentence.kind,
                "sources": sentence.sources if sentence.kind != "unsupported" else (),
                "why": support_words(sentence),
            }
        )
        at = sentence.end
    if at < len(column.answer):
        parts.append({"text": column.answer[at:]})
    return parts


def support_words(sentence: SupportedSentence) -> str:
    """Say what a sentence rests on, in a sentence or two."""
    named = " and ".join(f"[{number}]" for number in sentence.sources)
    hold = "hold" if len(sentence.sources) > 1 else "holds"
    held = f"{100 * sentence.share:.0f} % of its words"
    match sentence.kind:
        case "nothing":
            words = "Nothing to check: it holds no content word."
        case "cited":
            words = f"Supported: {named}, which it cites, {hold} {held}."
        case "uncited":
            words = f"It cites no source; {named} {hold} {held}."
        case "elsewhere":
            words = f"It cites another source, but {named} {hold} {held}."
        case "unsupported" if sentence.sources and sentence.share >= SUPPORT:
            words = f"Not supported: {named} {hold} {held}, but not the number {_shown(sentence.numbers)}."
        case "unsupported" if sentence.sources:
            words = f"Not supported: {named} {hold} {held}, not {_shown(sentence.missing)}."
        case _:
            words = "Not supported: no source holds its words."
    if sentence.unknown:
        words += f" There is no source {' or '.join(f'[{number}]' for number in sentence.unknown)}."
    return words


def _shown(terms: Sequence[str]) -> str:
    more = " and others" if len(terms) > _MISSING_SHOWN else ""
    return ", ".join(terms[:_MISSING_SHOWN]) + more
