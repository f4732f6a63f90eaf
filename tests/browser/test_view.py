"""The live view: what it shows is what the arithmetic says, in every state, and nothing in it runs or calls out."""

import re
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.view_page import FRAMES, ViewPage, document, many, three, trace
from oracle import World, WorldDocument
from playwright.sync_api import Page, expect
from strategies import trace_of

from causalviz.rank import rerank
from causalviz.records import DefaultTau, Keyword, Method, RankSettings, TauOrigin
from causalviz.score import ScoreTable
from causalviz.trace import to_json

Open = Callable[..., ViewPage]

HOSTILE = [
    "<img src=x onerror=\"document.title='owned'\">",
    "${1+1} {{value}} {{constructor.constructor('document.title=1')()}}",
    "\u202egpj.exe\u202d \u2066right to left",
    "wide " * 2000,
    "Unbroken" * 1250,
    "</script><script>document.title='owned'</script>",
]


@pytest.fixture
def open_view(tab: Page, tmp_path: Path) -> Open:
    return lambda **options: ViewPage(tab, tmp_path, options)


@pytest.fixture
def view(open_view: Open) -> ViewPage:
    return open_view()


# Ranks


def test_ranks_arrows_and_scores_of_three_documents(view: ViewPage) -> None:
    view.show(trace(three()))
    assert view.order("before") == [0, 1, 2]
    assert view.order() == [2, 1, 0]
    cards = [view.card(i).inner_text().split("\n") for i in range(3)]
    assert ["▼2" in cards[0], "=" in cards[1], "▲2" in cards[2]] == [True, True, True]
    assert "moved down 2" in (view.card(0).text_content() or "")
    assert "same rank" in (view.card(1).text_content() or "")
    assert {"0.2500", "0.7500", "final", "similarity", "causal"} <= set(cards[0])
    ways = view.page.locator(".cv-link").evaluate_all("(lines) => lines.map((line) => line.dataset.way)")
    assert sorted(ways) == ["down", "same", "up"]


def test_the_order_is_that_of_the_arithmetic_at_every_threshold(view: ViewPage) -> None:
    given = many(20)
    view.show(given)
    table = ScoreTable.of(given.candidates)
    turns: list[tuple[float, Method]] = [(0.5, "hybrid"), (0.1, "hybrid"), (0.5, "causal"), (0.5, "guarded")]
    for tau, (alpha, method) in product(np.linspace(-0.2, 1, 25).round(3).tolist(), turns):
        view.set(tau=tau, alpha=alpha, method=method)
        ranking = rerank(table, RankSettings(tau=tau, alpha=alpha, method=method))
        assert view.order() == ranking.order.tolist(), (tau, alpha, method)


def test_dragging_ends_on_the_last_value_and_asks_no_server(view: ViewPage) -> None:
    given = many(20)
    view.show(given)
    slider = view.page.locator(".cv-range-tau")
    box = slider.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    view.page.mouse.move(box["x"] + box["width"] / 2, middle)
    view.page.mouse.down()
    for step in range(40):
        view.page.mouse.move(box["x"] + box["width"] * (0.1 + 0.02 * step), middle)
    view.page.mouse.up()
    view.frames()
    tau = view.state()["tau"]
    assert tau == pytest.approx(float(slider.input_value()))
    ranking = rerank(ScoreTable.of(given.candidates), RankSettings(tau=tau))
    assert view.order() == ranking.order.tolist()
    assert view.requests == []


def test_every_method_and_rule_is_a_control(view: ViewPage) -> None:
    view.show(trace(three()))
    for label, value, name in [
        ("Rank by", "guarded", "method"),
        ("Rank by", "similarity", "method"),
        ("Set aside", "exact", "mode"),
        ("If nothing is left", "fallback", "emptyB"),
    ]:
        view.page.get_by_label(label).select_option(value)
        view.frames()
        assert view.state()[name] == value
    assert view.order() == [0, 1, 2]
    assert "re-ranked: similarity" in view.page.locator(".cv-head").inner_text().lower()


# Settings


@pytest.mark.parametrize("typed", ["1.5", "-2", "abc", "", "1e9"])
def test_a_threshold_out_of_range_is_explained_and_changes_nothing(view: ViewPage, typed: str) -> None:
    view.show(trace(three()))
    field = view.page.get_by_label("Absorption threshold, typed")
    field.fill(typed)
    field.press("Enter")
    view.frames()
    expect(view.page.locator(".cv-message")).to_contain_text("Still using 0.75")
    expect(field).to_have_value(typed)
    assert view.state()["tau"] == 0.75
    field.fill("0.6")
    field.press("Enter")
    expect(view.page.locator(".cv-message")).to_be_empty()
    assert view.state()["tau"] == 0.6


