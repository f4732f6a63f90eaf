"""The sentence on why a document moved: every claim in it is true, whatever the numbers."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.view_page import ViewPage, document, three, trace
from explain.random_traces import cross_score
from oracle import World, WorldDocument
from playwright.sync_api import Page
from strategies import EMPTY_B, METHODS, MODES, trace_of, unit

from causalviz.explain.why import why_sentence
from causalviz.rank import Ranking, rerank
from causalviz.records import Candidate, RankSettings, Trace
from causalviz.score import ScoreTable
from causalviz.trace import to_json

Part = dict[str, str]


@pytest.fixture
def view(tab: Page, tmp_path: Path) -> ViewPage:
    return ViewPage(tab, tmp_path)


WHY = """([trace, settings]) => {
  const table = CausalVizRerank.prepare(trace);
  return settings.map((state) => {
    const frame = CausalVizView.model.frame(trace, table, state);
    return trace.candidates.map((_, i) => CausalVizView.why.parts(frame, i));
  });
}"""


def whys(view: ViewPage, given: Trace, settings: list[RankSettings]) -> list[list[list[Part]]]:
    """Return the parts of every document's sentence, setting by setting."""
    states = [
        {"tau": s.tau, "alpha": s.alpha, "method": s.method, "mode": s.mode, "emptyB": s.empty_b}
        for s in settings
    ]
    told: list[list[list[Part]]] = view.page.evaluate(WHY, [to_json(given), states])
    return told


def sentence(parts: list[Part]) -> str:
    return "".join(part.get("term", part.get("text", "")) for part in parts)


SET_ASIDE = "the words it shares with the question (late) were set aside, and what is left"
NOT_SHARED = "it shares no keyword with the question, so nothing was set aside; what it says (token)"
NOT_EXACT = "it holds none of the question’s own keywords, so nothing was set aside; what it says (token)"
NOTHING_LEFT = (
    "every keyword it has is shared with the question (late) or close to one of the question’s (talk ≈ late), so "
    "nothing of its own is left to compare;"
)
BOTH_ASIDE = (
    "the words it shares with the question (late) or that are close to its words (tag ≈ late, talk ≈ late) were set "
    "aside, and what is left (pizza)"
)
CLOSE_ASIDE = "words close to the question’s (token ≈ late) were set aside, and what is left (beer)"
CLOSE_ONLY = (
    "every keyword it has (worked ≈ late) is close to one of the question’s, so nothing of its own is left to "
    "compare;"
)
EXACT_ONLY = (
    "every keyword it has (late) is shared with the question, so nothing of its own is left to compare;"
)
ONLY_SIMILARITY = "all weight is on similarity, so"
ONLY_OWNLESS = "only documents without a keyword of their own change places"
THAN_LEFT = "to the question than what is left of the"
BOTH_WAYS = "it passed 1 document while 1 document passed it"
KEEPS = (
    "it keeps its similarity in place of a causal score, higher than that of the document it passed and lower than "
    "that of the document that passed it"
)
LOWER = "a lower causal score than the"
ALL_EMPTY = "that holds for every candidate, so the order by similarity stands"
FALLBACK = {"tau": 0.6, "empty_b": "fallback"}


