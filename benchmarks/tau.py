"""Which tau, raw or centred, suits the bundled encoder? Measured on collections that are not the sample.

Each query of a collection becomes a small theme like the paper's: its target (a relevant document), the three most
similar documents that are not relevant, two off-topic documents stuffed with the query's keywords, two unrelated.
The last table is of one knowledge base that holds the documents of all collections; a star marks what it proposes.

    python -m benchmarks.tau ../shared/data/cranfield ../shared/data/scifact ../shared/data/zh_stard
"""

import argparse
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np

from causalviz.backends.segmentation import default_tokenizer
from causalviz.bootstrap import index_into, make_encoder, open_pipeline
from causalviz.cli.terminal import print_table, progress_bar
from causalviz.evaluation.collections import Collection, read_collection
from causalviz.evaluation.diagnose import diagnose
from causalviz.evaluation.stuffing import stuff
from causalviz.evaluation.themes import Role, Theme
from causalviz.knowledge_base import RecordEntry
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.protocols import Encoder
from causalviz.records import Document, RankSettings, Trace

QUERIES = 40
STYLES = ("list", "woven")
ROLES: tuple[Role, ...] = ("target", "near", "near", "near", "stuffed", "stuffed", "unrelated", "unrelated")
POOL = 240
"""Documents per collection that near, stuffed and unrelated ones are drawn from."""
TEXT = 1200
"""Documents are cut to this many characters, to bound the run."""
TAUS = {
    False: (0.84, 0.86, 0.87, 0.88, 0.89, 0.90, 0.91, 0.92, 0.94, 1.0),
    True: (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 1.0),
}

COLUMNS = (
    "vectors", "tau", "random pairs absorbed", "target: similarity", "target: s_c", "MRR s_c", "target: hybrid",
    "stuffed: s_c", "stuffed: hybrid", "target: guarded", "stuffed: guarded", "guarded below similarity",
)  # fmt: skip