@pytest.mark.parametrize(("typed", "tau"), [("-1", -1), ("0,5", 0.5), ("0.12345", 0.12345), (" 1 ", 1)])
def test_a_typed_threshold_may_be_any_cosine(view: ViewPage, typed: str, tau: float) -> None:
    view.show(trace(three()))
    field = view.page.get_by_label("Absorption threshold, typed")
    field.fill(typed)
    field.press("Enter")
    view.frames()
    assert view.state()["tau"] == tau


def test_the_default_threshold_is_one_click_away(view: ViewPage) -> None:
    view.show(trace(three()))
    reset = view.page.get_by_role("button", name="Reset the absorption threshold")
    expect(reset).to_be_hidden()
    view.set(tau=0.9)
    reset.click()
    view.frames()
    assert view.state()["tau"] == 0.75
    expect(view.page.get_by_label("Absorption threshold, typed")).to_have_value("0.75")


def default(tau: float, origin: TauOrigin, proposed: float | None) -> DefaultTau:
    return DefaultTau(tau=tau, origin=origin, reason="Measured elsewhere.", proposed=proposed)


def test_the_proposal_is_a_mark_and_a_button_beside_the_encoders_default(view: ViewPage) -> None:
    proposed = float(np.float32(0.994))
    view.show(trace(three(), default_tau=default(0.75, "encoder", proposed)))  # pairs 0, 0.01, ... 1
    advice = view.page.locator(".cv-advice")
    expect(advice).to_contain_text("default measured for this encoder")
    expect(advice.locator(".cv-origin")).to_have_attribute("title", "Measured elsewhere.")
    button = advice.get_by_role("button", name="proposed 0.994: absorbs 1.0 % of random pairs")
    for key in ("Enter", "Space", None):
        view.set(tau=0.5)
        expect(button).to_have_attribute("aria-pressed", "false")
        if key:
            button.press(key)
        else:
            view.page.locator(".cv-proposed-mark").click()
        view.frames()
        assert view.state()["tau"] == proposed
        expect(button).to_have_attribute("aria-pressed", "true")
    strip, mark = (view.page.locator(f".cv-{part}").bounding_box() for part in ("strip", "proposed-mark"))
    assert strip
    assert mark
    start = float(view.page.get_by_label("Absorption threshold τ").get_attribute("min") or "")
    share = (0.994 - start) / (1 - start)
    assert mark["x"] + 1 == pytest.approx(strip["x"] + strip["width"] * share, abs=0.6)


@pytest.mark.parametrize(
    ("given", "told", "marked"),
    [
        (default(0.75, "knowledge base", 0.75), "the default, as this knowledge base proposes", True),
        (default(0.75, "encoder", None), "under 50 keywords here, too few to propose one", False),
        (default(0.75, "exact", None), "only the question’s own keywords are set aside", False),
        (default(0.6, "encoder", 0.7), "asked with 0.75", True),
        (None, "", False),
    ],
)
def test_where_the_default_comes_from_is_told(
    view: ViewPage, given: DefaultTau | None, told: str, *, marked: bool
) -> None:
    # What the trace before it proposed must not stay.
    view.show(trace(three(), default_tau=default(0.75, "encoder", 0.9)))
    view.show(trace(three(), default_tau=given))
    expect(view.page.locator(".cv-advice")).to_be_visible(visible=given is not None)
    if given:
        expect(view.page.locator(".cv-origin")).to_contain_text(told)
    for part in (".cv-proposal", ".cv-proposed-mark"):
        expect(view.page.locator(part)).to_be_visible(visible=marked)
    view.page.locator(".cv-whatif").scroll_into_view_if_needed()
    expect(view.page.locator(".cv-wi-pairs-b")).to_be_attached()
    expect(view.page.locator(".cv-wi-proposed")).to_have_count(int(marked))


def test_the_threshold_is_read_against_random_pairs(view: ViewPage) -> None:
    view.show(trace(three()))  # pairs 0, 0.01, ... 1
    view.set(tau=0.995)
    expect(view.page.locator(".cv-tau .cv-words")).to_have_text("absorbs 1.0 % of random keyword pairs")
    view.set(mode="exact")
    expect(view.page.locator(".cv-tau .cv-words")).to_contain_text("not used")


