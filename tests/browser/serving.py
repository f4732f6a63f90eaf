"""The app in a process of its own."""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from causalviz.settings import ROOT

WITH_A_SMALL_ENCODER = """
import sys
from fakes import WordEncoder
from causalviz import bootstrap, cli
bootstrap.ENCODERS["words"] = WordEncoder
sys.exit(cli.main(["serve", "--encoder", "words"]))
"""
"""It knows words and nothing of their meaning, and indexes the sample in a moment."""


@contextmanager
def serving(home: Path, script: str = WITH_A_SMALL_ENCODER, **environment: str) -> Iterator[str]:
    """Run a script that starts the app, with a home of its own, where Gradio is imported already; gives its address.

    Args:
        home: CAUSALVIZ_HOME; the app's output goes there too.
        script: What it runs, as Python's ``-c`` would.
        environment: More variables.
    """
    own, log, address = _place(home, environment)
    forking = _forking()
    assert forking.stdin
    assert forking.stdout
    order = {"script": script, "environment": own, "log": str(log)}
    forking.stdin.write(json.dumps(order) + "\n")
    forking.stdin.flush()
    app = int(forking.stdout.readline())

    def running() -> bool:
        try:
            os.kill(app, 0)
        except ProcessLookupError:
            return False
        return True

    try:
        _wait_for(address, running, log)
        yield address
    finally:
        if running():
            os.kill(app, signal.SIGINT)
        deadline = time.monotonic() + 90
        while running():
            assert time.monotonic() < deadline, f"the app does not end: {log.read_text()}"
            time.sleep(0.05)


@contextmanager
def serving_as_people_do(home: Path) -> Iterator[str]:
    """Run `python app.py` with a home of its own; gives its address."""
    own, log, address = _place(home, {})
    with log.open("w") as output:
        app = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=own, stdout=output, stderr=output)
    try:
        _wait_for(address, lambda: app.poll() is None, log)
        yield address
    finally:
        app.send_signal(signal.SIGINT)
        app.wait(timeout=90)


def _place(home: Path, environment: dict[str, str]) -> tuple[dict[str, str], Path, str]:
    """Give the environment, the file for what is printed, and the address of an app."""
    port = free_port()
    own = os.environ | {"CAUSALVIZ_HOME": str(home), "CAUSALVIZ_PORT": str(port)} | environment
    return own, home / "app.log", f"http://127.0.0.1:{port}"


@cache
def _forking() -> "subprocess.Popen[str]":
    """Start the process that apps are forked from; it ends with this one."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    forking = subprocess.Popen(
        [sys.executable, "-m", "browser.forking"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(forking.communicate)
    return forking


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(address: str, running: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + 400  # the first start indexes the sample
    while time.monotonic() < deadline:
        assert running(), log.read_text()
        try:
            urllib.request.urlopen(address, timeout=5).close()  # noqa: S310 - our own address
        except OSError:
            time.sleep(0.3)
        else:
            return
    pytest.fail(f"the app did not start: {log.read_text()}")
