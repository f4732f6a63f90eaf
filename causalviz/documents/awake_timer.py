"""A timer that knows no pauses: indexing is stopped while somebody asks (jobs.py), and a file must not pay for that."""

import threading
import time

_TICK = 0.2
"""Seconds between two looks at the time; of a longer gap, in which the process was stopped, twice as many count."""


class AwakeTimer(threading.Timer):
    """Calls a function once this process has run for some seconds, to a tick, unless it is cancelled before."""

    def run(self) -> None:
        """Count."""
        left, before = self.interval, time.monotonic()
        while left > 0:
            if self.finished.wait(min(_TICK, left)):
                return
            now = time.monotonic()
            left -= min(now - before, 2 * _TICK)
            before = now
        self.function(*self.args, **self.kwargs)
        self.finished.set()