def test_a_person_s_settings_outlive_the_next_question_but_not_another_encoder(view: ViewPage) -> None:
    view.show(trace(three()))
    view.set(tau=0.5, alpha=0.75, method="causal")
    view.show(trace(three(), query="another question"))
    assert [view.state()[name] for name in ("tau", "alpha", "method")] == [0.5, 0.75, "causal"]
    view.show(trace(three(), encoder="bge-m3", settings=RankSettings(tau=0.6)))
    assert [view.state()[name] for name in ("tau", "alpha", "method")] == [0.6, 0.5, "hybrid"]
    view.set(tau=0.5)
    view.show(trace(three(), encoder="bge-m3", centred=True, settings=RankSettings(tau=0.3)))
    assert view.state()["tau"] == 0.3


def test_an_initial_state_is_that_of_the_first_trace(open_view: Open) -> None:
    view = open_view(initial={"tau": 0.6, "chosen": "meetup", "method": "causal", "alpha": 7})
    view.show(trace(three()))
    state = view.state()
    assert state == {
        "tau": 0.6, "alpha": 0.25, "method": "causal", "mode": "semantic", "emptyB": "last", "chosen": "meetup",
    }  # fmt: skip
    assert view.page.evaluate("() => changes.at(-1)") == state


def test_changes_are_told_once_a_frame(view: ViewPage) -> None:
    view.show(trace(three()))
    told = view.page.evaluate(
        f"""async () => {{
          changes.length = 0;
          for (const tau of [0.1, 0.2, 0.3]) view.setState({{ tau }});
          await ({FRAMES})();
          view.setState({{ tau: 0.3 }});
          await ({FRAMES})();
          return changes.map((state) => state.tau);
        }}"""
    )
    assert told == [0.3]


# The chosen document


def test_the_chosen_document_stays_chosen_and_is_marked_in_both_columns(view: ViewPage) -> None:
    view.show(trace(three()))
    assert view.chosen() == view.chosen("before") == [2]  # the best-placed document that moved up
    view.card(1, "before").click()
    view.set(alpha=1, tau=0.6)
    assert view.chosen() == view.chosen("before") == [1]
    assert view.state()["chosen"] == "meetup"
    view.set(chosen="no such document")
    assert view.state()["chosen"] == "meetup"


def test_the_keyboard_walks_the_ranks(view: ViewPage) -> None:
    view.show(trace(three()))  # re-ranked: 2, 1, 0
    view.card(2).focus()
    for key, expected in [("ArrowDown", 1), ("ArrowDown", 0), ("ArrowDown", 0), ("Home", 2), ("End", 0)]:
        view.page.keyboard.press(key)
        view.frames()
        assert view.chosen() == [expected]
    view.page.keyboard.press("ArrowLeft")
    expect(view.card(0, "before")).to_be_focused()
    view.page.keyboard.press("ArrowDown")
    view.frames()
    assert view.chosen() == [1]
    view.card(2, "before").focus()
    view.page.keyboard.press("Enter")
    view.frames()
    assert view.chosen() == [2]
    tabbable = view.page.locator(".cv-card[tabindex='0']")
    assert tabbable.count() == 2  # one stop in each column


def test_at_rest_the_reading_order_is_the_ranked_order_and_focus_is_kept(view: ViewPage) -> None:
    view.show(many(12))
    view.card(3).focus()
    view.set(tau=0.8, method="causal")
    view.rest()
    read = view.page.locator(".cv-column >> nth=1").locator(".cv-rank").all_text_contents()
    assert read == [str(rank) for rank in range(1, 13)]
    expect(view.card(3)).to_be_focused()
    expect(view.page.locator(".causalviz > .cv-frame .cv-results > .cv-sr")).to_contain_text("rank")


def test_keywords_cross_from_a_to_b_and_their_parts_sum_to_the_score(view: ViewPage) -> None:
    given = many(20)
    view.show(given)
    table = ScoreTable.of(given.candidates)
    for tau, chosen in product((0.5, 0.7, 0.8, 0.95, 0.6), (0, 7)):
        view.set(tau=tau, chosen=given.candidates[chosen].id)
        in_a = rerank(table, RankSettings(tau=tau)).in_a[chosen]
        terms = np.array(given.candidates[chosen].terms)
        assert view.keywords("A") == terms[in_a].tolist()
        assert view.keywords("B") == terms[~in_a].tolist()
        if in_a.all():
            continue
        parts = view.page.locator(".cv-set-b .cv-contribution .cv-num").all_text_contents()
        score = re.search(r"[−\d.]+$", view.page.locator(".cv-sum").inner_text())
        assert score is not None
        assert sum(map(number, parts)) == pytest.approx(number(score[0]), abs=1e-4 * len(parts))


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("×", "").strip())


