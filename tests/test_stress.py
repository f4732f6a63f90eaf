"""Injected documents and their laws, comparisons worked out by hand, and the command as scripts meet it."""

import hashlib
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import WordEncoder, silent
from hypothesis import given
from hypothesis import strategies as st

from causalviz import cli
from causalviz.bootstrap import attacked_pipeline, collection_pipeline
from causalviz.cli.stress import write_collection
from causalviz.errors import CollectionError, ParameterError
from causalviz.evaluation.collections import Collection, read_collection
from causalviz.evaluation.evaluate import METHODS
from causalviz.evaluation.stress import (
    Attack,
    Design,
    Injection,
    compare,
    inject,
    related_words,
    styles_named,
)
from causalviz.evaluation.stuffing import DEVELOPMENT, HELD_OUT
from causalviz.records import Document
from causalviz.settings import Settings

pytest.importorskip("ir_measures", reason="left out where it has no wheel; see requirements.txt")

EXACT = tuple(style for style in (*DEVELOPMENT, *HELD_OUT) if style != "synonyms")
CORPUS: list[dict[str, Any]] = [
    {"_id": "maxsim", "title": "MaxSim", "text": "Late interaction keeps a vector for each token."},
    {"_id": "bread", "title": "Bread", "text": "Flour, water and salt rest overnight. The crust is brown."},
    {"_id": "chess", "title": "Chess", "text": "The bishop moves diagonally. A pawn can be promoted."},
    {"_id": "river", "title": "", "text": "The river floods in spring. Boats wait for calm water."},
    {"_id": "violin", "title": "Violin", "text": "Four strings are tuned in fifths. The bow is horsehair."},
    {"_id": "empty", "title": "", "text": ""},
]
QUERIES = [
    {"_id": "q1", "text": "late interaction"},
    {"_id": "q2", "text": "how does bread get its crust"},
    {"_id": "q3", "text": "what is it"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\tmaxsim\t2\nq1\tchess\t0\nq2\tbread\t1\nq3\triver\t1\n"
KEYWORDS = {"q1": ["interaction", "late"], "q2": ["bread", "crust"], "q3": []}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAUSALVIZ_HOME", str(tmp_path / "home"))
    place = tmp_path / "tiny"
    (place / "qrels").mkdir(parents=True)
    for name, entries in (("corpus", CORPUS), ("queries", QUERIES)):
        lines = "".join(f"{json.dumps(entry)}\n" for entry in entries)
        (place / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (place / "qrels" / "test.tsv").write_text(QRELS, encoding="utf-8")
    return place


def collection_of(documents: int, queries: int, prefix: str = "d") -> tuple[Collection, dict[str, list[str]]]:
    """Query i is answered by document i."""
    collection = Collection(
        name="made",
        documents=tuple(
            Document(id=f"{prefix}{i}", title=f"T{i}", text=f"Text{i} is here.", reader="record")
            for i in range(documents)
        ),
        queries={f"q{i}": f"word{i} thing{i}" for i in range(queries)},
        qrels={f"q{i}": {f"{prefix}{i}": 1, f"{prefix}{i + 1}": 0} for i in range(queries)},
    )
    return collection, {id_: text.split() for id_, text in collection.queries.items()}


# What is injected


@given(
    st.integers(1, 6),
    st.integers(1, 4),
    st.lists(st.sampled_from(EXACT), min_size=1, unique=True),
    st.integers(0, 2**32),
    st.sampled_from(["d", "stuffed/", "stuffed/list/q0/0", "_stuffed/"]),
)
def test_an_attack_adds_documents_and_changes_nothing_else(
    queries: int, per_query: int, styles: list[str], seed: int, prefix: str
) -> None:
    documents = queries + per_query + 2
    collection, keywords = collection_of(documents, queries, prefix)
    design = Design(styles=tuple(styles), per_query=per_query, seed=seed)
    near = {id_: {f"{prefix}{i + 2}"} for i, id_ in enumerate(collection.queries)}
    attack = inject(collection, keywords, design, near)
    assert attack == inject(collection, keywords, design, near)
    assert attack.collection.documents[:documents] == collection.documents
    assert attack.collection.qrels == collection.qrels
    assert attack.collection.queries == collection.queries
    ids = [document.id for document in attack.collection.documents]
    assert len(ids) == len(set(ids)) == documents + queries * per_query
    assert ids[documents:] == list(attack.injected)
    texts = {document.id: document.text for document in attack.collection.documents}
    for id_, injection in attack.injected.items():
        assert collection.qrels[injection.query].get(injection.source, 0) == 0
        assert injection.source not in near[injection.query]
        assert id_.split("/")[-3:-1] == [injection.style, injection.query]
        assert all(term in texts[id_] for term in keywords[injection.query])
        assert texts[injection.source].split()[0] in texts[id_]
    for query in collection.queries:
        sources = [one.source for one in attack.injected.values() if one.query == query]
        assert len(sources) == len(set(sources)) == per_query
    counts = [sum(one.style == style for one in attack.injected.values()) for style in styles]
    assert max(counts) - min(counts) <= 1


def test_the_only_off_topic_document_is_stuffed_as_a_text_is() -> None:
    collection, keywords = collection_of(3, 1)
    # d0 answers, d1 is a candidate: d2 is left
    attack = inject(collection, keywords, Design(styles=("heavy",), per_query=1), {"q0": {"d1"}})
    assert attack.injected == {"stuffed/heavy/q0/0": Injection(query="q0", style="heavy", source="d2")}
    (new,) = attack.collection.documents[3:]
    # 14 characters of text ask for 28 of keywords; two blocks of word0 thing0 hold 22, so each has both twice
    before, text, after = new.text.split("\n")
    assert text == "Text2 is here."
    assert sorted(before.split()) == sorted(after.split()) == ["thing0", "thing0", "word0", "word0"]
    assert new.title == new.id


def test_what_a_query_gets_does_not_depend_on_the_other_queries() -> None:
    collection, keywords = collection_of(12, 5)
    design = Design(styles=("woven",), per_query=3, seed=4)
    whole = {
        document.id: document.text
        for document in inject(collection, keywords, design, {}).collection.documents
    }
    alone = replace(
        collection, queries={"q3": collection.queries["q3"]}, qrels={"q3": collection.qrels["q3"]}
    )
    for document in inject(alone, keywords, design, {}).collection.documents:
        assert whole[document.id] == document.text


def test_another_seed_stuffs_other_documents() -> None:
    collection, keywords = collection_of(40, 1)
    found = {
        tuple(
            one.source
            for one in inject(collection, keywords, Design(styles=("list",), seed=seed), {}).injected.values()
        )
        for seed in range(6)
    }
    assert len(found) > 1


def test_a_query_without_keywords_and_a_document_without_text_are_left_alone() -> None:
    collection, keywords = collection_of(3, 2)
    blank = replace(collection.documents[2], text=" ")
    collection = replace(collection, documents=(*collection.documents[:2], blank))
    attack = inject(collection, {**keywords, "q1": []}, Design(styles=("list",), per_query=1), {})
    assert [(one.query, one.source) for one in attack.injected.values()] == [("q0", "d1")]


def test_synonyms_are_written_with_the_related_words() -> None:
    collection, keywords = collection_of(2, 1)
    related = {"word0": ["near0"], "thing0": ["near1"]}
    attack = inject(collection, keywords, Design(styles=("synonyms",), per_query=1), {}, related)
    text = attack.collection.documents[-1].text
    assert sorted(text.removeprefix("word0 thing0 Text1 is here. ").split()) == ["near0", "near1"]


def test_too_few_off_topic_documents_are_named() -> None:
    collection, keywords = collection_of(4, 1)
    with pytest.raises(
        CollectionError, match="query 'q0' of 'made' leaves 2 off-topic documents to stuff, but 3"
    ):
        inject(collection, keywords, Design(styles=("list",), per_query=3), {"q0": {"d3"}})


@pytest.mark.parametrize(("per_query", "seed", "said"), [(0, 0, "per-query is 0"), (1, -1, "seed is -1")])
def test_a_design_out_of_range_is_refused(per_query: int, seed: int, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Design(styles=("list",), per_query=per_query, seed=seed)


def test_an_unknown_style_is_refused() -> None:
    collection, keywords = collection_of(4, 1)
    with pytest.raises(ParameterError, match="no stuffing style 'loud'"):
        inject(collection, keywords, Design(styles=("loud",)), {})


def test_a_group_stands_for_its_styles() -> None:
    assert styles_named(["development"]) == DEVELOPMENT
    assert styles_named(["held-out", "list"]) == (*HELD_OUT, "list")
    assert styles_named(["woven", "development", "woven"]) == ("woven", "list", "title")


def test_related_words_are_the_nearest_but_the_word_itself() -> None:
    angles = {"late": 0.0, "tardy": 0.1, "delayed": -0.2, "early": -2.0, "slow": 0.2}
    words = list(angles)
    vectors = np.array([(math.cos(a), math.sin(a)) for a in angles.values()], np.float32)
    asked = np.array([vectors[0], (0.0, 1.0)], np.float32)
    found = related_words(["late", "up"], asked, words, vectors, 2)
    assert found == {"late": ("tardy", "delayed"), "up": ("slow", "tardy")}
    assert related_words(["late"], asked[:1], words[:2], vectors[:2]) == {"late": ("tardy",)}


# What is measured


def test_a_comparison_is_that_worked_out_by_hand() -> None:
    collection, _ = collection_of(1, 1)
    own, others = (Injection(query=id_, style="list", source="d0") for id_ in ("q", "r"))
    attack = Attack(collection=collection, injected={"s1": own, "s2": own, "s3": own, "other": others})
    qrels = {"q": {"a": 1}, "r": {"b": 1}}
    clean = {"q": ["a", "x"], "r": ["b"]}
    attacked = {"q": ["s1", "a", "other", "s2", "s3"], "r": ["b"]}
    found = compare(clean, attacked, qrels, attack, 4)
    # q falls from 1 to 1 / log2(3); s1 and s2 are 1st and 4th, s3 is beyond, "other" is another query's
    assert found.clean == {"ndcg@10": 1, "p@5": pytest.approx(0.2), "mrr@10": 1}
    assert found.attacked["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1) / 2)
    assert found.attacked["mrr@10"] == pytest.approx(0.75)
    assert found.kept == found.attacked["ndcg@10"]
    assert found.injected_rank == 2.5


def test_where_nothing_was_found_nothing_can_be_kept() -> None:
    collection, _ = collection_of(1, 1)
    found = compare(
        {"q": ["x"]}, {"q": ["x"]}, {"q": {"a": 1}}, Attack(collection=collection, injected={}), 5
    )
    assert found.kept is None
    assert found.injected_rank is None


# On disk


def test_a_written_collection_is_read_as_it_was(folder: Path, tmp_path: Path) -> None:
    collection = read_collection(folder)
    attack = inject(collection, KEYWORDS, Design(styles=EXACT, per_query=3), {})
    write_collection(tmp_path / "out", attack.collection)
    assert read_collection(tmp_path / "out") == replace(attack.collection, name="out")


@given(
    st.lists(st.tuples(st.text(max_size=4), st.text(max_size=6)), min_size=1, max_size=4),
)
def test_title_and_text_are_taken_apart_as_they_were_joined(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, str]]
) -> None:
    place = tmp_path_factory.mktemp("c")
    documents = [{"_id": f"d{i}", "title": title, "text": text} for i, (title, text) in enumerate(entries)]
    lines = [json.dumps(document) for document in (*documents, {"_id": "z", "text": "z"})]
    (place / "qrels").mkdir()
    (place / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (place / "queries.jsonl").write_text('{"_id": "q", "text": "x"}', encoding="utf-8")
    (place / "qrels" / "test.tsv").write_text("q\tz\t1\n", encoding="utf-8")
    collection = read_collection(place)
    write_collection(place / "out", collection)
    again = read_collection(place / "out")
    assert [d.text for d in again.documents] == [d.text for d in collection.documents]
    for found, own in zip(again.documents, collection.documents, strict=True):
        # a title of nothing but white space leaves no trace in the text
        assert found.title == own.title or not own.title.strip()


def test_only_injected_documents_are_encoded(folder: Path, tmp_path: Path) -> None:
    settings = Settings.of({"CAUSALVIZ_HOME": str(tmp_path / "home")})
    encoder, collection = WordEncoder(), read_collection(folder)
    clean = collection_pipeline(collection, folder, encoder, settings, silent)
    before = clean.base.path.read_bytes()
    attack = inject(collection, KEYWORDS, Design(styles=("list",), per_query=1), {})
    encoder.texts.clear()
    attacked = attacked_pipeline(clean, attack.collection, "key", settings, silent)
    new = [document.text for document in attack.collection.documents[len(collection.documents) :]]
    passages = {document.text for document in attack.collection.documents}
    assert [text for text in encoder.texts if text in passages] == new
    assert set(attacked.base.documents.ids) == set(clean.base.documents.ids) | set(attack.injected)
    assert clean.base.path.read_bytes() == before
    # a second run finds it
    encoder.texts.clear()
    attacked_pipeline(clean, attack.collection, "key", settings, silent)
    assert encoder.texts == []


# The command, with the bundled encoder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(["stress", *arguments])
    output = capsys.readouterr()
    return code, output.out, output.err


def test_stress_gives_its_stable_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [str(folder), "--per-query", "1", "--top-k", "2", "--style", "list", "--json"]
    code, out, err = run(capsys, *asked)
    assert (code, err) == (0, "")
    found = json.loads(out)
    methods, data = found.pop("methods"), found.pop("data")
    assert found == {
        "collection": "tiny",
        "queries": 3,
        "styles": ["list"],
        "per_query": 1,
        "seed": 0,
        "encoder": "e5-small",
        "tau": 0.9,
    }
    assert data == {
        "corpus": hashlib.sha256((folder / "corpus.jsonl").read_bytes()).hexdigest(),
        "qrels": hashlib.sha256((folder / "qrels" / "test.tsv").read_bytes()).hexdigest(),
    }
    assert list(methods) == list(METHODS)
    assert all(set(one) == {"clean", "attacked", "kept", "injected_rank"} for one in methods.values())
    for one in methods.values():
        assert set(one["clean"]) == set(one["attacked"]) == {"ndcg@10", "p@5", "mrr@10"}
        assert one["kept"] == pytest.approx(one["attacked"]["ndcg@10"] / one["clean"]["ndcg@10"])
    # a block of nothing but the question's words takes the first place by similarity from what answers it
    assert methods["similarity"]["injected_rank"] == 1
    assert methods["similarity"]["kept"] < 1
    # and sets its own topic's words against it
    assert methods["exact"]["injected_rank"] == 2
    assert run(capsys, *asked)[1] == out


def test_stress_writes_what_it_measured_and_says_what_it_left_out(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "attacked"
    asked = ["--per-query", "1", "--top-k", "2", "--style", "held-out", "--methods", "bm25", "hybrid", "bm25"]
    code, out, err = run(capsys, str(folder), *asked, "--out", str(place))
    said = " ".join(out.split())
    assert (code, err) == (0, "")
    assert "3 of 3 judged queries, 6 documents." in said
    assert "Injected: 2 stuffed documents, 1 a query;" in said
    assert "Styles, in turn: light, heavy, synonyms, phrases." in said
    assert "Queries without a keyword, for which nothing is injected: 1." in said
    assert [line.split()[0] for line in out.splitlines()[2:4]] == ["bm25", "hybrid"]
    written, own = read_collection(place), read_collection(folder)
    assert written.documents[:6] == own.documents
    assert [document.id for document in written.documents[6:]] == ["stuffed/light/q1/0", "stuffed/heavy/q2/0"]
    assert (written.queries, written.qrels) == (own.queries, own.qrels)


def test_stress_finds_words_for_synonyms_in_the_collection(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [
        "--per-query",
        "1",
        "--top-k",
        "1",
        "--style",
        "synonyms",
        "--sample",
        "1",
        "--methods",
        "similarity",
    ]
    code, _, err = run(capsys, str(folder), *asked, "--seed", "1", "--out", str(tmp_path / "out"))
    assert (code, err) == (0, "")
    written = read_collection(tmp_path / "out")
    ((_, query),) = written.queries.items()
    text = written.documents[-1].text
    corpus = " ".join(str(entry["text"]) + " " + entry["title"] for entry in CORPUS).lower()
    assert text.startswith(query)
    added = text.removeprefix(query).replace(".", " ").split()
    assert all(word.lower().strip(",") in corpus for word in added)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--per-query", "0"], "per-query is 0"),
        (["--seed", "-1"], "seed is -1"),
        (["--sample", "0"], "sample is 0"),
        (["--top-k", "0"], "top-k is 0"),
        (["--tau", "2"], "tau is 2"),
        (["--alpha", "2"], "alpha is 2"),
        (["--encoder", "word2vec"], "no encoder 'word2vec'"),
    ],
)
def test_a_setting_out_of_range_is_named_before_anything_is_indexed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    code, out, err = run(capsys, str(folder), *arguments)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert said in err
    assert not (tmp_path / "home").exists()


def test_a_collection_is_never_written_over(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "corpus.jsonl").read_bytes()
    for place in (folder, folder / "corpus.jsonl"):
        code, out, err = run(capsys, str(folder), "--out", str(place))
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert "holds something already" in err
    assert (folder / "corpus.jsonl").read_bytes() == before


def test_a_collection_too_small_to_attack_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, str(folder))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "query 'q1' of 'tiny' leaves 0 off-topic documents to stuff, but 2 are to be injected" in err


def test_an_unknown_style_is_wrong_usage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(capsys, str(folder), "--style", "loud")
    assert stopped.value.code == 2
    assert "loud" in capsys.readouterr().err
