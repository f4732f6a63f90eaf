"""Why is this document missing? What would bring a document outside the top k among the candidates, and how far up."""

from dataclasses import dataclass

import numpy as np

from causalviz.errors import ParameterError
from causalviz.explain.plane import rank_at
from causalviz.explain.states import TauStates, position, tau_states
from causalviz.explain.tau_path import TauSpan, nearest_tau, tau_path
from causalviz.records import RankSettings, Trace


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MissingDocument:
    """Why a document is no candidate, and what it would do if it were."""

    top_k: int
    """The least k that lets it in: its rank by similarity in the whole knowledge base."""
    theta: float
    """The highest theta that lets it in: its similarity."""
    beyond_top_k: bool
    """Whether the k of the trace shuts it out."""
    below_theta: bool
    """Whether the theta of the trace shuts it out."""
    states: TauStates
    """Of the trace with it added: for its tau path, map, flip points."""
    index: int
    """Its place in baseline order there."""
    rank: int
    """Its rank there at the current settings."""
    spans: tuple[TauSpan, ...]
    """Its rank there at every tau, alpha as it is."""

    def tau_for(self, rank: int) -> float | None:
        """Return the tau nearest to the current one that gives it this rank or a better one; None if there is none.

        Raises:
            ParameterError: the rank is below 1.
        """
        if rank < 1:
            raise ParameterError(f"rank {rank} was asked for, but ranks start at 1.")
        return nearest_tau(self.states, tau_path(self.states), self.index, at_least=rank)


def why_missing(
    trace: Trace, settings: RankSettings, widened: Trace, unit_id: str, similarity_rank: int
) -> MissingDocument:
    """Say what keeps a document out of the candidates and where it would stand among them.

    Args:
        trace: The question as asked; the document is none of its candidates.
        settings: The point at which to look.
        widened: The same question asked of the candidates and the document, as ``Pipeline.ask_among`` returns it: in
            baseline order, which decides ties.
        unit_id: Id of the document.
        similarity_rank: Its rank from 1 by similarity among all documents of the knowledge base.

    Raises:
        ParameterError: the document is a candidate already or not in ``widened``, or the rank is below 1.
    """
    if similarity_rank < 1:
        raise ParameterError(f"the similarity rank is {similarity_rank}, but ranks start at 1.")
    if any(candidate.id == unit_id for candidate in trace.candidates):
        raise ParameterError(f"'{unit_id}' is among the candidates already, so it is not missing.")
    index = position(widened, unit_id)
    similarity = widened.candidates[index].similarity
    states = tau_states(widened, settings)
    return MissingDocument(
        top_k=similarity_rank,
        theta=similarity,
        beyond_top_k=similarity_rank > trace.top_k,
        below_theta=bool(np.float32(similarity) < np.float32(trace.theta)),
        states=states,
        index=index,
        rank=rank_at(states, index, states.at(settings.tau), settings.alpha),
        spans=tau_path(states).of(index),
    )
