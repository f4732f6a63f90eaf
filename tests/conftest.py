"""What all tests share."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes import Remembering, silent
from filelock import FileLock
from hypothesis import settings

from causalviz.backends.e5_small import E5SmallEncoder
from causalviz.bootstrap import SAMPLE, sample_pipeline, themes_pipeline
from causalviz.evaluation.themes import read_themes
from causalviz.settings import Settings

BROWSER = Path(__file__).parent / "browser"
GOLDEN = Path(__file__).parent / "golden"

LONGEST_FIRST = (
    "browser/test_app.py", "browser/test_models_page.py", "browser/test_strangers.py",
    "browser/test_answer_page.py", "browser/test_documents_page.py", "browser/test_several_browsers.py",
    "backends/test_encoders.py", "browser/test_explain_view.py", "test_cli.py", "browser/test_calibrate.py",
    "browser/test_view.py", "test_jobs.py", "browser/test_tune.py", "browser/test_evaluate_page.py",
    "test_reproduce.py", "backends/test_server_encoder.py", "documents/test_mutants.py", "test_calibrate.py",
    "browser/test_rerank_js.py",
)  # fmt: skip
"""Files that take long: begun first, so that no process ends long after the others."""

# `make fuzz` sets the factor; no deadline, since a shared machine may stall.
settings.register_profile(
    "causalviz",
    deadline=None,
    print_blob=True,
    max_examples=30 * int(os.environ.get("CAUSALVIZ_EXAMPLES", "1")),
)
settings.load_profile("causalviz")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what the make targets select, browser tests and comparisons with golden files, and put long files first."""
    order = {GOLDEN.parent / name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(item.path, len(order)))
    for item in items:
        if item.path.is_relative_to(BROWSER):
            item.add_marker("browser")
            # A busy machine can stall for longer than a test waits. The summary names what was run again.
            item.add_marker(pytest.mark.flaky(reruns=1))
        if isinstance(item, pytest.Function) and "golden" in item.fixturenames:
            item.add_marker("golden")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell why tests were run again: what fails once in a hundred runs has a cause, too."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"run again: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `make golden` write the golden files instead of comparing with them."""
    parser.addoption("--golden", choices=["compare", "write"], default="compare")


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Leave what the user of this machine has indexed alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAUSALVIZ_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def indexed_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Index the sample and its themes with the bundled encoder, once for all test processes; copy what is here."""
    place = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        place = place.parent
    home, done = place / "indexed", place / "indexed.done"
    with FileLock(place / "indexed.lock"):
        if not done.exists():
            settings, themes = Settings.of({"CAUSALVIZ_HOME": str(home)}), SAMPLE / "themes.jsonl"
            encoder = Remembering(E5SmallEncoder())
            sample_pipeline(encoder, settings, silent)
            themes_pipeline(read_themes(themes), themes, encoder, settings, silent)
            done.touch()
    return home


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare text with the file of that name in golden/; only `make golden` changes it."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--golden") == "write":
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare
