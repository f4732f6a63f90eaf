"""What the Calibrate and the Evaluate page show, as messages to their views."""

import re
from collections.abc import Mapping, Sequence

from causalviz.evaluation.gate import FURTHER, LEAST, METHODS, Verdict
from causalviz.evaluation.measures import DEPTH
from causalviz.records import JsonObject, Method
from causalviz.ui.judging import Judged
from causalviz.ui.present import message, without_places
from causalviz.ui.questions import Answers

METHOD_WORDS: Mapping[Method, str] = {
    "similarity": "similarity alone",
    "guarded": "guarded similarity",
    "hybrid": "hybrid of both",
    "causal": "causal score (s_c)",
}
TEXT_SHOWN = 1500
"""Characters of a document's text that can be read while grading."""
_CHIP = 90


def card_message(judged: Judged, id_: str, focus: str | None = None) -> str:
    """The message that shows one asked question with the documents to grade."""
    question = judged.asked[id_]
    rows, titles = judged.pipeline.base.documents.rows, judged.pipeline.base.documents.titles
    texts = judged.pipeline.base.texts(question.pool, "document")
    ids = list(judged.queries)
    documents = [
        {"id": document, "grade": judged.grades.get(id_, {}).get(document)}
        | _shown(titles[rows[document]] or document, texts[document])
        for document in question.pool
    ]
    card = {
        "id": id_,
        "text": question.text,
        "number": ids.index(id_) + 1,
        "documents": documents,
        "focus": focus,
    }
    return message({"card": card, **_list(judged)})


def list_message(judged: Judged) -> str:
    """The message that brings the list of questions up to date and leaves the documents as they stand."""
    return message(_list(judged))


def intro_message(sentence: str) -> str:
    """The message that shows what can be done before there is a question."""
    return message({"intro": sentence})


def error_message(sentence: str) -> str:
    """The message that says what was wrong with a step and leaves the rest as it stands."""
    return message({"error": without_places(sentence)})


def save_message(name: str, content: str, kind: str) -> str:
    """The message that makes the page save a file."""
    return message({"save": {"name": name, "content": content, "type": kind}})


def _list(judged: Judged) -> JsonObject:
    states = {
        id_: {None: "open", 0: "done"}.get(judged.missing(id_), "begun") if judged.grades.get(id_) else "open"
        for id_ in judged.queries
    }
    return {
        "list": [
            {"id": id_, "text": text[:_CHIP], "state": states[id_]} for id_, text in judged.queries.items()
        ],
        "undo": bool(judged.past),
    }


def _shown(title: str, text: str) -> JsonObject:
    body = re.sub(r"\n\s*\n", "\n", text.strip().removeprefix(title).strip() or text.strip())
    return {"title": title, "text": body[:TEXT_SHOWN], "cut": len(body) > TEXT_SHOWN}


def results_message(judged: Judged, kept: str) -> str:
    """The message that shows the verdict so far, and the measures behind it.

    Args:
        judged: The labels.
        kept: What is said about the verdict kept with the knowledge base.
    """
    answers, verdict = judged.answers, judged.verdict
    counted = len(answers.questions)
    fruitless = sum(all(grade <= 0 for grade in grades.values()) for grades in answers.qrels.values())
    notes = []
    if fruitless and verdict:
        notes.append(
            f"{fruitless} of them {'has' if fruitless == 1 else 'have'} no relevant document and favour"
            f"{'s' if fruitless == 1 else ''} no ranking."
        )
    own = sum(question.id in judged.from_documents for question in answers.questions)
    if own and verdict:
        notes.append(
            f"{own} of them {'is' if own == 1 else 'are'} made from a document’s own title or heading, which "
            "similarity finds by its words: this favours similarity, so try what people really ask as well."
        )
    headline, sentence, more = _verdict(verdict, counted)
    return message(
        {
            "verdict": {
                "decision": verdict.decision if verdict else "none",
                "headline": headline,
                "sentence": sentence,
                "more": more,
            },
            "counted": f"{counted} of {len(judged.queries)} questions count" if judged.queries else "",
            "notes": notes,
            "rows": rows(answers) if verdict else [],
            "kept": kept,
        }
    )