def test_the_arithmetic_adds_up(view: ViewPage) -> None:
    given = many(20)
    view.show(given)
    for alpha in (0.0, 0.3, 1.0):
        view.set(alpha=alpha)
        cells = [
            [number(cell) for cell in row.locator("td").all_text_contents() if "…" not in cell]
            for row in view.page.locator(".cv-table tbody tr").all()
        ]
        for raw, stretched, weight, part in cells:
            assert -1 <= raw <= 1
            assert part == pytest.approx(stretched * weight, abs=1e-4)
        final = number(view.page.locator(".cv-cell-final").inner_text())
        assert final == pytest.approx(sum(row[-1] for row in cells), abs=2e-4)


def test_a_tiny_range_is_pointed_out(view: ViewPage) -> None:
    close = [
        document(f"d{i}", similarity, [("token", 1, 0.1, 0.5 - 0.2 * i)])
        for i, similarity in enumerate([0.7010, 0.7009, 0.7008])
    ]
    view.show(trace(close))
    expect(view.page.locator(".cv-notes")).to_contain_text("All similarities lie within 0.00020")
    expect(view.page.locator(".cv-notes")).not_to_contain_text("causal scores")
    view.set(method="causal")
    expect(view.page.locator(".cv-notes")).to_be_empty()


def test_a_keyword_tells_what_absorbs_it(view: ViewPage) -> None:
    view.show(trace(three()))
    view.set(tau=0.6, chosen="meetup")
    near = view.page.locator(".cv-set-a .cv-near")
    assert [re.sub(r"\s+", " ", text) for text in near.all_inner_texts()] == [
        "late exact match",
        "late 0.625",
    ]
    assert "cosine 0.6250" in (near.nth(1).get_attribute("title") or "")


# States of a result


def test_a_document_without_own_keywords_goes_last_and_says_so(view: ViewPage) -> None:
    view.show(trace(three()))
    view.set(tau=0.6)
    assert view.order() == [2, 0, 1]
    expect(view.card(1)).to_contain_text("nothing but query keywords")
    assert "none" in view.card(1).inner_text()
    view.set(chosen="meetup")
    assert "nothing of its own is left" in view.why()
    expect(view.page.locator(".cv-graph-meaning")).to_contain_text("B is empty")
    expect(view.page.locator(".cv-cell-final")).to_have_text("none, last")
    view.set(emptyB="fallback")
    assert "keeps its similarity" in view.why()
    view.set(chosen="maxsim")
    expect(view.page.locator(".cv-graph-meaning")).to_contain_text("A is empty")


def test_a_document_without_any_keyword_is_no_repetition(view: ViewPage) -> None:
    view.show(trace([*three(), document("blank", 0.125, [], tokens=0)]))
    expect(view.card(3)).to_contain_text("no keywords at all")
    view.set(chosen="blank")
    assert "no keyword could be drawn" in view.why()


def test_one_candidate(view: ViewPage) -> None:
    view.show(trace(three()[:1]))
    assert view.order() == [0]
    assert view.why().startswith("The only candidate")
    assert "NaN" not in view.page.locator(".causalviz").inner_text()


def test_ties_are_marked(view: ViewPage) -> None:
    view.show(trace(three()))
    expect(view.card(0)).not_to_contain_text("tie")
    view.set(alpha=0.5)
    assert view.order() == [0, 1, 2]
    for i in range(3):
        expect(view.card(i)).to_contain_text("tie")
    assert "equals that of 2 documents" in view.why()


def test_copies_name_what_they_copy(view: ViewPage) -> None:
    first = document("a.txt", 0.75, [("token", 1, 0.1, 0.5)], title="Original")
    copy = document("b.txt", 0.75, [("token", 1, 0.1, 0.5)], title="Copy", duplicate_of="a.txt")
    twin = document("c.txt", 0.75, [("token", 1, 0.1, 0.5)], title="Original", duplicate_of="a.txt")
    near = document("d.txt", 0.5, [("token", 1, 0.1, 0.5)], title="Near", near_duplicate_of="a.txt")
    view.show(trace([first, copy, twin, near]))
    assert "same text as Original" in plain(view.card(1).inner_text())
    assert "nearly the same words as Original" in plain(view.card(3).inner_text())
    assert "same text as a.txt" in plain(view.card(2).inner_text())
    expect(view.card(0)).not_to_contain_text("same text")


def plain(text: str) -> str:
    return text.replace("\u2068", "").replace("\u2069", "")


