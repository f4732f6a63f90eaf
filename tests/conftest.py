"""What all tests share."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

BROWSER = Path(__file__).parent / "browser"
GOLDEN = Path(__file__).parent / "golden"

# `make fuzz` sets the factor; no deadline, since a shared machine may stall.
settings.register_profile(
    "causalviz",
    deadline=None,
    print_blob=True,
    max_examples=50 * int(os.environ.get("CAUSALVIZ_EXAMPLES", "1")),
)
settings.load_profile("causalviz")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what the make targets select: tests in browser/, and tests that compare with a golden file."""
    for item in items:
        if item.path.is_relative_to(BROWSER):
            item.add_marker("browser")
        if isinstance(item, pytest.Function) and "golden" in item.fixturenames:
            item.add_marker("golden")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `make golden` write the golden files instead of comparing with them."""
    parser.addoption("--golden", choices=["compare", "write"], default="compare")


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