def _verdict(verdict: Verdict | None, counted: int) -> tuple[str, str, str]:
    """Headline, sentence, and what would settle it."""
    if verdict is None:
        found = (
            f"None of the {counted} graded questions has a relevant document yet, so no ranking can be better."
            if counted
            else "Grade every document shown for a question, and the question counts."
        )
        return "No verdict yet", found, f"{LEAST} questions are the least for a verdict."
    match verdict.decision:
        case "on":
            return f"Switch re-ranking on: {METHOD_WORDS[verdict.method]}", verdict.sentence, ""
        case "off":
            return "Keep re-ranking off", verdict.sentence, ""
        case "undecided":
            return "Too few questions to tell", verdict.sentence, _more(verdict)


def _more(verdict: Verdict) -> str:
    needed = max(verdict.more or 0, LEAST - verdict.labelled)
    if verdict.more is None:
        return f"Even {FURTHER} more questions like these would hardly settle it: the rankings are about equally good."
    return f"About {needed} more question{'' if needed == 1 else 's'} like these would settle it."


def rows(answers: Answers) -> list[JsonObject]:
    """Means by method, and the difference of nDCG@10 to similarity with its interval."""
    found: list[JsonObject] = []
    best = max(answers.means[name]["ndcg@10"] for name in METHODS)
    for name in METHODS:
        difference = None if name == "similarity" else answers.difference(name)
        means = answers.means[name]
        found.append(
            {
                "method": name,
                "name": METHOD_WORDS[name],
                "values": [means["ndcg@10"], means["p@5"], means["mrr@10"]],
                "best": means["ndcg@10"] == best,
                "difference": [difference.mean, difference.low, difference.high] if difference else None,
            }
        )
    return found


def evaluation_message(answers: Answers, method: Method) -> str:
    """The message that shows both columns and every question, the largest change first."""
    changes = answers.changes(method)
    better = sum(ours > theirs for _, theirs, ours in changes)
    worse = sum(ours < theirs for _, theirs, ours in changes)
    trace = answers.questions[0].trace
    return message(
        {
            "name": answers.name,
            "note": answers.note,
            "summary": _summary(answers, method, better, worse),
            "how": f"tau {trace.settings.tau:g}, alpha {trace.settings.alpha:g}, encoder {trace.encoder}; the first "
            f"{DEPTH} documents of every ranking are measured.",
            "method": method,
            "methodName": METHOD_WORDS[method],
            "rows": rows(answers),
            "questions": [
                {"id": question.id, "text": question.text, "before": before, "after": after}
                for question, before, after in changes
            ],
        }
    )


def _summary(answers: Answers, method: Method, better: int, worse: int) -> str:
    n = len(answers.questions)
    asked = f"{n} question{'' if n == 1 else 's'}"
    counts = (
        f"{METHOD_WORDS[method]} is better on {better}, worse on {worse} and equal on {n - better - worse}"
    )
    difference = answers.difference(method)
    if difference is None:
        return f"{asked}: {counts}. One question says nothing about others."
    if difference.low > 0:
        sure = "on average it is better, and by more than chance would explain"
    elif difference.high < 0:
        sure = "on average it is worse, and by more than chance would explain"
    else:
        sure = "on average the difference could be chance"
    return f"{asked}: {counts}; {sure}."


def empty_message(sentence: str) -> str:
    """The message that shows a sentence in place of results."""
    return message({"empty": sentence})


def choices(methods: Sequence[Method] = METHODS[1:]) -> list[tuple[str, Method]]:
    """What may be compared with similarity, words and name."""
    return [(METHOD_WORDS[name], name) for name in methods]
