"""Why is this document not in the ranking? The answer in words, and the ranking with it added."""

from dataclasses import replace

from causalviz.errors import ParameterError
from causalviz.explain.missing import MissingDocument, why_missing
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.records import RankSettings, Trace


def explain_missing(
    pipeline: Pipeline, trace: Trace, unit_id: str, settings: RankSettings
) -> tuple[str, Trace]:
    """Say what keeps a document out of the candidates of a trace, and rank it among them.

    Returns:
        One paragraph, and the trace with the document as one more candidate (its own trace when it is one already).

    Raises:
        ParameterError: the id is not in the knowledge base, or is a candidate already.
    """
    if any(candidate.id == unit_id for candidate in trace.candidates):
        raise ParameterError(
            f"'{unit_id}' is among the {len(trace.candidates)} candidates; choose its card to see why."
        )
    search = SearchSettings(top_k=trace.top_k, theta=trace.theta, unit=trace.unit, centred=trace.centred)
    rank = pipeline.similarity_rank(trace.query, unit_id, trace.unit)
    widened = pipeline.ask_among(
        trace.query, [*(candidate.id for candidate in trace.candidates), unit_id], search, trace.settings
    )
    found = why_missing(trace, settings, widened, unit_id, rank)
    twin = pipeline.copy_among(unit_id, [candidate.id for candidate in trace.candidates], trace.unit)
    title = widened.candidates[found.index].title or unit_id
    return _sentence(found, trace, title, twin), replace(widened, warnings=trace.warnings)


def _sentence(found: MissingDocument, trace: Trace, title: str, twin: str | None) -> str:
    reasons = []
    if twin is not None:
        reasons.append(
            f"{twin}, which is a candidate, has the same text, and copies come in only where there is room"
        )
    elif found.beyond_top_k:
        reasons.append(f"only {trace.top_k} candidates are kept (it enters with top k = {found.top_k})")
    if found.below_theta:
        reasons.append(
            f"its similarity is below theta = {trace.theta:g} (it enters with theta = {found.theta:.4f})"
        )
    standing = f"number {found.top_k} of {trace.documents} by similarity ({found.theta:.4f})"
    among = len(found.states.trace.candidates)
    words = [
        f"“{title}” is {standing}; it is missing because {' and '.join(reasons)}.",
        f"Added to the candidates it would rank {found.rank} of {among}.",
    ]
    if found.rank > 1:
        tau = found.tau_for(1)
        best = min(span.rank for span in found.spans)
        if tau is not None:
            words.append(f"At tau = {tau:.3f} it would be first.")
        elif best < found.rank:
            words.append(
                f"Moving tau alone brings it to rank {best} at best (tau = {found.tau_for(best):.3f})."
            )
        else:
            words.append("Moving tau alone does not bring it further up.")
    return " ".join(words)
