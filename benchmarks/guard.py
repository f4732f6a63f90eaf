"""Where the guard's two numbers come from, and what each of its signals is worth, on development data.

Of each collection some queries are drawn, and at most a pool of documents; the development styles of stuffing are
injected, two documents a query, one style at a time. Ranked are the 20 most similar; every rule decides which of them
are suspected from what a trace holds. nDCG@10 is given as a share of what similarity reaches on the clean collection.

    python -m benchmarks.guard ../shared/data/cranfield ../shared/data/zh_stard
"""

import argparse
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from causalviz import guard
from causalviz.bootstrap import attacked_pipeline, collection_pipeline, make_encoder
from causalviz.cli.terminal import print_table, progress_bar
from causalviz.evaluation.collections import Collection, read_collection
from causalviz.evaluation.evaluate import draw_queries, reranked
from causalviz.evaluation.measures import means, measure
from causalviz.evaluation.stress import Design, inject
from causalviz.evaluation.stuffing import DEVELOPMENT
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.protocols import Encoder, Progress
from causalviz.records import Candidate, RankSettings, Trace
from causalviz.settings import Settings

QUERIES = 80
POOL = 1500
SEED = 1
TOP_K = 20
Rule = Callable[[Candidate, Trace], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One collection as it is, or attacked in one style."""

    name: str
    collection: Collection
    traces: Mapping[str, Trace]


def beyond(factor: float, power: float) -> Rule:
    """Suspect more use of the question's words than factor times a power of the topic, and than is usual."""

    def suspected(candidate: Candidate, _: Trace) -> bool:
        use, topic = candidate.use, candidate.topic
        return use is not None and topic is not None and use > max(factor * topic**power, 1.0)

    return suspected


def density_above(most: float) -> Rule:
    """Suspect densities beyond some multiple of the limit."""

    def dense(candidate: Candidate, trace: Trace) -> bool:
        share = candidate.repeats / max(candidate.tokens, 1)
        return trace.density_limit is not None and share > most * trace.density_limit

    return dense


def either(*rules: Rule) -> Rule:
    """Suspect what any rule suspects."""
    return lambda c, trace: any(rule(c, trace) for rule in rules)


def use_above(most: float) -> Rule:
    """Suspect much use of the question's words, whatever the topic."""
    return lambda c, _: c.use is not None and c.use > most


def topic_below(least: float) -> Rule:
    """Suspect a topic apart from that of the other candidates, whatever the use."""
    return lambda c, _: c.topic is not None and c.topic < least


RULES: dict[str, Rule] = {
    "the guard": lambda c, _: c.suspect,
    **{
        f"use > {factor:g} topic^{power:g}, or density > 2 limits": either(
            beyond(factor, power), density_above(2)
        )
        for power, factors in {1: (4, 5, 6, 8), 2: (4, 6, 8), 3: (3, 5)}.items()
        for factor in factors
    },
    "use > 4 topic^3 alone": beyond(guard.RATIO, 3),
    **{f"density > {m:g} limits alone": density_above(m) for m in (0.5, 1, 2)},
    **{f"use > {m:g} alone": use_above(m) for m in (3, 5, 10)},
    **{f"topic < {m:g} alone": topic_below(m) for m in (0.5, 1, 2)},
    "nobody (similarity)": lambda _, __: False,
    "everybody": lambda _, __: True,
}


def part_of(collection: Collection) -> Collection:
    """Draw queries, their judged documents and a pool of others."""
    queries = draw_queries(collection.queries, QUERIES, SEED)
    qrels = {id_: collection.qrels[id_] for id_ in queries}
    judged = {document for grades in qrels.values() for document in grades}
    rest = [document.id for document in collection.documents if document.id not in judged]
    draw = random.Random(SEED)  # noqa: S311 - a reproducible draw
    kept = judged | set(draw.sample(rest, min(len(rest), max(POOL - len(judged), 0))))
    documents = tuple(document for document in collection.documents if document.id in kept)
    return replace(collection, documents=documents, queries=queries, qrels=qrels)


def asked(pipeline: Pipeline, collection: Collection, settings: RankSettings) -> dict[str, Trace]:
    """Ask every query."""
    search = SearchSettings(top_k=TOP_K, theta=-1.0)
    return {id_: pipeline.ask(query, search, settings) for id_, query in collection.queries.items()}


def conditions(folder: Path, encoder: Encoder, progress: Progress) -> list[Measured]:
    """Index and ask one collection, clean and attacked in every development style."""
    settings = Settings.of()
    collection = part_of(read_collection(folder))
    clean = collection_pipeline(collection, folder / "development of the guard", encoder, settings, progress)
    chosen = RankSettings(tau=clean.default_tau(centred=False).tau)
    traces = asked(clean, collection, chosen)
    found = [Measured(name="clean", collection=collection, traces=traces)]
    keywords = {id_: [keyword.term for keyword in trace.query_keywords] for id_, trace in traces.items()}
    near = {id_: {candidate.id for candidate in trace.candidates} for id_, trace in traces.items()}
    for style in DEVELOPMENT:
        attack = inject(collection, keywords, Design(styles=(style,), seed=SEED), near)
        attacked = attacked_pipeline(clean, attack.collection, f"guard:{style}", settings, progress)
        found.append(Measured(name=style, collection=collection, traces=asked(attacked, collection, chosen)))
    return found


def reached(one: Measured, rule: Rule) -> float:
    """Mean nDCG@10 of guarded ranking where a rule decides who is suspected."""
    rankings = {}
    for id_, trace in one.traces.items():
        candidates = tuple(replace(c, suspect=rule(c, trace)) for c in trace.candidates)
        rankings[id_] = reranked(replace(trace, candidates=candidates), "guarded", trace.settings, TOP_K)
    return means(measure(rankings, one.collection.qrels))["ndcg@10"]


def rates(all_conditions: Sequence[Measured], rule: Rule) -> tuple[str, str]:
    """Share of injected and of relevant documents among the candidates that are suspected."""
    injected, relevant = [], []
    for one in all_conditions:
        for id_, trace in one.traces.items():
            for candidate in trace.candidates:
                if candidate.id.startswith(f"stuffed/{one.name}/{id_}/"):
                    injected.append(rule(candidate, trace))
                elif one.collection.qrels[id_].get(candidate.id, 0) > 0:
                    relevant.append(rule(candidate, trace))
    return f"{100 * fmean(injected):.0f} %", f"{100 * fmean(relevant):.1f} %"


def main() -> None:
    """Measure every collection named on the command line and print one table each."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("collections", nargs="+", type=Path)
    encoder = make_encoder("e5-small")
    for folder in options.parse_args().collections:
        with progress_bar() as progress:
            found = conditions(folder, encoder, progress)
        collection = found[0].collection
        whole = reached(found[0], RULES["nobody (similarity)"])
        rows = [
            [name, *(f"{reached(one, rule) / whole:.3f}" for one in found), *rates(found, rule)]
            for name, rule in RULES.items()
        ]
        columns = {"suspected": "left"} | dict.fromkeys(
            [*(one.name for one in found), "injected caught", "relevant caught"], "right"
        )
        size = f"{len(collection.queries)} queries, {len(collection.documents)} documents, seed {SEED}"
        notes = [f"{size}; similarity on the clean collection: nDCG@10 {whole:.3f}.", ""]
        print_table(f"{collection.name}, development", columns, rows, notes)


if __name__ == "__main__":
    main()