@pytest.mark.parametrize(
    ("changes", "document", "expected"),
    [
        ({}, 0, f"Moved down 2: {SET_ASIDE} (tag) is less close {THAN_LEFT} 2 documents that passed it."),
        ({}, 1, f"Stays at rank 2: {SET_ASIDE} (talk) gives it causal rank 2 of 3, and {BOTH_WAYS}."),
        ({}, 2, f"Moved up 2: {NOT_SHARED} is closer {THAN_LEFT} 2 documents it passed."),
        ({"mode": "exact"}, 2, f"Moved up 2: {NOT_EXACT} is closer {THAN_LEFT} 2 documents it passed."),
        ({"method": "similarity"}, 0, "Stays at rank 1: ranked by similarity alone, the keywords play no part."),
        ({"alpha": 1}, 0, f"Stays at rank 1: {ONLY_SIMILARITY} the keywords change nothing here."),
        ({"alpha": 1, "tau": 0.6}, 1, f"Moved down 1: {NOTHING_LEFT} such documents go last."),
        ({"alpha": 1, "tau": 0.6}, 2, f"Moved up 1: {ONLY_SIMILARITY} {ONLY_OWNLESS}: 1 document went last."),
        (FALLBACK, 0, f"Moved down 2: {SET_ASIDE} (tag) has {LOWER} 2 documents that passed it."),
        (FALLBACK, 1, f"Stays at rank 2: {NOTHING_LEFT} {KEEPS}."),
        ({"tau": -1}, 1, f"Stays at rank 2: {NOTHING_LEFT} {ALL_EMPTY}."),
    ],
)  # fmt: skip
def test_why_on_three_documents(
    view: ViewPage, changes: dict[str, Any], document: int, expected: str
) -> None:
    settings = RankSettings(**{"tau": 0.75, "alpha": 0.25, **changes})
    assert sentence(whys(view, trace(three()), [settings])[0][document]) == expected


def test_why_when_only_others_moved_and_when_something_pulls_the_other_way(view: ViewPage) -> None:
    candidates = [
        document("echo", 0.75, [("late", 1, None, 0.9)]),
        document("plain", 0.5, [("token", 3, 0.1, 0.5), ("pizza", 1, 0.1, -0.5)]),
        document("worse", 0.25, [("beer", 1, 0.1, -0.25)]),
    ]
    told = whys(view, trace(candidates), [RankSettings(tau=0.75)])[0]
    assert sentence(told[1]) == (
        "Moved up 1 only because others moved: 1 document above it has no keyword of its own and went last. "
        f"For its part, {NOT_SHARED} has causal rank 1 of 3. Pulling the other way: pizza."
    )


def test_why_tells_words_of_the_question_from_words_close_to_them(view: ViewPage) -> None:
    candidates = [
        document("both", 0.9, [("late", 3, None, 0.9), ("tag", 2, 0.9, 0.5), ("talk", 1, 0.8, 0.5),
                               ("pizza", 1, 0.1, 0.4)]),
        document("close", 0.8, [("token", 3, 0.8, 0.9), ("beer", 1, 0.1, 0.2)]),
        document("only close", 0.7, [("worked", 3, 0.8, 0.9)]),
        document("only exact", 0.6, [("late", 3, None, 0.9)]),
    ]  # fmt: skip
    told = whys(view, trace(candidates), [RankSettings(tau=0.75)])[0]
    assert [sentence(parts) for parts in told] == [
        f"Stays at rank 1: {BOTH_ASIDE} gives it causal rank 1 of 4, and no document changes places with it.",
        f"Stays at rank 2: {CLOSE_ASIDE} gives it causal rank 2 of 4, and no document changes places with it.",
        f"Stays at rank 3: {CLOSE_ONLY} such documents go last.",
        f"Stays at rank 4: {EXACT_ONLY} such documents go last.",
    ]
    view.show(trace(candidates))
    view.set(chosen="close")
    assert CLOSE_ASIDE in view.why()
    assert view.page.locator(".cv-why .cv-term-q").all_text_contents() == ["late"]


# Any numbers


