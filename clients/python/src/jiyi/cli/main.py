"""The group of commands, and how errors become messages and exit codes."""

from __future__ import annotations

from collections.abc import Sequence

import click

from jiyi._version import VERSION
from jiyi.cli.asking import ask
from jiyi.cli.importing import import_
from jiyi.cli.logging_in import login
from jiyi.cli.memories import add, forget, list_, search
from jiyi.cli.output import clean
from jiyi.cli.transfer import export, stats
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

FAILED, DENIED, MISSING, UNREACHABLE, INTERRUPTED = 1, 3, 4, 5, 130
"""Exit codes; 2 is click's, for wrong usage."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(VERSION, prog_name="jiyi")
def commands() -> None:
    """Talk to a memory: ask, search, add, forget, take it with you.

    Exit codes: 0 done, 1 refused, 2 wrong usage, 3 not logged in or not allowed, 4 not found, 5 server or model not
    reachable, 130 interrupted.
    """


for command in (login, ask, search, list_, add, forget, import_, export, stats):
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
