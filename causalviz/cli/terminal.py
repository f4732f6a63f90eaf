"""What the commands print: progress on stderr, tables and JSON on stdout."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from causalviz import protocols

_QUIET_SECONDS = 1.5
"""A run shorter than this shows no progress at all."""


@contextmanager
def progress_bar() -> Iterator[protocols.Progress]:
    """Give a callback that draws progress with an estimate on stderr once a run takes noticeable time."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    start = time.monotonic()
    tasks: dict[int, TaskID] = {}

    def show(done: int, total: int, what: str) -> None:
        if not bar.live.is_started:
            if time.monotonic() - start < _QUIET_SECONDS:
                return
            bar.start()
        # The phases (files, then keywords) have totals of their own, so each gets a line and an estimate of its own.
        if total not in tasks:
            tasks[total] = bar.add_task("", total=total)
        bar.update(tasks[total], completed=done, description=what[-40:])

    try:
        yield show
    finally:
        # Stopping a bar that never started would print an empty line.
        if bar.live.is_started:
            bar.stop()


def print_json(value: Any) -> None:  # noqa: ANN401 - any JSON value
    """Print one JSON document; non-ASCII text stays readable."""
    print(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))  # noqa: T201 - the command's output


def print_table(title: str, columns: dict[str, str], rows: list[list[str]], notes: list[str]) -> None:
    """Print a table and the lines below it; text is shown as it is, markup in it means nothing.

    Args:
        title: Printed above.
        columns: Heading to "left" or "right".
        rows: Cells in column order.
        notes: Printed below, one a line.
    """
    console = Console()
    table = Table(title=Text(title), title_justify="left", box=None, pad_edge=False)
    for heading, justify in columns.items():
        table.add_column(heading, justify="right" if justify == "right" else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    for note in notes:
        console.print(Text(note))
