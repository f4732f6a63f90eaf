"""tau read off random keyword pairs: worked values, the law of scales, and real vocabularies of three kinds."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fakes import WordEncoder, plain_tokenizer, silent
from hypothesis import given
from hypothesis import strategies as st

from causalviz import cli
from causalviz.arrays import FloatMatrix
from causalviz.backends.e5_small import E5SmallEncoder
from causalviz.backends.faiss_index import FaissIndex
from causalviz.backends.segmentation import default_tokenizer
from causalviz.bootstrap import ENCODERS, SAMPLE
from causalviz.evaluation.themes import read_themes
from causalviz.knowledge_base import RecordEntry, open_knowledge_base, update
from causalviz.partition import absorbed
from causalviz.pipeline import Pipeline, SearchSettings
from causalviz.records import Document, RankSettings
from causalviz.tau import LEAST_TERMS, default_tau, propose_tau


def test_the_proposal_is_the_least_cosine_that_995_in_1000_lie_below() -> None:
    pairs = (np.arange(1000) / 1000).astype(np.float32)
    found = propose_tau(pairs, 50)
    assert found
    assert found.tau == float(np.float32(0.995))
    assert (found.below, found.pairs) == (0.995, 1000)
    assert found.reason == "99.5 % of 1,000 random keyword pairs lie below"


def test_what_lies_below_is_counted_where_pairs_tie() -> None:
    found = propose_tau(np.array([0.1] * 900 + [0.5] * 100, np.float32), 50)
    assert found
    assert (found.tau, found.below) == (0.5, 0.9)


def test_few_pairs_give_the_greatest_and_rounding_past_1_is_cut() -> None:
    found = propose_tau(np.array([-0.5, 0.25, np.nextafter(np.float32(1), np.float32(2))], np.float32), 50)
    assert found
    assert found.tau == 1
    assert found.below == pytest.approx(2 / 3)


def test_under_50_terms_there_is_no_proposal() -> None:
    pairs = np.linspace(0, 1, 2000, dtype=np.float32)
    assert propose_tau(pairs, LEAST_TERMS - 1) is None
    assert propose_tau(np.zeros(0, np.float32), 0) is None
    assert propose_tau(pairs, LEAST_TERMS)


def test_the_encoders_own_value_comes_first_then_the_proposal_then_exact_matches() -> None:
    proposal = propose_tau(np.linspace(0, 1, 2000, dtype=np.float32), 50)
    known = default_tau(0.6, proposal)
    assert (known.tau, known.origin) == (0.6, "encoder")
    assert proposal
    assert known.proposed == proposal.tau
    found = default_tau(None, proposal)
    assert (found.tau, found.origin, found.proposed) == (proposal.tau, "knowledge base", proposal.tau)
    assert found.reason == (
        "tau 0.995 is proposed for this knowledge base: 99.5 % of 2,000 random keyword pairs lie below."
    )
    assert (default_tau(0.6, None).tau, default_tau(0.6, None).origin) == (0.6, "encoder")
    exact = default_tau(None, None)
    assert (exact.tau, exact.origin, exact.proposed) == (1, "exact", None)
    assert "under 50 keywords" in exact.reason


STEPS = 41


@given(
    pairs=st.lists(st.integers(0, STEPS - 1), min_size=1, max_size=300),
    keywords=st.lists(st.integers(0, STEPS - 1), max_size=30),
    scales=st.tuples(*[st.sets(st.floats(-1, 1, width=32), min_size=STEPS, max_size=STEPS).map(sorted)] * 2),
)
def test_a_strictly_increasing_change_of_scale_leaves_a_and_b_as_they_were(
    pairs: list[int], keywords: list[int], scales: tuple[list[float], list[float]]
) -> None:
    # The same pairs and keywords, their cosines read off two scales that agree in order and in nothing else.
    found = []
    for scale in scales:
        cosines = np.array(scale, np.float32)
        proposal = propose_tau(np.sort(cosines[pairs]), LEAST_TERMS)
        assert proposal
        found.append(
            (
                absorbed(cosines[keywords], np.zeros(len(keywords), bool), proposal.tau, "semantic").tolist(),
                proposal.below,
            )
        )
    assert found[0] == found[1]


class Unknown(WordEncoder):
    """An encoder of which no tau is known."""

    def default_tau(self, *, centred: bool) -> None:  # type: ignore[override]
        """Nothing is known."""


def pipeline(path: Path, words: int, encoder: WordEncoder) -> Pipeline:
    source = [
        RecordEntry(
            Document(id=str(i), title="", text=" ".join(f"w{j}" for j in range(i, words, 4)), reader="r")
        )
        for i in range(4)
    ]
    update(path, source, encoder, plain_tokenizer(), silent)
    base = open_knowledge_base(path, encoder, silent)
    return Pipeline(base=base, encoder=encoder, tokenizer=plain_tokenizer(), make_index=FaissIndex)


def test_a_pipeline_proposes_for_raw_and_centred_vectors(tmp_path: Path) -> None:
    asked = pipeline(tmp_path / "a.kb", 60, Unknown())
    for centred in (False, True):
        found = asked.default_tau(centred=centred)
        pairs = asked.random_pairs[centred]
        assert found.origin == "knowledge base"
        assert float((pairs < found.tau).mean()) == pytest.approx(0.995, abs=0.005)
        assert found.tau in pairs
        search, settings = SearchSettings(centred=centred), RankSettings(tau=found.tau)
        trace = asked.ask("w1 w2", search, settings)
        assert (trace.settings.tau, trace.default_tau) == (found.tau, found)
    known = replace(asked, encoder=WordEncoder())
    assert (known.default_tau(centred=True).tau, known.default_tau(centred=True).origin) == (0.6, "encoder")


class Squeezed(Unknown):
    """The same directions, with a quarter of the spread: cosines c become 0.75 + c / 4, as encoders differ in scale."""

    dim = Unknown.dim + 1

    def _vector(self, text: str) -> FloatMatrix:
        inner = WordEncoder()._vector(text)  # noqa: SLF001 - of the same class
        return np.append(inner / 2, np.sqrt(0.75)).astype(np.float32)


def test_an_encoder_of_another_scale_leaves_every_a_and_b_as_they_were(tmp_path: Path) -> None:
    found = []
    for encoder in (Unknown(), Squeezed()):
        asked = pipeline(tmp_path / f"{type(encoder).__name__}.kb", 200, encoder)
        tau = asked.default_tau(centred=False).tau
        trace = asked.ask("w1 w2 w3 w4 w5 w6 w7 w8 w9", SearchSettings(theta=-1.0), RankSettings(tau=tau))
        # The proposal is some pair's own cosine, which the last bit may put on either side; all others are clear of it.
        found.append(
            {
                (candidate.id, term, bool(cosine >= np.float32(tau)))
                for candidate in trace.candidates
                for term, cosine, exact in zip(
                    candidate.terms, candidate.cosines, candidate.exact, strict=True
                )
                if not exact and abs(cosine - tau) > 1e-6
            }
        )
    assert found[0] == found[1]
    assert {in_a for *_, in_a in found[0]} == {True, False}


def test_a_small_vocabulary_falls_back_and_says_so(tmp_path: Path) -> None:
    asked = pipeline(tmp_path / "a.kb", 40, Unknown())
    assert asked.propose_tau(centred=False) is None
    assert asked.default_tau(centred=False).tau == 1
    known = replace(asked, encoder=WordEncoder())
    assert known.default_tau(centred=False).tau == 0.5
    told = known.ask("w1 w2", SearchSettings(), RankSettings(tau=0.7)).default_tau
    assert told
    assert (told.tau, told.origin, told.proposed) == (0.5, "encoder", None)


@pytest.fixture(scope="module")
def e5() -> E5SmallEncoder:
    return E5SmallEncoder()


@pytest.mark.parametrize("langs", [("zh",), ("en",), ("zh", "en")])
def test_real_vocabularies_give_a_proposal_in_the_flat_optimum(
    langs: tuple[str, ...], e5: E5SmallEncoder, tmp_path: Path
) -> None:
    # The bundled encoder's useful range of raw cosines, 0.87 to 0.92, was found by moving tau over themes of other
    # collections; centred, the target keeps its place from 0.25 on (docs/evaluation.md, "tau for e5-small").
    tokenizer = default_tokenizer()
    themes = [theme for theme in read_themes(SAMPLE / "themes.jsonl") if theme.lang in langs]
    terms = sorted({t.term for theme in themes for d in theme.documents for t in tokenizer.tokens(d.text)})
    chosen = terms[:: len(terms) // 150][:150]
    source = [
        RecordEntry(Document(id=str(i), title="", text="\n".join(chosen[i : i + 15]), reader="r"))
        for i in range(0, 150, 15)
    ]
    update(tmp_path / "a.kb", source, e5, tokenizer, silent)
    base = open_knowledge_base(tmp_path / "a.kb", e5, silent)
    asked = Pipeline(base=base, encoder=e5, tokenizer=tokenizer, make_index=FaissIndex)
    raw, centred = (asked.propose_tau(centred=kind) for kind in (False, True))
    assert raw
    assert centred
    assert 0.87 <= raw.tau <= 0.92
    assert 0.25 <= centred.tau <= 0.6


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a collection of 60 words, and themes of the same documents; no tau is known for their encoder."""
    monkeypatch.setenv("CAUSALVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.setitem(ENCODERS, "unknown", Unknown)
    texts = {f"d{i}": " ".join(f"w{j}" for j in range(i, 60, 4)) for i in range(4)}
    folder = tmp_path / "collection"
    (folder / "qrels").mkdir(parents=True)
    (folder / "docs").mkdir()
    for id_, text in texts.items():
        (folder / "docs" / f"{id_}.txt").write_text(text)
    records = [json.dumps({"_id": id_, "title": "", "text": text}) for id_, text in texts.items()]
    (folder / "corpus.jsonl").write_text("\n".join(records))
    (folder / "queries.jsonl").write_text(
        "\n".join(json.dumps({"_id": f"q{i}", "text": f"w{i} w{i + 4} x"}) for i in range(4))
    )
    judged = "\n".join(f"q{i}\td{i}\t1" for i in range(4))
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}\n")
    roles = ["target", "near", "stuffed", "unrelated"]
    documents = [
        {"id": id_, "role": role, "title": "t", "text": text}
        for role, (id_, text) in zip(roles, texts.items(), strict=True)
    ]
    theme = {"id": "T1", "lang": "en", "query": "w0 w4 x", "documents": documents}
    (folder / "themes.jsonl").write_text(json.dumps(theme))
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main([*arguments, "--encoder", "unknown"]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_index_tells_the_proposal(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kb = str(collection / "a.kb")
    told = json.loads(run(capsys, "index", str(collection / "docs"), "--kb", kb, "--json"))["tau"]
    for kind in ("raw", "centred"):
        assert told[kind]["default"] == told[kind]["proposed"]
        assert (told[kind]["from"], told[kind]["pairs"]) == ("knowledge base", 2000)
        assert told[kind]["below"] == pytest.approx(0.995, abs=0.005)
    table = run(capsys, "index", str(collection / "docs"), "--kb", kb)
    assert f"tau proposed for this knowledge base: {told['raw']['proposed']:.3f} (" in table
    assert "% of 2,000 random keyword pairs lie below); " in table
    (collection / "few").mkdir()
    (collection / "few" / "a.txt").write_text("some words")
    few = ("index", str(collection / "few"), "--kb", str(collection / "few.kb"))
    assert "none, since it has under 50 keywords. No tau is known" in run(capsys, *few)
    told = json.loads(run(capsys, *few, "--json"))["tau"]["raw"]
    assert told == {"default": 1, "from": "exact", "proposed": None, "below": None, "pairs": None}


@pytest.mark.parametrize("command", ["rank", "diagnose", "evaluate", "stress", "calibrate"])
def test_every_command_takes_the_proposal_and_says_so(
    command: str, collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = str(collection / "docs")
    given = {
        "rank": ["w0 w4 x", "--kb", docs],
        "diagnose": [str(collection / "themes.jsonl")],
        "calibrate": [str(collection / "themes.jsonl"), "--resamples", "10"],
        "stress": [str(collection), "--top-k", "1", "--per-query", "1"],
    }
    arguments = [command, *given.get(command, [str(collection)])]
    assert "is proposed for this knowledge base: 99." in run(capsys, *arguments)
    assert "is proposed" not in run(capsys, *arguments, "--tau", "0.5")
    if command != "calibrate":
        found = json.loads(run(capsys, *arguments, "--json"))
        kb = str(collection / "a.kb")
        if command == "rank":
            proposed = json.loads(run(capsys, "index", docs, "--kb", kb, "--json"))["tau"]["raw"]["proposed"]
            assert found["tau"] == proposed
            assert any("is proposed" in warning for warning in found["warnings"])
        assert 0 < found["tau"] < 1


@pytest.mark.parametrize("command", ["rank", "diagnose", "evaluate", "stress", "calibrate"])
def test_a_tau_out_of_range_is_refused_before_anything_is_indexed(
    command: str, collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = [str(collection)] if command != "rank" else ["w0", "--kb", str(collection / "docs")]
    if command == "diagnose":
        place = [str(collection / "themes.jsonl")]
    assert cli.main([command, *place, "--encoder", "unknown", "--tau", "1.5"]) == 1
    assert "tau is 1.5, but a cosine lies between -1 and 1" in capsys.readouterr().err
    assert not (collection.parent / "home" / "cache").exists()