def test_repetition_stands_beside_the_rank_and_warns_from_a_quarter_on(view: ViewPage) -> None:
    quarter = document("quarter", 0.125, [("token", 1, 0.1, 0.5)], repeats=25, tokens=100)
    view.show(trace([*three(), quarter]))
    for column in ("before", "after"):
        texts = [view.card(i, column).text_content() or "" for i in range(4)]
        assert "repeats the question’s words ×31, 31 % of its content words" in texts[0]
        assert "repeats the question’s words ×5, 5.0 % of its content words" in texts[1]
        assert "does not repeat" in texts[2] or "repeats ×0" in texts[2]
        assert ["⚠" in text for text in texts] == [True, False, False, True]


# How many flags do not show all of their words.
CUT = """(flags) => flags.filter((flag) => {
  const [outer, inner] = [flag, flag.children[1]].map((node) => node.getBoundingClientRect());
  return inner.left < outer.left || inner.right > outer.right + 0.5;
}).length"""
GUARDED = [
    # s_c: 0.25, 0.5, 0.75, 0.125, so causal ranks 3, 2, 1, 4: the first falls to the third place.
    document("tag", 0.75, [("tag", 1, 0.5, 0.25)], repeats=3, suspect=True, use=4.1, topic=0.5),
    document("meetup", 0.5, [("talk", 1, 0.625, 0.5)], repeats=40, use=2.1, topic=1.4),
    document("maxsim", 0.25, [("token", 1, 0.25, 0.75)], suspect=True, use=3.0, topic=0.0),
    document("plain", 0.125, [("beer", 1, 0.25, 0.125)], use=1.0, topic=1.0),
]
TOLD = (
    "suspected of stuffing: it uses the question’s words 4.1 times as much as documents here usually do, while the "
    "rest of it has 0.5 times as much to do with the other results"
)


@pytest.mark.parametrize("method", ["hybrid", "guarded", "similarity"])
def test_suspects_are_marked_whatever_the_method(view: ViewPage, method: str) -> None:
    view.show(trace(GUARDED, density_limit=0.2))
    view.set(method=method)
    # The narrow cards have room for one word of it, and for the whole where a pointer or a screen reader asks.
    for column, mark in (("before", "⚠suspected"), ("after", "⚠suspected of stuffing")):
        texts = [view.card(i, column).inner_text() for i in range(4)]
        assert [mark in text for text in texts] == [True, False, True, False]
        # The verdict is the one warning: a density beyond the limit adds none where the guard has none.
        assert "⚠" not in texts[1]
        flag = view.card(0, column).locator(".cv-flag-warn")
        assert flag.get_attribute("title") == f"Warning: {TOLD}"
        assert TOLD in (flag.locator(".cv-sr").text_content() or "")


def test_the_guard_explains_itself(view: ViewPage) -> None:
    view.show(trace(GUARDED))
    view.set(method="hybrid", chosen="tag")
    remarks = view.page.locator(".cv-remarks li")
    assert remarks.all_inner_texts() == [
        f"⚠ {TOLD}",
        "repeats the question’s words ×3, 3.0 % of its content words",
    ]
    view.set(method="guarded")
    assert remarks.all_inner_texts()[0] == "⚠ suspected of stuffing"  # the sentence below says what for
    assert TOLD.removeprefix("suspected of stuffing: ") in view.why()
    expect(view.page.locator(".cv-head")).to_contain_text(
        "final = similarity, except 2 suspected of stuffing"
    )
    assert view.order() == [1, 2, 0, 3]
    arithmetic = view.page.locator(".cv-arithmetic")
    expect(arithmetic.locator("tfoot")).to_contain_text("final = just below the similarity of number 3")
    expect(arithmetic.locator(".cv-cell-final")).to_have_text("0.2500")
    expect(arithmetic.locator(".cv-notes")).to_contain_text(
        "its causal rank (3) is lower than its rank by similarity (1)"
    )
    view.set(chosen="maxsim")
    expect(arithmetic.locator("tfoot")).to_contain_text("final = similarity")
    expect(arithmetic.locator(".cv-notes")).to_contain_text("its causal rank (1) is no lower")
    view.set(chosen="meetup")
    expect(arithmetic.locator(".cv-notes")).to_contain_text("It is not suspected, so its similarity stands.")
    assert remarks.first.inner_text() == (
        "not suspected of stuffing: it uses the question’s words 2.1 times as much as documents here usually do, and "
        "the rest of it has 1.4 times as much to do with the other results"
    )
    view.show(trace([GUARDED[3]]))
    view.set(method="guarded")
    expect(view.page.locator(".cv-head")).to_contain_text("as none is suspected of stuffing")