def themes_of(
    collection: Collection, pipeline: Pipeline, pool: list[Document], draw: random.Random
) -> Iterator[Theme]:
    """Build one theme per sampled query."""
    tokenizer = default_tokenizer()
    documents = {document.id: document for document in pool}
    for number, (query_id, query) in enumerate(collection.queries.items()):
        relevant = {id_ for id_, grade in collection.qrels[query_id].items() if grade > 0}
        targets = sorted(relevant & documents.keys())
        terms = list(dict.fromkeys(token.term for token in tokenizer.tokens(query)))
        if not targets or not terms:
            continue
        trace = pipeline.ask(query, SearchSettings(top_k=len(pool)), RankSettings(tau=1.0))
        others = [c.id for c in trace.candidates if c.id not in relevant]
        near, far = others[:3], draw.sample(others[len(others) // 2 :], 4)
        style = STYLES[number % len(STYLES)]
        stuffed = [
            Document(
                id=f"{query_id}/stuffed{i}",
                title=query,
                text=stuff(query, terms, documents[id_].text[:400], style, seed=number),
                reader="record",
            )
            for i, id_ in enumerate(far[:2])
        ]
        chosen = (
            [documents[id_] for id_ in (targets[0], *near)] + stuffed + [documents[id_] for id_ in far[2:]]
        )
        yield Theme(id=query_id, lang="", query=query, documents=tuple(chosen), roles=ROLES)


def sample(collection: Collection, draw: random.Random) -> tuple[Collection, list[Document]]:
    """Draw queries, their first relevant document, and a pool of others."""
    ids = draw.sample(sorted(collection.queries), min(QUERIES, len(collection.queries)))
    queries = {id_: collection.queries[id_] for id_ in ids}
    wanted = {next((d for d, grade in collection.qrels[id_].items() if grade > 0), "") for id_ in ids}
    rest = [document for document in collection.documents if document.id not in wanted]
    pool = [document for document in collection.documents if document.id in wanted] + draw.sample(rest, POOL)
    cut = [Document(id=d.id, title=d.title, text=d.text[:TEXT], reader=d.reader) for d in pool if d.text]
    return Collection(
        name=collection.name, documents=collection.documents, queries=queries, qrels=collection.qrels
    ), cut


def asker(pipeline: Pipeline, search: SearchSettings, settings: RankSettings) -> Callable[[Theme], Trace]:
    """Return what gives a theme's trace over its own documents."""
    return lambda theme: pipeline.ask_among(theme.query, [d.id for d in theme.documents], search, settings)


def drawn(folder: Path, encoder: Encoder) -> tuple[str, list[Theme], list[Document]]:
    """Make a collection's themes; give its name, them, and every document, ids that no other collection has."""
    draw = random.Random(7)  # noqa: S311 - a reproducible draw
    collection, pool = sample(read_collection(folder), draw)
    with tempfile.TemporaryDirectory() as place, progress_bar() as progress:
        path = Path(place) / "clean.kb"
        index_into(path, [RecordEntry(document) for document in pool], encoder, progress)
        made = list(themes_of(collection, open_pipeline(path, encoder, progress), pool, draw))

    def named(documents: Sequence[Document]) -> tuple[Document, ...]:
        return tuple(replace(document, id=f"{collection.name}/{document.id}") for document in documents)

    themes = [
        replace(theme, id=f"{collection.name}/{theme.id}", documents=named(theme.documents)) for theme in made
    ]
    everything = {d.id: d for d in (*named(pool), *(d for theme in themes for d in theme.documents))}
    return collection.name, themes, list(everything.values())


def measure(name: str, themes: Sequence[Theme], documents: Sequence[Document], encoder: Encoder) -> None:
    """Index documents together and print how the themes fare at each tau."""
    with tempfile.TemporaryDirectory() as place, progress_bar() as progress:
        path = Path(place) / "a.kb"
        index_into(path, [RecordEntry(document) for document in documents], encoder, progress)
        pipeline = open_pipeline(path, encoder, progress)
    rows, notes = [], []
    for centred, taus in TAUS.items():
        kind = "centred" if centred else "raw"
        pairs, search = pipeline.random_pairs[centred], SearchSettings(centred=centred)
        proposal = pipeline.propose_tau(centred=centred)
        proposed = [proposal.tau] if proposal else []
        notes += [f"proposed {kind}: {proposal.tau:.3f}, {proposal.reason}." for _ in proposed if proposal]
        for tau in sorted([*taus, *proposed]):
            settings = RankSettings(tau=tau)
            found = diagnose(themes, asker(pipeline, search, settings), settings)
            reciprocal = fmean(1 / result.target_rank["semantic"] for result in found.themes)
            rows.append(
                [
                    kind,
                    f"{tau:.3f} *" if tau in proposed else f"{tau:.2f}  ",
                    f"{100 * float(np.mean(pairs >= tau)):.2f} %",
                    f"{found.mean_target_rank['similarity']:.2f}",
                    f"{found.mean_target_rank['semantic']:.2f}",
                    f"{reciprocal:.3f}",
                    f"{found.mean_target_rank['hybrid']:.2f}",
                    f"{found.mean_stuffed_rank['semantic']:.2f}",
                    f"{found.mean_stuffed_rank['hybrid']:.2f}",
                    f"{found.mean_target_rank['guarded']:.2f}",
                    f"{found.mean_stuffed_rank['guarded']:.2f}",
                    str(sum(t.target_rank["guarded"] > t.target_rank["similarity"] for t in found.themes)),
                ]
            )
    print_table(f"{name}: {len(themes)} themes of 8 documents", dict.fromkeys(COLUMNS, "right"), rows, notes)


def main() -> None:
    """Measure every collection named on the command line, then all of them together; print a table each."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("collections", nargs="+", type=Path)
    encoder = make_encoder("e5-small")
    drawn_from = [drawn(folder, encoder) for folder in options.parse_args().collections]
    for name, themes, documents in drawn_from:
        measure(name, themes, documents, encoder)
    if len(drawn_from) > 1:
        themes = [theme for _, of_one, _ in drawn_from for theme in of_one]
        documents = [document for _, _, of_one in drawn_from for document in of_one]
        measure(" + ".join(name for name, _, _ in drawn_from), themes, documents, encoder)


if __name__ == "__main__":
    main()
