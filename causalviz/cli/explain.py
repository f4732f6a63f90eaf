"""`explain TRACE.json [--document ID]`: why a ranking is what it is, and what would change it."""

import argparse
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from causalviz.cli.terminal import print_json, print_table
from causalviz.errors import TraceError
from causalviz.explain.as_json import document_explained, ranking_explained
from causalviz.explain.states import position, tau_states
from causalviz.records import JsonObject, Trace
from causalviz.trace import loads

_TITLE = 48
"""Characters of a title shown in a table."""


def run(options: argparse.Namespace) -> None:
    """Explain the whole ranking, or one document."""
    trace = read_trace(options.trace)
    states = tau_states(trace, trace.settings)
    if options.document is None:
        found = ranking_explained(states)
        show = _print_ranking
    else:
        found = document_explained(states, position(trace, options.document))
        show = _print_document
    if options.json:
        print_json(found)
    else:
        show(found)


def read_trace(path: Path) -> Trace:
    """Read a trace file.

    Raises:
        TraceError: it cannot be read, or is no trace.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise TraceError(
            f"the trace '{path}' cannot be read ({error.strerror}); write one with `rank --trace FILE`."
        ) from error
    except UnicodeDecodeError as error:
        raise TraceError(
            f"'{path}' is no text in UTF-8, so no trace; write one with `rank --trace FILE`."
        ) from error
    return loads(text)


def _print_ranking(found: JsonObject) -> None:
    _print_order(found)
    if found["flips"]:
        _print_flips(found)
    _print_path(found)


def _print_flips(found: JsonObject) -> None:
    titles = {one["id"]: _title(one) for one in found["documents"]}
    print_table(
        "Where neighbours swap",
        {
            "the lower": "left",
            "passes": "left",
            "at the nearest tau": "right",
            "or the nearest alpha": "right",
        },
        [
            [titles[flip["lower"]], titles[flip["upper"]], _number(flip["tau"]), _number(flip["alpha"])]
            for flip in found["flips"]
        ],
        [
            f"Now: tau {found['tau']:g}, alpha {found['alpha']:g}; - means at none, the other left as it is.",
            "",
        ],
    )


def _print_order(found: JsonObject) -> None:
    print_table(
        found["query"],
        {
            "rank": "right",
            "moved": "left",
            "s_sim": "right",
            "s_c": "right",
            "score": "right",
            "stuffing": "left",
            "id": "left",
            "title": "left",
        },
        [
            [
                str(one["rank"]),
                _moved(one["similarity_rank"] - one["rank"]),
                f"{one['similarity']:.4f}",
                _number(one["causal"]),
                _number(one["final"]),
                "⚠ suspected" if one["suspect"] else "",
                one["id"],
                _title(one),
            ]
            for one in found["documents"]
        ],
        [_settings(found), ""],
    )


def _print_path(found: JsonObject) -> None:
    """Who is first over tau; neighbouring intervals with the same first document are one row."""
    titles = {one["id"]: _title(one) for one in found["documents"]}
    first = [min(step["ranks"], key=step["ranks"].__getitem__, default="") for step in found["tau_path"]]
    tau = np.float32(found["tau"])
    rows, note = [], ""
    for leader, steps in groupby(zip(first, found["tau_path"], strict=True), key=itemgetter(0)):
        part = [step for _, step in steps]
        now = [step for step in part if step["low"] <= tau <= step["high"]]
        if now:
            note = f"The present order holds for tau {now[0]['low']:.4f} to {now[0]['high']:.4f}. "
        ends = [_number(part[0]["low"]), _number(part[-1]["high"])]
        rows.append(["now" if now else "", *ends, str(len(part)), titles.get(leader, "-")])
    orders = "1 order" if len(first) == 1 else f"{len(first)} orders"
    note += (
        f"{orders} over all of tau, at alpha {found['alpha']:g}; --json lists every one, with every digit."
    )
    columns = {"": "left", "from tau": "right", "to": "right", "orders": "right", "first": "left"}
    print_table("Who is first over tau", columns, rows, [note])


def _print_document(found: JsonObject) -> None:
    one = found["document"]
    ranks = f"{one['id']}: rank {one['rank']}, by similarity {one['similarity_rank']}"
    scores = f"s_sim {one['similarity']:.4f}, s_c {_number(one['causal'])}, score {_number(one['final'])}"
    notes = ["", f"{ranks}; {scores}. {_settings(found)}", one["why"], ""]
    print_table(
        f"{_title(one)}  -  {found['query']}",
        {
            "set": "left",
            "keyword": "left",
            "weight": "right",
            "nearest in question": "left",
            "cosine": "right",
            "adds to s_c": "right",
            "running sum": "right",
        },
        [
            [
                side,
                keyword["term"],
                f"{keyword['weight']:.4f}",
                keyword["match"] or "-",
                "same word" if keyword["exact"] else _number(keyword["cosine"]),
                f"{keyword['share']:+.4f}" if side == "B" else "",
                f"{keyword['end']:.4f}" if side == "B" else "",
            ]
            for side in ("A", "B")
            for keyword in found[side]
        ],
        notes,
    )
    _print_leave_one_out(found)
    _print_first(found)


def _print_leave_one_out(found: JsonObject) -> None:
    one = found["document"]
    rows = []
    for moved in found["leave_one_out"]:
        other = moved["b" if moved["in_a"] else "a"]
        rows.append(
            [
                moved["term"],
                "A to B" if moved["in_a"] else "B to A",
                _number(other["causal"]),
                _number(other["hybrid"]),
                str(other["rank"]),
                _moved(one["rank"] - other["rank"]),
            ]
        )
    print_table(
        "If one keyword changed sides",
        {
            "keyword": "left",
            "moves": "left",
            "s_c": "right",
            "hybrid": "right",
            "rank": "right",
            "moved": "left",
        },
        rows,
        [""],
    )


def _print_first(found: JsonObject) -> None:
    first, region = found["first"], found["first_region"]
    both = first["both"]
    tau, alpha = f"{found['tau']:g}", f"{found['alpha']:g}"
    ways = [
        ["tau alone", _number(first["tau"]), alpha],
        ["alpha alone", tau, _number(first["alpha"])],
        ["both", *(("-", "-") if both is None else map(_number, both))],
    ]
    where = (
        "Never first, at any tau and alpha."
        if region is None
        else f"Its largest region: {region['sentence']}."
    )
    flags = [f"⚠ {one['sentence']}" if one["flagged"] else one["sentence"] for one in found["stuffing"]]
    print_table(
        "It is first" if first["rank"] == 1 else "What it would take to be first: the nearest point",
        {"turning": "left", "tau": "right", "alpha": "right"},
        [["nothing", tau, alpha]] if first["rank"] == 1 else ways,
        ["", where, *flags],
    )


def _settings(found: JsonObject) -> str:
    return (
        f"Ordered by {found['method']}: tau {found['tau']:g} ({found['mode']}), alpha {found['alpha']:g}, "
        f"encoder {found['encoder']}{', centred' if found['centred'] else ''}."
    )


def _title(one: JsonObject) -> str:
    title = one["title"].strip() or one["id"]
    return title if len(title) <= _TITLE else f"{title[: _TITLE - 1]}…"


def _moved(places: int) -> str:
    return f"▲{places}" if places > 0 else f"▼{-places}" if places < 0 else "="


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
