"""Bars on the terminal; where there is none, nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn


class Bar(Protocol):
    """Something that shows how far a piece of work is. Called from several threads."""

    def expect(self, total: int, description: str) -> None: ...
    def advance(self, count: int) -> None: ...
    def describe(self, description: str) -> None: ...


class NoBar:
    """Shows nothing."""

    def expect(self, total: int, description: str) -> None:
        """Ignore it."""

    def advance(self, count: int) -> None:
        """Ignore it."""

    def describe(self, description: str) -> None:
        """Ignore it."""


class _RichBar:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=None)

    def expect(self, total: int, description: str) -> None:
        self._progress.update(self._task, total=total, completed=0, description=description)

    def advance(self, count: int) -> None:
        self._progress.advance(self._task, count)

    def describe(self, description: str) -> None:
        self._progress.update(self._task, description=description)


@contextmanager
def show_bar() -> Iterator[Bar]:
    """A bar on standard error for the time of the block, which leaves no line behind."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield NoBar()
        return
    columns = (TextColumn("{task.description:<40.40}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield _RichBar(progress)
