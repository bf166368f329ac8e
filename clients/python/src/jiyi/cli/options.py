"""Options that all commands share, and what a command is given to work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from jiyi._client import Jiyi
from jiyi.cli.output import Output

P = ParamSpec("P")
R = TypeVar("R")


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