class Facts:
    """What is true of document i, from a ranking computed in Python."""

    def __init__(self, given: Trace, choice: RankSettings, ranking: Ranking, i: int) -> None:
        """Work out whom it passed, who passed it, and with which scores."""
        before, after = ranking.similarity_rank, ranking.rank
        others = [j for j in range(len(after)) if j != i]
        self.choice, self.ranking, self.i = choice, ranking, i
        self.crosses = [candidate.cross_encoder for candidate in given.candidates]
        self.candidate, self.limit = given.candidates[i], given.density_limit
        self.suspects = {j for j, candidate in enumerate(given.candidates) if candidate.suspect}
        self.terms = given.candidates[i].terms
        self.from_, self.to = int(before[i]), int(after[i])
        self.passed = {j for j in others if before[j] < self.from_ and after[j] > self.to}
        self.passed_by = {j for j in others if before[j] > self.from_ and after[j] < self.to}
        self.went_last = {j for j in self.passed if ranking.empty_b[j] and choice.empty_b == "last"}
        self.tied = {j for j in others if ranking.final[j] == ranking.final[i]}
        self.in_a = ranking.in_a[i, : len(self.terms)]
        self.exact = given.candidates[i].exact
        self.nearest = [
            given.query_keywords[match].term if match >= 0 else None for match in given.candidates[i].matches
        ]
        self.shares = ranking.contributions[i, : len(self.terms)]
        self.similarity = np.array([candidate.similarity for candidate in given.candidates])

    def better(self, told: re.Match[str]) -> bool:
        """It passed as many as told, all with a lower causal score than its own."""
        scored = self.passed - self.went_last
        causal = self.ranking.causal
        return amount(told[1]) == len(scored) and all(causal[j] < causal[self.i] for j in scored)

    def worse(self, told: re.Match[str]) -> bool:
        """As many as told passed it, all with a higher causal score than its own."""
        causal = self.ranking.causal
        return amount(told[1]) == len(self.passed_by) and all(
            causal[j] > causal[self.i] for j in self.passed_by
        )

    def only_suspects_fell(self, told: re.Match[str]) -> bool:
        """It passed as many as told, all suspected with a lower causal rank, and nothing else changed for it."""
        causal, before = self.ranking.causal_rank, self.ranking.similarity_rank
        return (
            amount(told[1]) == len(self.passed)
            and self.passed <= self.suspects
            and all(causal[j] > before[j] for j in self.passed)
            and not self.passed_by
        )

    def ranks(self, told: re.Match[str], *, lower: bool) -> bool:
        """The causal rank, of how many, and the rank by similarity are as told."""
        causal_rank, candidates, before = map(int, told.groups())
        return (
            causal_rank == self.ranking.causal_rank[self.i]
            and candidates == len(self.ranking.rank)
            and before == self.from_
            and (causal_rank > before) == lower
        )

    def others_fell(self, told: re.Match[str]) -> bool:
        """It stands above its causal rank, since suspects from above that place are below it now."""
        rank = int(self.ranking.causal_rank[self.i])
        above = self.ranking.similarity_rank <= rank
        fell = [j for j in self.suspects - {self.i} if above[j] and self.ranking.rank[j] > self.to]
        return self.to == int(told[1]) == rank - len(fell) < rank

    def behind_equals(self, told: re.Match[str]) -> bool:
        """It stands below its causal rank, since others are as similar as the one that similarity puts there."""
        rank = int(self.ranking.causal_rank[self.i])
        there = self.ranking.similarity_rank == rank
        as_similar = np.abs(self.similarity - self.similarity[there]) < 1e-8
        return self.to == int(told[1]) > rank and as_similar.sum() > 1

    def own_words(self, told: str) -> bool:
        """These are the keywords in A that are the question's own: all, or the three heaviest."""
        return self._heaviest(told, [j for j in range(len(self.terms)) if self.in_a[j] and self.exact[j]])

    def close_words(self, told: str) -> bool:
        """These are the other keywords in A, likewise, each with the question's keyword nearest to it."""
        pairs = told.removesuffix(", …").split(", ")
        named = [pair.split(" ≈ ") for pair in pairs]
        right = all(match == self.nearest[self.terms.index(term)] != term for term, match in named)
        terms = ", ".join(term for term, _ in named) + (", …" if told.endswith(", …") else "")
        close = [j for j in range(len(self.terms)) if self.in_a[j] and not self.exact[j]]
        return right and self._heaviest(terms, close)

    def _heaviest(self, told: str, places: list[int]) -> bool:
        terms = told.removesuffix(", …").split(", ")
        # A document's keywords come with the heaviest first.
        return terms == [self.terms[j] for j in places[:3]] and told.endswith(", …") == (len(places) > 3)

    def kinds(self) -> tuple[bool, bool]:
        """Whether any keyword in A is the question's own, and whether any is not."""
        return bool((self.in_a & self.exact).any()), bool((self.in_a & ~self.exact).any())

    def pull_away(self, terms: Iterable[str]) -> bool:
        """Each of these keywords lowers the causal score."""
        return all(self.shares[self.terms.index(term)] < 0 for term in terms)


