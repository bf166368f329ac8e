"""What all commands share and how they print: tables for people, tabs for pipes, or JSON; messages go to stderr."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from jiyi._client import Jiyi
from jiyi._decoding import to_json

# What a terminal might take for a command of its own; tabs and line breaks are not among it.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


P = ParamSpec("P")
R = TypeVar("R")

# Shows how much is done, and of how much; 0 if that is not known yet.
Show = Callable[[int, int], None]


class Output:
    """Where a command prints. `as_json`: one JSON document on stdout and nothing else there."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.is_terminal = sys.stdout.isatty()
        self._out = Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
        self._err = Console(file=sys.stderr, markup=False, highlight=False, emoji=False)

    def data(self, value: Any) -> None:
        """Print a value as JSON."""
        click.echo(json.dumps(to_json(value), ensure_ascii=False, indent=2))

    def text(self, text: str, *, end: str = "\n") -> None:
        """Print text as it is, at once."""
        click.echo(clean(text) + end, nl=False)
        sys.stdout.flush()

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str | None = None) -> None:
        """Print rows: a table on a terminal, else one line each with tabs between the cells and no heading."""
        if self.is_terminal:
            self._out.print(_make_table(columns, rows, title))
            return
        for row in rows:
            click.echo("\t".join(re.sub(r"\s+", " ", to_cell(value)) for value in row))

    def message(self, text: str) -> None:
        """Say something to whoever sits in front of it."""
        self._err.print(Text(clean(text)), soft_wrap=True)

    def note_table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str | None = None) -> None:
        """Show rows beside the result proper."""
        self._err.print(_make_table(columns, rows, title))

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show that something takes its time, if there is somebody to see it."""
        if not self._err.is_terminal:
            yield
            return
        with self._err.status(text):
            yield

    @contextmanager
    def progress(self, text: str) -> Iterator[Show]:
        """Show how far something is, if there is somebody to see it."""
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self._err, transient=True, disable=not self._err.is_terminal) as display:
            bar = display.add_task(text, total=None)

            def show(done: int, total: int) -> None:
                display.update(bar, completed=done, total=total or None)

            yield show


def _make_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in columns:
        is_id = name in ("ID", "Session")
        table.add_column(name, no_wrap=is_id, overflow="fold", style="dim" if is_id else None)
    for row in rows:
        table.add_row(
            *[Text(to_cell(value), justify="right" if isinstance(value, float | int) else "left") for value in row]
        )
    return table


def clean(text: str) -> str:
    """Return the text without control characters: what was remembered must not steer a terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def to_cell(value: Any) -> str:
    """Return a value as one cell of a table."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, datetime):
        return value.astimezone().strftime("%Y-%m-%d %H:%M")
    return clean(str(value))


@dataclass(frozen=True, slots=True)
class Given:
    """The server, and where to print."""

    client: Jiyi
    out: Output


def with_server(command: Callable[Concatenate[Given, P], R]) -> Callable[..., R]:
    """Give a command a client as its first argument, and the options that choose the server and the output."""

    @click.option("--url", metavar="URL", help="Server; else JIYI_URL, else that of `jiyi login`.")
    @click.option("--token", metavar="TOKEN", help="API token; else JIYI_TOKEN, else that of `jiyi login`.")
    @click.option("--end-user", metavar="ID", help="With a service token: the end user to speak for.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @wraps(command)
    def wrapped(
        *args: Any, url: str | None, token: str | None, end_user: str | None, as_json: bool, **kwargs: Any
    ) -> R:
        out = Output(as_json=as_json)
        try:
            client = Jiyi(url, token, end_user=end_user)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        with client:
            return command(Given(client, out), *args, **kwargs)

    return wrapped
