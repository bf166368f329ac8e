"""What long benchmarks show while they run, and how they are stopped."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

INTERRUPTED = 130
"""The exit status of a program that Ctrl-C ended."""

PIPE_WIDTH = 140
"""Characters of a line where no terminal says how many there are."""

Advance = Callable[[int], None]
"""Is told how many steps were done since it was called last."""


def make_console() -> Console:
    """Return the console of a benchmark, wide enough for its tables where they go to a file or a pipe."""
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)


@contextmanager
def show_progress(description: str, *, total: int, console: Console) -> Iterator[Advance]:
    """Show a bar until the block ends, and then nothing of it; without a terminal, one line at the start."""
    if not console.is_terminal:
        console.print(f"{description} …")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # Drawing takes time from what is measured, so it happens rarely.
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal, refresh_per_second=2
    ) as progress:
        task = progress.add_task(description, total=total)
        yield lambda steps: progress.advance(task, steps)


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn the first Ctrl-C or TERM into KeyboardInterrupt; later ones are ignored, so that cleaning up is finished."""
    signals = (signal.SIGINT, signal.SIGTERM)

    def interrupt(_number: int, _frame: object) -> NoReturn:
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    previous = {each: signal.signal(each, interrupt) for each in signals}
    try:
        yield
    finally:
        for each, handler in previous.items():
            signal.signal(each, handler)
