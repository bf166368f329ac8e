"""``jiyi login``."""

from __future__ import annotations

import os
import sys

import click
import httpx2

from jiyi._client import Jiyi
from jiyi.configuration import DEFAULT_URL, Login, check_header, normalize_url, read_login, save_login


@click.command()
@click.option("--url", metavar="URL", help="Server; asked for if it is left out.")
@click.option("--token", metavar="TOKEN", help="API token; asked for, or read from stdin, if it is left out.")
def login(url: str | None, token: str | None) -> None:
    """Save the server and a token, after checking them.

    They are kept in the configuration folder ($XDG_CONFIG_HOME or ~/.config), readable by you alone. Create a token in
    the memory panel, or with `manage.py create_token`.
    """
    try:
        chosen = Login(
            url=normalize_url(url or _ask_url()), token=check_header("token", (token or _ask_token()).strip())
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    with Jiyi(chosen.url, chosen.token, retries=0) as client:
        client.settings.get()
    path = save_login(chosen)
    click.echo(f"Logged in to {chosen.url}. Saved in {path}.", err=True)
    address = httpx2.URL(chosen.url)
    if address.scheme == "http" and address.host not in ("localhost", "127.0.0.1", "::1"):
        click.echo("Warning: the connection is not encrypted. Use https outside your own machine.", err=True)


def _ask_url() -> str:
    saved = read_login()
    default = os.environ.get("JIYI_URL") or (saved.url if saved else DEFAULT_URL)
    return str(click.prompt("Server", default=default, err=True)) if sys.stdin.isatty() else default


def _ask_token() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("Token", hide_input=True, err=True))
    return sys.stdin.readline()
