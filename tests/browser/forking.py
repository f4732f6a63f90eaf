"""Gradio is imported and the sample indexed once; each line of standard input then starts an app in a fork of it.

A line is JSON: ``script`` to run as if it were Python's ``-c``, ``environment``, and ``log`` for what it prints. The
answer is the process id, in a line of standard output. It ends with its input.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from fakes import WordEncoder, silent

import causalviz.ui.library
import causalviz.ui.pages  # noqa: F401 - what takes seconds to import
from causalviz.bootstrap import sample_pipeline
from causalviz.settings import Settings


def main() -> None:
    """Fork until the input ends."""
    home = tempfile.mkdtemp()
    sample_pipeline(WordEncoder(), Settings.of({"CAUSALVIZ_HOME": home}), silent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how an app ended
    while line := sys.stdin.readline():
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            own = Path(order["environment"]["CAUSALVIZ_HOME"])
            if not (own / "cache").exists():
                shutil.copytree(home, own, dirs_exist_ok=True)
            become(order["script"], order["environment"], order["log"])
            return
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
    shutil.rmtree(home)


def become(script: str, environment: dict[str, str], log: str) -> None:
    """Run the script as a process of its own would."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for own, other in ((0, nothing), (1, output), (2, output)):
        os.dup2(other, own)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c"]
    exec(script, {"__name__": "__main__"})  # noqa: S102 - our own code


if __name__ == "__main__":
    main()
