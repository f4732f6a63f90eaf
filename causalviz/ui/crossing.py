"""A cross-encoder's scores for what a session asked last: they take seconds and come in after the ranking."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Lock

from causalviz.errors import StoppedError
from causalviz.pipeline import Pipeline
from causalviz.records import Trace
from causalviz.ui import present
from causalviz.ui.library import Library

QUIET_SECONDS = 2.0
"""A run that takes longer than this tells how far it is, and again each time as much has passed."""


class Crossing:
    """Scores one trace a session; a new one stops the run of the one before."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._latest: dict[str, Trace] = {}
        self._lock = Lock()

    def run(
        self, session: str, pipeline: Pipeline, trace: Trace, every: float = QUIET_SECONDS
    ) -> Iterator[str | Trace]:
        """Score a trace's candidates.

        Args:
            session: Who asked.
            pipeline: Of whom.
            trace: What was found.
            every: Seconds between two sentences.

        Yields:
            How far it is, in sentences, and at last the trace with the scores.

        Raises:
            StoppedError: the session asked something else meanwhile.
            CausalvizError: as library.crossed.
        """
        with self._lock:
            self._latest[session] = trace
        started, done = time.monotonic(), (0, 0)

        def note(part: int, whole: int, _: str) -> None:
            nonlocal done
            done = (part, whole)
            if self._latest.get(session) is not trace:
                raise StoppedError("something else was asked meanwhile; its scores follow.")

        try:
            with ThreadPoolExecutor(max_workers=1) as pool:
                running = pool.submit(self._library.crossed, pipeline, trace, note)
                while not wait([running], timeout=every).done:
                    yield f"The cross-encoder reads the candidates: {present.time_left(started, *done)}."
            yield running.result()
        finally:
            with self._lock:
                if self._latest.get(session) is trace:
                    del self._latest[session]
