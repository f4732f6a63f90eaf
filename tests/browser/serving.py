"""The app in a process of its own, as a person starts it."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from causalviz.settings import ROOT

AS_PEOPLE_DO = ("app.py",)
WITH_A_SMALL_ENCODER = (
    "-c",
    """
import sys
sys.path.insert(0, "tests")
from fakes import WordEncoder
from causalviz import bootstrap, cli
bootstrap.ENCODERS["words"] = WordEncoder
sys.exit(cli.main(["serve", "--encoder", "words"]))
""",
)
"""It knows words and nothing of their meaning, and indexes the sample in a moment."""


@contextmanager
def serving(home: Path, arguments: Sequence[str] = WITH_A_SMALL_ENCODER, **environment: str) -> Iterator[str]:
    """Run the app with a home of its own; gives its address.

    Args:
        home: CAUSALVIZ_HOME; the app's output goes there too.
        arguments: Of Python.
        environment: More variables.
    """
    port, log = free_port(), home / "app.log"
    address = f"http://127.0.0.1:{port}"
    own = os.environ | {"CAUSALVIZ_HOME": str(home), "CAUSALVIZ_PORT": str(port)} | environment
    with log.open("w") as output:
        process = subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, *arguments], cwd=ROOT, env=own, stdout=output, stderr=output
        )
        try:
            _wait_for(address, process, log)
            yield address
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 400  # the first start indexes the sample
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(address, timeout=5).close()  # noqa: S310 - our own address
        except OSError:
            time.sleep(0.3)
        else:
            return
    pytest.fail(f"the app did not start: {log.read_text()}")
