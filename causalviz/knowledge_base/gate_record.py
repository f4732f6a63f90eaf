"""A calibration's verdict, kept in the knowledge base's file, and the method it leaves to rank by.

The entry is a row of its own beside the sources: indexing again keeps it, calibrating again replaces it. A verdict is
obeyed only for what was measured: by the settings it was measured with, and as long as no more than STALE of the
documents were added, removed or changed since. Otherwise DEFAULT_METHOD ranks, as without a calibration.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from causalviz.evaluation.gate import NAMES, Verdict
from causalviz.knowledge_base.base import KnowledgeBase
from causalviz.knowledge_base.store import Store, named_errors
from causalviz.records import DEFAULT_METHOD, EmptyB, Method, Mode, Unit

STALE = 0.1
"""Share of the documents, of the larger of then and now, that may change before a verdict is stale."""
_VERSION = 1
"""Of the entry, not of the file: a file without one is whole."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Conditions:
    """The settings questions are ranked with, whatever the method."""

    tau: float
    alpha: float
    centred: bool
    top_k: int
    unit: Unit = "document"
    mode: Mode = "semantic"
    empty_b: EmptyB = "last"


@dataclass(frozen=True, kw_only=True, slots=True)
class GateRecord:
    """A verdict with what it was measured on."""

    verdict: Verdict
    date: datetime
    """UTC."""
    conditions: Conditions
    encoder: str
    fingerprint: str
    """The knowledge base's."""
    documents: Mapping[str, str]
    """Hash of every document's text, by id, at calibration."""

    def staleness(self, documents: Mapping[str, str]) -> float:
        """Return the share, from 0 to 1, of documents added, removed or changed since, of the larger of then and now.

        Args:
            documents: As the record's, now.
        """
        ids = self.documents.keys() | documents.keys()
        changed = sum(self.documents.get(id_) != documents.get(id_) for id_ in ids)
        return min(1.0, changed / max(len(self.documents), len(documents), 1))


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What to rank by, and why."""

    method: Method
    obeyed: bool
    """Whether the calibration chose it."""
    stale: bool
    note: str | None
    """One sentence for people; None where nothing was calibrated or a person chose."""


def documents_of(base: KnowledgeBase) -> dict[str, str]:
    """Return what GateRecord.documents holds, of a knowledge base as it is now."""
    return dict(zip(base.documents.ids, base.documents.text_hashes, strict=True))


def choose(
    record: GateRecord | None,
    documents: Mapping[str, str],
    asked: Conditions,
    override: Method | None = None,
) -> Choice:
    """Choose the method to rank by.

    Args:
        record: The calibration, None where there is none.
        documents: Of the knowledge base now (documents_of).
        asked: The settings to rank with.
        override: What a person chose, if anything.

    Returns:
        The override; else the verdict's method where it is decided, fresh and measured with these settings; else
        DEFAULT_METHOD. An undecided verdict may still speak reliably against DEFAULT_METHOD: similarity ranks then.
    """
    if record is None:
        return Choice(method=override or DEFAULT_METHOD, obeyed=False, stale=False, note=None)
    share = record.staleness(documents)
    stale = share > STALE
    if override:
        return Choice(method=override, obeyed=False, stale=stale, note=None)
    method, why = _ruling(record, share, asked)
    default = "" if method else ", the default"
    ranked = method or DEFAULT_METHOD
    return Choice(
        method=ranked,
        obeyed=method is not None,
        stale=stale,
        note=f"Ranked by {NAMES[ranked]}{default}: the calibration of {record.date:%Y-%m-%d} {why}.",
    )


def _ruling(record: GateRecord, share: float, asked: Conditions) -> tuple[Method | None, str]:
    """Return the method a calibration chooses, None where it chooses nothing, and what it does, as a predicate."""
    if share > STALE:
        return None, (
            f"is stale, as {100 * share:.0f} % of the documents were added, removed or changed since; calibrate again"
        )
    others = _differences(record.conditions, asked)
    if others:
        return None, f"was measured with other settings ({others}); calibrate with these"
    verdict = record.verdict
    over = f"over {verdict.labelled} questions"
    match verdict.decision:
        case "on":
            return verdict.method, f"{over} switches it on here"
        case "off":
            return "similarity", f"{over} keeps re-ranking off here"
        case "undecided" if verdict.keeps_off(DEFAULT_METHOD):
            return "similarity", f"{over} is undecided, but {NAMES[DEFAULT_METHOD]}, the default, is worse"
        case "undecided":
            return None, f"{over} is undecided; label more"


def _differences(measured: Conditions, asked: Conditions) -> str:
    then, now = asdict(measured), asdict(asked)
    return ", ".join(f"{name} {then[name]}, now {now[name]}" for name in then if then[name] != now[name])


def write_gate(path: Path, record: GateRecord) -> None:
    """Keep a calibration in the knowledge base's file, in place of an earlier one.

    Raises:
        KnowledgeBaseError: there is no knowledge base, or it cannot be written.
    """
    from pydantic import TypeAdapter

    content = TypeAdapter(GateRecord).dump_python(record, mode="json")
    with named_errors(path), Store.open(path) as store:
        store.write_gate(json.dumps({"version": _VERSION, "record": content}, ensure_ascii=False))


def read_gate(path: Path) -> GateRecord | None:
    """Read the calibration of a knowledge base; None where there is none that can be read.

    Raises:
        KnowledgeBaseError: there is no knowledge base, or it is damaged.
    """
    return load_gate(path)[0]


def load_gate(path: Path) -> tuple[GateRecord | None, str | None]:
    """Read the calibration of a knowledge base, and say in a sentence why the one it holds is ignored, if it is.

    Raises:
        KnowledgeBaseError: there is no knowledge base, or it is damaged.
    """
    with named_errors(path), Store.open(path) as store:
        text = store.read_gate()
    if text is None:
        return None, None
    # Imported here: most knowledge bases hold none.
    from pydantic import TypeAdapter

    try:
        entry = json.loads(text)
        version = entry["version"]
        if version == _VERSION:
            record = TypeAdapter(GateRecord).validate_python(entry["record"])
            _check(record.verdict)
            return record, None
    except (ValueError, KeyError, TypeError, RecursionError):
        return (
            None,
            "The calibration kept with this knowledge base is damaged and is ignored; calibrate again.",
        )
    return None, (
        f"The calibration kept with this knowledge base has version {version}, but this release reads version "
        f"{_VERSION}, so it is ignored; calibrate again."
    )


def _check(verdict: Verdict) -> None:
    """Refuse what judge() never gives: ValueError."""
    if not verdict.delta or verdict.delta.keys() != verdict.reliability.keys():
        raise ValueError