def amount(words: str) -> int:
    return 1 if words in {"the document", "1 document"} else int(re.findall(r"\d+", words)[0])


MANY = r"(the document|the \d+ documents|\d+ documents?)"

# What the sentence may say, and what must then be true.
CLAIMS: dict[str, Callable[[Facts, re.Match[str]], bool]] = {
    r"Moved up (\d+)": lambda f, m: f.from_ - f.to == int(m[1]),
    r"Moved down (\d+)": lambda f, m: f.to - f.from_ == int(m[1]),
    r"Stays at rank (\d+)": lambda f, m: f.to == f.from_ == int(m[1]),
    rf"(?<!less) closer to the question than what is left of {MANY} it passed": Facts.better,
    rf"higher causal score than {MANY} it passed": Facts.better,
    rf"still more than what is left of {MANY} it passed": Facts.better,
    rf"yet what is left of {MANY} it passed points further away": Facts.better,
    rf"fell: it passed {MANY}, with a lower causal score": Facts.better,
    rf"higher than that of {MANY} it passed": Facts.better,
    rf"less close to the question than what is left of {MANY} that passed it": Facts.worse,
    rf"lower causal score than {MANY} that passed it": Facts.worse,
    rf", less than what is left of {MANY} that passed it": Facts.worse,
    rf"rose: {MANY} passed it, with a higher causal score": Facts.worse,
    rf"lower than that of {MANY} that passed it": Facts.worse,
    rf"{MANY} above it ha(?:s|ve) no keyword": lambda f, m: amount(m[1]) == len(f.went_last),
    rf"change places: {MANY} went last": lambda f, m: (
        amount(m[1]) == len(f.went_last) and f.passed == f.went_last
    ),
    r"only because others moved": lambda f, _: f.passed == f.went_last,
    rf"{MANY} passed it in turn": lambda f, m: amount(m[1]) == len(f.passed_by),
    rf"it passed {MANY} in turn": lambda f, m: amount(m[1]) == len(f.passed),
    rf"it passed {MANY} while": lambda f, m: amount(m[1]) == len(f.passed),
    rf"while {MANY} passed it": lambda f, m: amount(m[1]) == len(f.passed_by),
    r"no document changes places": lambda f, _: not f.passed | f.passed_by,
    r"keywords change nothing": lambda f, _: not f.passed | f.passed_by,
    r"all weight is on similarity": lambda f, _: f.choice.alpha == 1 and f.choice.method == "hybrid",
    r"by similarity alone": lambda f, _: f.choice.method == "similarity" and not f.passed | f.passed_by,
    r"by the cross-encoder’s score alone": lambda f, _: f.crosses[f.i] is not None,
    r"gave it no score; such documents go last": lambda f, _: (
        f.crosses[f.i] is None and f.to > sum(score is not None for score in f.crosses) > 0
    ),
    r"gave no candidate a score": lambda f, _: set(f.crosses) == {None} and not f.passed | f.passed_by,
    r"causal rank (\d+)": lambda f, m: int(m[1]) == f.ranking.causal_rank[f.i],
    r"similarity rank (\d+)": lambda f, m: int(m[1]) == f.from_,
    r"no better placed": lambda f, _: f.ranking.causal_rank[f.i] >= f.from_ > f.to,
    r"no worse placed": lambda f, _: f.ranking.causal_rank[f.i] <= f.from_ < f.to,
    r"cancels out": lambda f, _: f.ranking.causal[f.i] == 0 and not f.in_a.all(),
    r"does not point towards": lambda f, _: f.ranking.causal[f.i] <= 0,
    r"every keyword it has": lambda f, _: len(f.terms) > 0 and bool(f.in_a.all()),
    r"no keyword could be drawn": lambda f, _: not f.terms,
    r"holds for every candidate": lambda f, _: bool(f.ranking.empty_b.all()),
    r"nothing was set aside": lambda f, _: not f.in_a.any(),
    r"were set aside": lambda f, _: bool(f.in_a.any()),
    r"the words it shares with the question \(([^)]*)\) were": lambda f, m: (
        f.own_words(m[1]) and f.kinds() == (True, False)
    ),
    r"the words it shares with the question \(([^)]*)\) or that are close to its words \(([^)]*)\) were": lambda f, m: (
        f.own_words(m[1]) and f.close_words(m[2])
    ),
    r"words close to the question’s \(([^)]*)\) were": lambda f, m: (
        f.close_words(m[1]) and f.kinds() == (False, True)
    ),
    r"it has \(([^)]*)\) is shared with the question,": lambda f, m: (
        f.own_words(m[1]) and f.kinds() == (True, False)
    ),
    r"is shared with the question \(([^)]*)\) or close to one of the question’s \(([^)]*)\),": lambda f, m: (
        f.own_words(m[1]) and f.close_words(m[2])
    ),
    r"it has \(([^)]*)\) is close to one of the question’s,": lambda f, m: (
        f.close_words(m[1]) and f.kinds() == (False, True)
    ),
    r"its similarity counts, and its keywords play no part": lambda f, _: (
        f.i not in f.suspects and f.choice.method == "guarded"
    ),
    r"it is suspected of stuffing": lambda f, _: f.i in f.suspects,
    r"not suspected": lambda f, _: f.i not in f.suspects,
    rf"only because {MANY} above it, suspected of stuffing, fell": Facts.only_suspects_fell,
    rf"it rose because {MANY} above it, also suspected, fell": Facts.only_suspects_fell,
    r"causal rank \((\d+) of (\d+)\) is lower than its rank by similarity \((\d+)\)": lambda f, m: f.ranks(
        m, lower=True
    ),
    r"causal rank \((\d+) of (\d+)\) is no lower than its rank by similarity \((\d+)\)": lambda f, m: f.ranks(
        m, lower=False
    ),
    r"takes that place \(rank (\d+), as other suspected documents fell too\)": Facts.others_fell,
    r"takes that place \(rank (\d+), behind others as similar\)": Facts.behind_equals,
    r"words (\d+\.\d) times as much as documents here usually do": lambda f, m: (
        float(m[1]) == pytest.approx(f.candidate.use, abs=0.051)
    ),
    r"rest of it has (\d+\.\d) times as much": lambda f, m: (
        float(m[1]) == pytest.approx(f.candidate.topic, abs=0.051)
    ),
    r"rest of it has next to nothing": lambda f, _: (f.candidate.topic or 0) < 0.05,
    r"so it takes that place:": lambda f, _: f.to == f.ranking.causal_rank[f.i],
    r"make up (\d+) % of its content words, more than twice the (\d+) % that": lambda f, m: (
        int(m[1]) == 25 * f.candidate.repeats and int(m[2]) == 25 and f.candidate.repeats > 2
    ),
    r"final score equals that of (\d+)": lambda f, m: int(m[1]) == len(f.tied),
    r"Pulling the other way: ([^.]*)\.": lambda f, m: f.pull_away(m[1].removesuffix(", …").split(", ")),
}


