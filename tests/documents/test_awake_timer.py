"""Time in which a process is stopped does not count; time in which it waits does."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from causalviz.documents.awake_timer import AwakeTimer

STOPPED = 2.0
TIMED = """
import sys, threading, time
from causalviz.documents.awake_timer import AwakeTimer
over = threading.Event()
start = time.monotonic()
AwakeTimer(1.5, over.set).start()
print("begun", flush=True)
over.wait()
print(time.monotonic() - start)
"""


@pytest.mark.skipif(os.name != "posix", reason="elsewhere there is no such signal")
def test_a_pause_does_not_count() -> None:
    with subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-c", TIMED], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED)
        process.send_signal(signal.SIGCONT)
        assert float(process.stdout.readline()) >= 1.5 + STOPPED - 2 * 0.2


def test_it_rings_not_before_its_time_and_not_when_cancelled() -> None:
    over, never = threading.Event(), threading.Event()
    start = time.monotonic()
    AwakeTimer(0.5, over.set).start()
    cancelled = AwakeTimer(0.5, never.set)
    cancelled.start()
    cancelled.cancel()
    assert over.wait(60)
    assert time.monotonic() - start >= 0.5
    cancelled.join()
    assert not never.is_set()
