"""How long until the app answers, once everything is installed and the sample is indexed."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from causalviz.settings import ROOT

RUNS = 3


def main() -> list[list[str]]:
    """Measure and return rows (what, measured, bar)."""
    with tempfile.TemporaryDirectory() as home:
        _start(home)  # indexes the sample
        times = sorted(_start(home) for _ in range(RUNS))
    imported = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import causalviz"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stderr
    heavy = [name for name in ("torch", "faiss", "gradio", "jieba") if f" {name}\n" in imported]
    return [
        ["start until the first page is served", f"{times[RUNS // 2]:.2f} s", "<= 6 s"],
        ["heavy packages loaded by `import causalviz`", ", ".join(heavy) or "none", "none"],
    ]


def _start(home: str) -> float:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {"CAUSALVIZ_HOME": home, "CAUSALVIZ_PORT": str(port)}
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while process.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=5).close()
            except OSError:
                time.sleep(0.05)
            else:
                return time.perf_counter() - start
        raise RuntimeError("the app stopped before it answered")
    finally:
        process.terminate()
        process.wait()