def random_trace(seed: int) -> Trace:
    """Draw documents of up to four keywords in few dimensions: empty, equal, opposite and cancelling sets happen."""
    random = np.random.default_rng(seed)
    names = [f"t{i}" for i in range(9)]
    dim = 2 + seed % 3

    def weights() -> dict[str, float]:
        terms = random.choice(names, random.integers(0, 5), replace=False)
        return {str(term): float(random.integers(1, 3)) for term in terms}

    terms = {name: unit(random.integers(-2, 3, size=dim)) for name in names}
    for name, opposite in (("t3", "t4"), ("t5", "t6"), ("t7", "t8")):
        terms[opposite] = tuple(-x for x in terms[name])
    found = tuple(
        WorldDocument(
            f"d{i}", unit(random.integers(-2, 3, size=dim)), weights(), cross=cross_score(random, coarse=True)
        )
        for i in range(8)
    )
    plain = trace_of(
        World(query=unit(random.normal(size=dim)), query_terms=tuple(names[:2]), terms=terms, documents=found)
    )
    return replace(
        plain, density_limit=0.25, candidates=tuple(suspected(random, one) for one in plain.candidates)
    )


def suspected(random: np.random.Generator, candidate: Candidate) -> Candidate:
    """Suspect half of the documents: for their words, for their density, or for nothing that the trace tells."""
    use, topic = float(random.integers(0, 400)) / 16, float(random.integers(0, 9)) / 4
    known = random.random() < 0.8
    return replace(
        candidate,
        suspect=random.random() < 0.5,
        use=use if known else None,
        topic=topic if known else None,
        repeats=int(random.integers(5)),
        tokens=4,
    )


