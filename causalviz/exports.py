"""A ranking for other programs: a table (CSV) and a TREC run. Pure functions of a trace and its ranking."""

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from causalviz.errors import ParameterError
from causalviz.rank import Ranking
from causalviz.records import Trace

COLUMNS = (
    "rank", "similarity_rank", "causal_rank", "hybrid_rank", "id", "title", "similarity", "causal", "hybrid",
    "empty_b", "A", "B", "repeats", "tokens", "duplicate_of", "guarded_rank", "suspect",
    "cross_encoder", "cross_rank",
)  # fmt: skip

_SPACES = r"\t-\r\x1c-\x20\x85\u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff"
_FORMULA = re.compile(rf"'*[\t\r\n]|['{_SPACES}]*[=+\-@＝＋－＠]")
"""What a spreadsheet may take for the beginning of a formula, after spaces of any kind; after apostrophes too, so that
what was made safe can be told from what was so before. assets/view/exports.js has the same."""
_STEP = 1_000_000
"""TREC scores are written in millionths: far enough apart to stay distinct as float32, which trec_eval reads."""


def csv_table(trace: Trace, ranking: Ranking) -> str:
    """Write the ranking as CSV (RFC 4180), documents in final order.

    Text that a spreadsheet would calculate gets an apostrophe in front. Scores have all their digits; one that does
    not exist (empty B, no cross-encoder) is an empty cell. Keywords of A and of B are separated by spaces.
    """
    rows: list[list[str | float | None]] = []
    for i in ranking.order.tolist():
        candidate = trace.candidates[i]
        in_a = ranking.in_a[i, : len(candidate.terms)].tolist()
        rows.append(
            [
                int(ranking.rank[i]),
                int(ranking.similarity_rank[i]),
                int(ranking.causal_rank[i]),
                int(ranking.hybrid_rank[i]),
                candidate.id,
                candidate.title,
                candidate.similarity,
                float(ranking.causal[i]),
                float(ranking.hybrid[i]),
                "yes" if ranking.empty_b[i] else "no",
                _keywords(candidate.terms, in_a, wanted=True),
                _keywords(candidate.terms, in_a, wanted=False),
                candidate.repeats,
                candidate.tokens,
                candidate.duplicate_of,
                int(ranking.guarded_rank[i]),
                "yes" if candidate.suspect else "no",
                float(ranking.cross[i]),
                None if trace.reranker is None else int(ranking.cross_rank[i]),
            ]
        )
    return csv_text(COLUMNS, rows)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Write a table as CSV (RFC 4180) that no spreadsheet calculates; every CSV of this package is written here.

    Args:
        columns: Names.
        rows: A text gets an apostrophe in front where a spreadsheet would calculate it (``plain_cell`` takes it away
            again), a number has all its digits, and what does not exist (None, a number that is not finite) is empty.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows([[_cell(value) for value in row] for row in (columns, *rows)])
    return out.getvalue()


def trec_run(trace: Trace, ranking: Ranking, query_id: str) -> str:
    """Write the ranking as a TREC run: ``query Q0 document rank score tag``, documents in final order.

    Scores are the method's own to six decimals, lowered where they tie or do not exist (empty B), so that they fall
    strictly and every program that sorts by score sees the displayed order. White space and "%" in document ids are
    percent-encoded, since a run is split at white space.

    Args:
        trace: What was ranked.
        ranking: How.
        query_id: As in the relevance judgements.

    Raises:
        ParameterError: the query id is empty or holds white space.
    """
    if not re.fullmatch(r"\S+", query_id):
        raise ParameterError(
            f"the query id '{query_id}' is empty or holds white space, at which a TREC run is split; give one word."
        )
    tag = f"causalviz-{trace.settings.method}"
    lines = []
    last: int | None = None
    for i in ranking.order.tolist():
        score = float(ranking.final[i])
        highest = None if last is None else last - 1
        own = round(score * _STEP) if math.isfinite(score) else highest or 0
        last = own if highest is None else min(own, highest)
        document = re.sub(r"[\s%]", lambda found: quote(found[0]), trace.candidates[i].id)
        lines.append(f"{query_id} Q0 {document} {ranking.rank[i]} {last / _STEP:.6f} {tag}\n")
    return "".join(lines)


def safe_cell(text: str) -> str:
    """Keep a spreadsheet from calculating a text."""
    return f"'{text}" if _FORMULA.match(text) else text


def plain_cell(cell: str) -> str:
    """Give the text that was made safe."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell, 1) else cell


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return safe_cell(value)
    return repr(value) if math.isfinite(value) else ""


def _keywords(terms: Sequence[str], in_a: Sequence[bool], *, wanted: bool) -> str:
    return " ".join(term for term, shared in zip(terms, in_a, strict=True) if shared is wanted)