def test_a_trace_from_before_the_guard_is_shown_without_suspects(view: ViewPage) -> None:
    old = to_json(trace(three()))
    for candidate in old["candidates"]:
        for name in ("suspect", "use", "topic"):
            del candidate[name]
    view.page.evaluate("(trace) => view.show(trace)", old)
    view.set(method="guarded", chosen="tag")
    assert view.order() == [0, 1, 2]
    # Nothing else is known of it, so that its density warns.
    assert ["⚠" in (view.card(i).text_content() or "") for i in range(3)] == [True, False, False]
    expect(view.page.locator(".cv-remarks")).to_have_text(
        "⚠ repeats the question’s words ×31, 31 % of its content words"
    )


@pytest.mark.parametrize("width", [1920, 1500, 1280, 1100, 900])
def test_the_mark_of_a_suspect_is_never_cut(view: ViewPage, width: int) -> None:
    view.page.set_viewport_size({"width": width, "height": 900})
    view.show(trace(GUARDED))
    flags = view.page.locator(".cv-flag-suspect")
    assert flags.count() == 4
    assert all("suspected" in text for text in flags.all_inner_texts())
    assert flags.evaluate_all(CUT) == 0


def test_a_question_without_keywords_absorbs_nothing(view: ViewPage) -> None:
    lone = trace_of(
        World(query=(1.0, 0.0), query_terms=(), terms={"t": (1.0, 0.0)},
              documents=(WorldDocument("a", (1.0, 0.0), {"t": 1.0}), WorldDocument("b", (0.6, 0.8), {"t": 1.0})))
    )  # fmt: skip
    view.show(lone)
    view.set(tau=-1)
    expect(view.page.locator(".cv-chips")).to_contain_text("none")
    assert view.keywords("A") == []


def test_the_designed_states(view: ViewPage) -> None:
    status = view.page.locator(".cv-status")
    expect(status).to_contain_text("Ask a question")
    states = [("loading", "Looking for documents"), ("error", "The encoder is gone."), ("empty", "Nothing.")]
    for kind, message in states:
        view.page.evaluate("(status) => view.setStatus(status)", {"kind": kind, "message": message})
        expect(status).to_contain_text(message)
        expect(view.page.locator(".cv-results")).to_be_hidden()
    view.show(trace(three()))
    expect(status).to_be_hidden()
    view.page.evaluate("() => view.setStatus({ kind: 'error', message: 'The encoder is gone.' })")
    expect(status).to_contain_text("The encoder is gone.")
    expect(view.card(0)).to_be_visible()
    view.show(trace([], theta=0.95))
    expect(status).to_contain_text("None of the 471 documents searched has a similarity of at least θ 0.95")
    expect(view.page.locator(".cv-results")).to_be_hidden()
    view.page.evaluate("() => view.show({ format: 'something else' })")
    expect(status).to_contain_text("cannot be shown")


def test_the_head_tells_what_was_searched(view: ViewPage) -> None:
    view.show(trace(three(), theta=0.2, warnings=("Few keywords.",), knowledge_base="notes"))
    assert view.page.locator(".cv-facts li").first.inner_text() == "knowledge base notes"
    head = view.page.locator(".cv-summary").inner_text()
    for words in ("how does late interaction work", "late", "471 documents searched", "3 candidates", "0.2", "e5-small",
                  "0.30 s", "Few keywords."):  # fmt: skip
        assert words in head


# Foreign text


def test_hostile_text_stays_text(view: ViewPage) -> None:
    candidates = [
        document(
            f"{i}-{text[:90]}", 0.9 - i / 100, [(text[:300], 1, 0.2, 0.5), ("late", 1, None, 0.5)], title=text
        )
        for i, text in enumerate(HOSTILE)
    ]
    hostile = trace(
        candidates, query=HOSTILE[0], warnings=(HOSTILE[0],), encoder=HOSTILE[0], knowledge_base=HOSTILE[0],
        query_keywords=tuple(Keyword(term=text[:300], weight=1.0) for text in HOSTILE),
    )  # fmt: skip
    data = view.show(hostile)
    shown = {"text": "".join(HOSTILE), "characters": 99999, "spans": [[0, 4, 0], [2, 9, 1]]}
    view.texts({candidate["id"]: shown for candidate in data["candidates"]})
    for i in range(len(HOSTILE)):
        view.set(chosen=data["candidates"][i]["id"], tau=0.1 if i % 2 else 0.5)
        assert view.page.locator(".cv-text").text_content() == "".join(HOSTILE)
    assert view.page.title() == "view"
    assert view.page.locator(".causalviz").locator("img, script, iframe, a").count() == 0
    assert HOSTILE[1][:40] in (view.card(1).text_content() or "")
    assert view.requests == []
    for width in (1920, 1280, 900):
        view.page.set_viewport_size({"width": width, "height": 900})
        view.frames()
        assert overflowing(view) == []


