"""From question to trace, with an encoder small enough to check by hand."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fakes import WordEncoder, plain_tokenizer, silent
from oracle import cosine

from causalviz.arrays import FloatVector
from causalviz.backends.faiss_index import FaissIndex
from causalviz.errors import KnowledgeBaseError, ParameterError
from causalviz.knowledge_base import RecordEntry, open_knowledge_base, update
from causalviz.pipeline import Pipeline, SearchSettings, normalise_query, with_reranker
from causalviz.protocols import Progress
from causalviz.rank import rerank
from causalviz.records import Document, RankSettings, Trace
from causalviz.score import ScoreTable
from causalviz.trace import loads, to_json

TEXTS = {
    "copy.txt": "late interaction late interaction late interaction interaction late",
    "maxsim.txt": "token vectors compare token by token with late maxima",
    "recipe.txt": "bread flour water salt oven crust",
}
SETTINGS = RankSettings(tau=0.9)


def make_pipeline(folder: Path, texts: dict[str, str]) -> tuple[Pipeline, WordEncoder]:
    encoder = WordEncoder()
    entries = [RecordEntry(Document(id=i, title=i, text=t, reader="record")) for i, t in texts.items()]
    update(folder / "test.kb", entries, encoder, plain_tokenizer(), silent)
    base = open_knowledge_base(folder / "test.kb", encoder, silent)
    encoder.texts.clear()
    return Pipeline(base=base, encoder=encoder, tokenizer=plain_tokenizer(), make_index=FaissIndex), encoder


def ranks(trace: Trace, settings: RankSettings = SETTINGS) -> dict[str, int]:
    ranking = rerank(ScoreTable.of(trace.candidates), settings)
    return {c.id: int(r) for c, r in zip(trace.candidates, ranking.rank, strict=True)}


def test_a_stuffed_copy_leads_by_similarity_and_falls_when_re_ranked(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, TEXTS)
    trace = pipeline.ask("late interaction", SearchSettings(theta=-1.0), SETTINGS)
    assert trace.candidates[0].id == "copy.txt"
    # the copy holds nothing but the question's words
    assert ranks(trace)["copy.txt"] == 3
    assert trace.candidates[0].repeats == trace.candidates[0].tokens == 8


class LengthReranker:
    """Prefers short texts; has nothing to say of one that begins with bread."""

    name = "length"

    def score(self, query: str, texts: Sequence[str], progress: Progress | None = None) -> FloatVector:
        """Score by the texts alone, and tell of it."""
        self.query = query
        if progress:
            progress(0, sum(map(len, texts)), "scoring")
        return np.array([np.nan if t.startswith("bread") else -len(t) for t in texts], np.float32)


def test_a_cross_encoder_adds_its_scores_and_changes_nothing_else(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, TEXTS)
    trace = pipeline.ask("Late  interaction", SearchSettings(theta=-1.0), SETTINGS)
    assert (trace.reranker, {c.cross_encoder for c in trace.candidates}) == (None, {None})
    reranker, told = LengthReranker(), list[str]()
    scored = with_reranker(trace, reranker, TEXTS, lambda *what: told.append(what[2]))
    assert reranker.query == trace.query
    assert told == ["scoring"]
    assert scored.reranker == "length"
    assert {c.id: c.cross_encoder for c in scored.candidates} == {
        "copy.txt": -float(len(TEXTS["copy.txt"])),
        "maxsim.txt": -float(len(TEXTS["maxsim.txt"])),
        "recipe.txt": None,
    }
    assert scored.seconds.keys() == trace.seconds.keys() | {"rerank"}
    assert ranks(scored) == ranks(trace)
    by_it = ranks(scored, replace(SETTINGS, method="cross-encoder"))
    assert by_it == {"maxsim.txt": 1, "copy.txt": 2, "recipe.txt": 3}
    assert loads(json.dumps(to_json(scored))).reranker == "length"


def test_densities_are_those_of_every_document_searched(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, TEXTS)
    trace = pipeline.ask("late interaction", SearchSettings(top_k=1), SETTINGS)
    # 0 of 6 words, 1 of 9, 8 of 8
    assert trace.densities == pytest.approx([0, 1 / 9, 1])
    assert trace.density_limit is None  # two documents use the words, four are needed to say what is usual
    many = {f"d{i}.txt": f"late {'other ' * (9 + i)}" for i in range(6)} | {
        "stuffed.txt": "late late late other"
    }
    (tmp_path / "many").mkdir()
    pipeline, _ = make_pipeline(tmp_path / "many", many)
    trace = pipeline.ask("late", SearchSettings(), SETTINGS)
    assert trace.density_limit is not None
    assert sum(trace.densities > trace.density_limit) == 1


def test_every_number_of_a_trace_is_a_product_of_encoder_vectors(tmp_path: Path) -> None:
    pipeline, encoder = make_pipeline(tmp_path, TEXTS)
    trace = pipeline.ask("how late is token interaction", SearchSettings(theta=-1.0), SETTINGS)
    q = encoder.encode_queries([trace.query])[0]
    asked = encoder.encode_queries([k.term for k in trace.query_keywords])
    for candidate in trace.candidates:
        vectors = encoder.encode_queries(candidate.terms)
        assert candidate.similarity == pytest.approx(
            cosine(q, encoder.encode_documents([TEXTS[candidate.id]])[0]), abs=1e-6
        )
        assert candidate.relevance == pytest.approx(vectors @ q, abs=1e-6)
        assert candidate.gram == pytest.approx(vectors @ vectors.T, abs=1e-6)
        assert candidate.cosines == pytest.approx((vectors @ asked.T).max(axis=1), abs=1e-6)
        for j, term in enumerate(candidate.terms):
            assert candidate.exact[j] == (term in {k.term for k in trace.query_keywords})


def test_a_query_encodes_only_itself_and_its_unknown_keywords(tmp_path: Path) -> None:
    pipeline, encoder = make_pipeline(tmp_path, TEXTS)
    pipeline.ask("late zebra interaction", SearchSettings(), SETTINGS)
    assert encoder.texts == ["late zebra interaction", "zebra"]


def test_centring_subtracts_the_mean_keyword_vector(tmp_path: Path) -> None:
    pipeline, encoder = make_pipeline(tmp_path, TEXTS)
    trace = pipeline.ask("late interaction", SearchSettings(theta=-1.0, centred=True), SETTINGS)
    words = sorted({word for text in TEXTS.values() for word in text.split()})
    mean = encoder.encode_queries(words).astype(float).mean(axis=0)
    candidate = next(c for c in trace.candidates if c.id == "recipe.txt")
    vectors = encoder.encode_queries(candidate.terms) - mean
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert candidate.gram == pytest.approx(vectors @ vectors.T, abs=1e-5)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "\n\t",
        "\x00",
        "\ud800",
        "\u200b",
        "\ufeff",
        " \u200d\u2060\u3000\u00ad\u202e ",
        "\x00\U000e0041",
    ],
)
def test_an_empty_question_is_refused_in_words(tmp_path: Path, query: str) -> None:
    pipeline, _ = make_pipeline(tmp_path, TEXTS)
    with pytest.raises(ParameterError, match="question is empty"):
        pipeline.ask(query, SearchSettings(), SETTINGS)


@pytest.mark.parametrize("query", ["the of a how", "😀", "如何", "?!"])
def test_a_question_without_keywords_still_ranks_and_says_so(tmp_path: Path, query: str) -> None:
    pipeline, _ = make_pipeline(tmp_path, TEXTS)
    trace = pipeline.ask(query, SearchSettings(theta=-1.0), SETTINGS)
    assert trace.query_keywords == ()
    assert len(trace.candidates) == 3
    assert "no keyword is set aside" in trace.warnings[0]
    assert not rerank(ScoreTable.of(trace.candidates), SETTINGS).in_a.any()


def test_a_very_long_question_keeps_its_ten_heaviest_keywords(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, TEXTS)
    trace = pipeline.ask(" ".join(f"word{i}" for i in range(700)), SearchSettings(), SETTINGS)
    assert len(trace.query_keywords) == 10


def test_a_question_is_read_up_to_a_length_and_keeps_the_joiners_in_it(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, TEXTS)
    for length in (5_000, 20_000):
        asked = "late word " * (length // 10)
        assert pipeline.ask(asked, SearchSettings(), SETTINGS).query == asked.strip()
    for ask in (
        lambda query: pipeline.ask(query, SearchSettings(), SETTINGS),
        lambda query: pipeline.ask_among(query, ["copy.txt"], SearchSettings(), SETTINGS),
        lambda query: pipeline.similarity_rank(query, "copy.txt", "document"),
    ):
        with pytest.raises(ParameterError, match="has 20,001 characters, but at most 20,000 are read"):
            ask("a" * 20_001)
    assert normalise_query("می\u200cخواهم 👩\u200d🔬") == "می\u200cخواهم 👩\u200d🔬"


def test_no_document_above_theta_is_said_not_hidden(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, TEXTS)
    trace = pipeline.ask("late", SearchSettings(theta=1.0), SETTINGS)
    assert trace.candidates == ()
    assert "lower it" in trace.warnings[0]
    assert rerank(ScoreTable.of(trace.candidates), SETTINGS).order.tolist() == []


def test_an_empty_knowledge_base_is_refused_in_words(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, {})
    with pytest.raises(KnowledgeBaseError, match="holds no documents"):
        pipeline.ask("late", SearchSettings(), SETTINGS)


def test_one_document_and_two_identical_documents_have_defined_ranks(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, {"b.txt": "token vectors", "a.txt": "token vectors"})
    trace = pipeline.ask("vectors", SearchSettings(), SETTINGS)
    assert ranks(trace) == {"a.txt": 1, "b.txt": 2}
    assert [c.duplicate_of for c in trace.candidates] == [None, "a.txt"]
    assert rerank(ScoreTable.of(trace.candidates), SETTINGS).hybrid.tolist() == [0.0, 0.0]


def test_documents_without_keywords_rank_by_similarity_below_the_others(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, {"a.txt": "the of a", "b.txt": "5 6 7 8"})
    trace = pipeline.ask("late 5", SearchSettings(theta=-1), SETTINGS)
    assert [c.terms for c in trace.candidates] == [(), ()]
    assert ranks(trace) == {c.id: i for i, c in enumerate(trace.candidates, start=1)}
    assert rerank(ScoreTable.of(trace.candidates), SETTINGS).empty_b.all()


def test_the_rank_in_the_whole_knowledge_base_is_that_of_a_full_candidate_set(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(
        tmp_path, {**TEXTS, "copy2.txt": TEXTS["copy.txt"], "a.txt": "late late salt"}
    )
    trace = pipeline.ask("late interaction", SearchSettings(top_k=99, theta=-1), SETTINGS)
    found = [pipeline.similarity_rank("late interaction", c.id, "document") for c in trace.candidates]
    assert found == [1, 2, 3, 4, 5]
    with pytest.raises(ParameterError, match=r"no document 'nobody\.txt'"):
        pipeline.similarity_rank("late", "nobody.txt", "document")


def test_a_text_with_nearly_the_same_words_is_marked(tmp_path: Path) -> None:
    words = " ".join(f"word{i}" for i in range(40))
    texts = {
        "a.txt": words,
        "b.txt": f"{words} again",
        "c.txt": "word1 word2 and quite other things",
        "d.txt": words,
    }
    pipeline, _ = make_pipeline(tmp_path, texts)
    found = {c.id: c for c in pipeline.ask("word1 word2", SearchSettings(theta=-1), SETTINGS).candidates}
    order = [c for c in found if c in {"a.txt", "b.txt", "d.txt"}]
    # cosine of 40 shared words of 40 and 41: 40 / sqrt(40 * 41) = 0.988; c shares two of six words
    marks = [(found[id_].duplicate_of, found[id_].near_duplicate_of) for id_ in order]
    assert marks[0] == (None, None)
    assert all(mark.count(None) == 1 for mark in marks[1:])
    assert found["d.txt"].duplicate_of == "a.txt"
    assert (found["c.txt"].duplicate_of, found["c.txt"].near_duplicate_of) == (None, None)


def test_only_the_very_same_text_is_a_duplicate(tmp_path: Path) -> None:
    # The word encoder, as real ones, has one vector for both; the texts are not the same.
    pipeline, _ = make_pipeline(tmp_path, {"a.txt": "token vectors", "b.txt": "vectors token"})
    trace = pipeline.ask("vectors", SearchSettings(), SETTINGS)
    assert [c.duplicate_of for c in trace.candidates] == [None, None]
    assert [c.near_duplicate_of for c in trace.candidates] == [None, "a.txt"]


def test_full_width_and_ascii_questions_ask_the_same(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, {"a.txt": "abc123 model", "b.txt": "other thing"})
    wide, plain = (pipeline.ask(q, SearchSettings(theta=-1), SETTINGS) for q in ("ＡＢＣ１２３", "ABC123"))
    assert wide.query_keywords == plain.query_keywords
    assert [c.similarity for c in wide.candidates] == [c.similarity for c in plain.candidates]


def test_a_chunk_is_ranked_by_the_same_code(tmp_path: Path) -> None:
    long = " ".join(f"word{i}" for i in range(1500)) + " late interaction"
    pipeline, _ = make_pipeline(tmp_path, {**TEXTS, "long.txt": long})
    trace = pipeline.ask("late interaction", SearchSettings(unit="chunk", theta=-1.0), SETTINGS)
    ids = {c.id for c in trace.candidates}
    # 12,406 characters in chunks of 4,096 that start every 3,584: at 0, 3584, 7168 and 10752
    assert ids == {"copy.txt#1", "maxsim.txt#1", "recipe.txt#1", *(f"long.txt#{n}" for n in range(1, 5))}
    assert trace.documents == 7
    assert pipeline.base.texts(["long.txt#2"], "chunk")["long.txt#2"] == long[3584 : 3584 + 4096]


def test_a_chunk_and_a_document_of_one_name_keep_their_texts_apart(tmp_path: Path) -> None:
    long = "word " * 900
    pipeline, _ = make_pipeline(tmp_path, {"a": long.strip(), "a#2": "another document"})
    assert pipeline.base.texts(["a#2"], "document") == {"a#2": "another document"}
    assert pipeline.base.texts(["a#2", "a#2#1"], "chunk") == {
        "a#2": long.strip()[3584:],
        "a#2#1": "another document",
    }


def test_a_given_candidate_set_is_ranked_whatever_its_similarity(tmp_path: Path) -> None:
    pipeline, _ = make_pipeline(tmp_path, TEXTS)
    trace = pipeline.ask_among(
        "late", ["recipe.txt", "copy.txt"], SearchSettings(top_k=1, theta=1.0), SETTINGS
    )
    assert {c.id for c in trace.candidates} == {"recipe.txt", "copy.txt"}
    with pytest.raises(ParameterError, match=r"no document 'nobody\.txt'"):
        pipeline.ask_among("late", ["nobody.txt"], SearchSettings(), SETTINGS)