def cancelling() -> Trace:
    """Make a first document whose keywords point in opposite directions: what is left has no direction."""
    opposite = document("both", 0.75, [("hot", 1, 0.1, 0.5), ("cold", 1, 0.1, -0.5)])
    gram = np.array([[1, -1], [-1, 1]], np.float32)
    return trace([replace(opposite, gram=gram), document("plain", 0.5, [("token", 1, 0.1, 0.5)])])


def test_why_is_true_whatever_the_numbers(view: ViewPage) -> None:
    settings = [
        RankSettings(tau=tau, alpha=alpha, method=method, mode=mode, empty_b=empty_b)
        for tau, alpha, method, mode, empty_b in product(
            (-1.0, 0.0, 0.5, 0.9), (0.0, 0.4, 1.0), METHODS, MODES, EMPTY_B
        )
    ]
    heard = dict.fromkeys(CLAIMS, 0)
    for given in [*map(random_trace, range(8)), cancelling()]:
        table = ScoreTable.of(given.candidates)
        for choice, told in zip(settings, whys(view, given, settings), strict=True):
            ranking = rerank(table, choice)
            for i, parts in enumerate(told):
                facts = Facts(given, choice, ranking, i)
                text = sentence(parts)
                # the command line and the report say the same
                assert text == why_sentence(given, ranking, choice, i)
                for claim, holds in CLAIMS.items():
                    for match in re.finditer(claim, text):
                        heard[claim] += 1
                        assert holds(facts, match), f"{choice}, document {i}: {text}"
                assert ("final score equals" in text) == bool(facts.tied), text
                check_terms(facts, parts)
    assert [claim for claim, times in heard.items() if not times] == []


def check_terms(facts: Facts, parts: list[Part]) -> None:
    """Every keyword named is in the set it is named for, and the first of B counts most.

    A keyword of A that is not the question's own is followed by the question's keyword nearest to it, and only such.
    """
    for at, part in enumerate(parts):
        if part.get("set") == "Q":
            assert parts[at - 1] == {"text": " ≈ "}
            assert parts[at - 2]["set"] == "A"
        elif "term" in part:
            j = facts.terms.index(part["term"])
            assert facts.in_a[j] == (part["set"] == "A")
            if facts.in_a[j] and not facts.exact[j]:
                assert parts[at + 1 : at + 3] == [{"text": " ≈ "}, {"term": facts.nearest[j], "set": "Q"}]
            else:
                assert parts[at + 1] != {"text": " ≈ "}
    named = [facts.terms.index(part["term"]) for part in parts if part.get("set") == "B"]
    strongest = max(facts.shares[~facts.in_a], default=0)
    assert not named or strongest <= 0 or facts.shares[named[0]] == pytest.approx(strongest)