def test_the_text_is_marked_where_its_keywords_stand(view: ViewPage) -> None:
    candidates = three()
    view.show(trace(candidates))
    view.set(chosen="meetup")
    expect(view.page.locator(".cv-text-note")).to_contain_text("on its way")
    text = "𠀀 late talk: a late talk about talks"
    # Offsets count code points; the overlapping and the empty span are left out, the unknown keyword too.
    spans = [
        [2, 6, 0],
        [7, 11, 1],
        [9, 13, 0],
        [15, 19, 0],
        [20, 24, 1],
        [20, 20, 1],
        [31, 35, 1],
        [31, 35, 9],
    ]
    view.texts({"meetup": {"text": text, "characters": 4000, "spans": spans}})
    assert view.page.locator(".cv-text").text_content() == text
    marks = view.page.locator(".cv-text mark")
    assert marks.all_text_contents() == ["late", "talk", "late", "talk", "talk"]
    assert view.page.locator(".cv-text .cv-in-b").all_text_contents() == ["talk"] * 3
    expect(view.page.locator(".cv-text-note")).to_have_text(
        f"Shown: the first {len(text)} of 4,000 characters."
    )
    view.set(tau=0.6)
    assert view.page.locator(".cv-text .cv-in-a").count() == 5
    styles = [
        view.page.locator(f".cv-text-legend .cv-in-{letter}").evaluate(
            "(mark) => getComputedStyle(mark).borderBottomStyle"
        )
        for letter in "ab"
    ]
    assert styles == ["solid", "dotted"]
    view.set(chosen="tag")
    expect(view.page.locator(".cv-text-note")).to_contain_text("not part of this page")


# The graph


def test_the_graph_draws_the_open_and_the_blocked_path(view: ViewPage) -> None:
    view.show(trace(three()))
    view.set(chosen="tag")

    def paths() -> dict[str, str]:
        drawn: dict[str, str] = view.page.locator(".cv-edge").evaluate_all(
            "(edges) => Object.fromEntries(edges.map((edge) => [edge.dataset.edge, edge.dataset.path]))"
        )
        return drawn

    opened = {"A>q": "open", "A>d": "open", "B>d": "open", "B>y": "blocked", "q>y": "blocked"}
    assert paths() == opened
    bars = view.page.locator(".cv-bar-mark")
    assert bars.evaluate_all("(bars) => bars.map((bar) => bar.dataset.node)") == ["y"]
    verdicts = view.page.get_by_role("radio")
    assert [re.search(r"q and B are (\w+)", text)[1] for text in verdicts.all_text_contents()] == [  # type: ignore[index]
        "independent", "dependent", "independent",
    ]  # fmt: skip
    expect(view.page.locator(".cv-node-d")).to_have_class(re.compile("cv-given"))
    verdicts.nth(2).click()
    assert set(paths().values()) == {"blocked"}
    assert sorted(bars.evaluate_all("(bars) => bars.map((bar) => bar.dataset.node)")) == ["A", "y"]
    verdicts.nth(0).click()
    assert sorted(bars.evaluate_all("(bars) => bars.map((bar) => bar.dataset.node)")) == ["d", "y"]
    view.page.keyboard.press("ArrowDown")
    assert paths() == opened
    # A holds 3 of 4 parts of the weight.
    widths = [
        float(
            view.page.locator(f"[data-edge='{edge}']").evaluate(
                "(edge) => edge.style.getPropertyValue('--cv-width')"
            )
        )
        for edge in ("A>d", "B>d")
    ]
    assert widths[0] > widths[1]
    assert "not an estimated causal effect" in view.page.locator(".cv-graph-panel").inner_text()


def test_without_a_graph_the_rest_works(open_view: Open) -> None:
    view = open_view(graph=None)
    view.show(trace(three()))
    assert view.order() == [2, 1, 0]


# Looks


OVERFLOW = """() => {
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth) found.push("page");
  for (const node of document.querySelectorAll(".causalviz *")) {
    if (node.closest(".cv-sr, .cv-text, svg, select") || !node.clientWidth) continue;
    const { overflowX } = getComputedStyle(node);
    if (node.scrollWidth > node.clientWidth + 1 && overflowX !== "hidden") found.push(node.className);
  }
  return found;
}"""


def overflowing(view: ViewPage) -> list[str]:
    found: list[str] = view.page.evaluate(OVERFLOW)
    return found


