"""The Chromium that tests, timings and screenshots use."""

import os
from pathlib import Path

from playwright.sync_api import Browser, Playwright

# The shell draws what the full browser draws, without its windows, at two thirds of the processor time.
_PLACES = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def launch(playwright: Playwright) -> Browser:
    """Start CAUSALVIZ_CHROMIUM, else the system's Chromium, else the one that `playwright install` brought."""
    named = os.environ.get("CAUSALVIZ_CHROMIUM")
    found = named or next((place for place in _PLACES if Path(place).exists()), None)
    return playwright.chromium.launch(executable_path=found, args=_FLAGS)
