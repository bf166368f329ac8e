"""``jiyi login``, the group of commands, and how errors become messages and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click
import httpx2

from jiyi._client import Jiyi
from jiyi._transport import VERSION
from jiyi.cli.asking import ask
from jiyi.cli.importing import import_
from jiyi.cli.memories import add, forget, list_, mute, search
from jiyi.cli.output import clean
from jiyi.cli.spaces import move, spaces
from jiyi.cli.transfer import export, stats
from jiyi.configuration import DEFAULT_URL, Login, check_header, normalize_url, read_login, save_login
from jiyi.errors import (
    APIError,
    ConnectionFailed,
    Forbidden,
    JiyiError,
    ModelUnavailable,
    NotConfigured,
    NotFound,
    Unauthenticated,
    Unavailable,
)

# Exit codes; 2 is click's, for wrong usage.
FAILED, DENIED, MISSING, UNREACHABLE, INTERRUPTED = 1, 3, 4, 5, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(VERSION, prog_name="jiyi")
def commands() -> None:
    """Talk to a memory: ask, search, add, forget, take it with you.

    Exit codes: 0 done, 1 refused, 2 wrong usage, 3 not logged in or not allowed, 4 not found, 5 server or model not
    reachable, 130 interrupted.
    """


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


for command in (login, ask, search, list_, add, forget, mute, spaces, move, import_, export, stats):
    commands.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code. Expected errors are one message on stderr."""
    try:
        commands.main(None if arguments is None else list(arguments), prog_name="jiyi", standalone_mode=False)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("\nInterrupted.", err=True)
        return INTERRUPTED
    except JiyiError as error:
        click.echo(f"Error: {clean(describe(error))}", err=True)
        return get_exit_code(error)
    except OSError as error:
        click.echo(f"Error: {error.filename or ''}: {error.strerror or error}".replace(": :", ":"), err=True)
        return FAILED
    return 0


def describe(error: JiyiError) -> str:
    """Return a message for people, with what they can do about it."""
    if isinstance(error, Unauthenticated):
        return f"{error} Run `jiyi login` with a valid token."
    if isinstance(error, ModelUnavailable) and error.message_id:
        return f"{error} The message is kept. Try again with: jiyi ask --retry {error.message_id}"
    if isinstance(error, ConnectionFailed):
        return f"{error} Is the server running?"
    if isinstance(error, APIError) and error.retry_after:
        return f"{error} Try again in {error.retry_after:.0f} s."
    return str(error)


def get_exit_code(error: JiyiError) -> int:
    """Return the exit code of an error."""
    match error:
        case NotConfigured() | Unauthenticated() | Forbidden():
            return DENIED
        case NotFound():
            return MISSING
        case ConnectionFailed() | Unavailable():
            return UNREACHABLE
        case _:
            return FAILED