@pytest.mark.parametrize("width", [1920, 1500, 1280, 1100, 900])
def test_the_repetition_warning_is_never_cut(view: ViewPage, width: int) -> None:
    view.page.set_viewport_size({"width": width, "height": 900})
    candidates = [document("tag", 0.75, [("late", 3, None, 0.9)], repeats=162, tokens=330), *three()[1:]]
    view.show(trace(candidates))
    flags = view.page.locator(".cv-flag-warn")
    assert flags.count() == 2
    assert all("×162 · 49 %" in text for text in flags.all_inner_texts())
    assert flags.evaluate_all(CUT) == 0


def test_the_keywords_compared_are_few(view: ViewPage) -> None:
    view.show(trace(three()))
    expect(view.page.locator(".cv-sets")).to_contain_text(
        "Only a document’s 15 heaviest keywords are compared."
    )


@pytest.mark.parametrize("width", [1920, 1500, 1280, 1100, 900, 600])
def test_nothing_sticks_out(view: ViewPage, width: int) -> None:
    view.page.set_viewport_size({"width": width, "height": 900})
    view.show(many(20))
    for tau in (0.5, 0.97):
        view.set(tau=tau)
        assert overflowing(view) == []


# Text colours against the nearest painted background behind them, WCAG 2 contrast.
CONTRAST = """() => {
  const parse = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const [r, g, b, alpha = 1] = parse(getComputedStyle(at).backgroundColor);
      if (alpha === 1 && r !== undefined) return [r, g, b];
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  };
  const worst = [];
  for (const node of document.querySelectorAll(".causalviz *")) {
    const own = Array.from(node.childNodes).some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || node.closest("svg, .cv-sr, .cv-unused, select") || !node.getClientRects().length) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color).slice(0, 3)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) worst.push(`${node.className} ${ratio.toFixed(2)}`);
  }
  return [worst, light(behind(document.querySelector(".cv-card")))];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_both_schemes(view: ViewPage, scheme: Any) -> None:  # noqa: ANN401 - a literal
    view.page.emulate_media(color_scheme=scheme)
    view.show(trace(three(), warnings=("Few keywords.",)))
    view.texts({"tag": {"text": "late tag", "characters": 8, "spans": [[0, 4, 0], [5, 8, 1]]}})
    view.page.evaluate("() => view.setStatus({ kind: 'error', message: 'The encoder is gone.' })")
    view.set(tau=0.6, chosen="tag")
    field = view.page.get_by_label("Absorption threshold, typed")
    field.fill("7")
    field.press("Enter")
    worst, background = view.page.evaluate(CONTRAST)
    assert worst == []
    assert (background < 0.2) == (scheme == "dark")


def test_inside_gradio_the_page_s_own_switch_decides(open_view: Open) -> None:
    view = open_view(theme="host")
    view.page.emulate_media(color_scheme="dark")
    view.show(trace(three()))
    assert view.page.evaluate(CONTRAST)[1] > 0.5
    view.page.evaluate("() => document.body.classList.add('dark')")
    assert view.page.evaluate(CONTRAST)[1] < 0.2


# Selectors of which some alternative does not go through .causalviz.
STRAY = """() => {
  const stray = [];
  const visit = (rules) => {
    for (const rule of rules) {
      if (rule instanceof CSSStyleRule) {
        const alternatives = rule.selectorText.replace(/:(is|not|where)\\([^)]*\\)/g, "").split(",");
        if (!alternatives.every((part) => /^(\\.dark )?\\.causalviz/.test(part.trim()))) stray.push(rule.selectorText);
      } else if (rule.cssRules && !(rule instanceof CSSKeyframesRule)) visit(rule.cssRules);
    }
  };
  visit(document.getElementById("view").sheet.cssRules);
  return stray;
}"""


def test_styles_touch_nothing_outside_the_view(view: ViewPage) -> None:
    stray = view.page.evaluate(STRAY)
    assert stray == []


def test_cards_move_softly_unless_less_motion_is_wished_for(view: ViewPage) -> None:
    view.show(trace(three()))

    def seconds() -> float:
        took: str = view.page.locator(".cv-item").first.evaluate(
            "(item) => getComputedStyle(item).transitionDuration"
        )
        return float(took.removesuffix("s"))

    assert 0 < seconds() <= 0.2
    view.page.emulate_media(reduced_motion="reduce")
    assert seconds() == 0


def test_pairs_of_the_order_agree_with_final_scores(view: ViewPage) -> None:
    given = many(20, seed=3)
    view.show(given)
    shown = [number(view.card(i).locator(".cv-figure-value").first.inner_text()) for i in view.order()]
    assert all(first >= second for first, second in pairwise(shown))
