"""Why is this document missing? What would bring a document outside the top k among the candidates, and how far up."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from causalviz.errors import ParameterError
from causalviz.explain.plane import rank_at
from causalviz.explain.states import TauStates, position, tau_states
from causalviz.explain.tau_path import TauSpan, nearest_tau, tau_path
from causalviz.records import Candidate, RankSettings, Trace


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
    trace: Trace,
    settings: RankSettings,
    document: Candidate,
    similarity_rank: int,
    *,
    between: Sequence[Candidate] = (),
) -> MissingDocument:
    """Say what keeps a document out of the candidates and where it would stand among them.

    Args:
        trace: The question as asked; the document is none of its candidates.
        settings: The point at which to look.
        document: Its own record for the same question, encoder and centring, as ``Pipeline.ask_among`` computes it.
        similarity_rank: Its rank from 1 by similarity among all documents of the knowledge base.
        between: Documents that a larger k would let in before it. With them its rank is the one it would have at that
            k; without, the one it would have as the only newcomer.

    Raises:
        ParameterError: the document (or one of ``between``) is a candidate already, or the rank is below 1.
    """
    if similarity_rank < 1:
        raise ParameterError(f"the similarity rank is {similarity_rank}, but ranks start at 1.")
    everyone = [*trace.candidates, *between, document]
    ids = [candidate.id for candidate in everyone]
    if len(set(ids)) < len(ids):
        double = next(id_ for id_ in ids if ids.count(id_) > 1)
        raise ParameterError(f"'{double}' is among the candidates already, so it is not missing.")
    everyone.sort(key=lambda candidate: (-candidate.similarity, candidate.id))
    widened = replace(trace, candidates=tuple(everyone))
    states = tau_states(widened, settings)
    index = position(widened, document.id)
    return MissingDocument(
        top_k=similarity_rank,
        theta=document.similarity,
        beyond_top_k=similarity_rank > trace.top_k,
        below_theta=bool(np.float32(document.similarity) < np.float32(trace.theta)),
        states=states,
        index=index,
        rank=rank_at(states, index, states.at(settings.tau), settings.alpha),
        spans=tau_path(states).of(index),
    )
