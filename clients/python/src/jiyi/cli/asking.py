"""``jiyi ask``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from jiyi._client import Jiyi
from jiyi.cli.output import Given, with_server
from jiyi.cli.spaces import find_id
from jiyi.configuration import state_file, write_private
from jiyi.errors import NotFound, UnexpectedAnswer
from jiyi.types import Delta, Done, Turn, TurnEvent


@click.command()
@click.argument("words", nargs=-1, metavar="MESSAGE...")
@click.option("--session", "session_id", metavar="ID", help="Continue this session.")
@click.option("--new", is_flag=True, help="Start a new session.")
@click.option("--temporary", is_flag=True, help="Start a session that reads and writes no memory.")
@click.option("--paused", is_flag=True, help="Start a session from which nothing new is remembered.")
@click.option("--space", metavar="SPACE", help="Start a new session in this space, by name or ID.")
@click.option("--retry", "message_id", metavar="ID", help="Try a message again that the model failed to answer.")
@click.option("--why", is_flag=True, help="Show which memories the reply was given, and why.")
@with_server
def ask(
    given: Given,
    words: tuple[str, ...],
    session_id: str | None,
    new: bool,
    temporary: bool,
    paused: bool,
    space: str | None,
    message_id: str | None,
    why: bool,
) -> None:
    """Send a message and print the reply as it is written.

    Continues the session of the last call, unless --session, --new, --temporary, --paused or --space says otherwise.
    Without a MESSAGE, or with -, it is read from stdin.
    """
    if sum((session_id is not None, new or paused, temporary, message_id is not None)) > 1:
        raise click.UsageError("--session, --new (or --paused), --temporary and --retry exclude each other.")
    if space and (session_id or message_id):
        raise click.UsageError("--space is for a new session.")
    if message_id is not None:
        if words:
            raise click.UsageError("--retry sends the stored message: leave out MESSAGE.")
        turn = _print_reply(given, given.client.messages.stream_retry(message_id))
    else:
        turn = _send(
            given,
            _read_message(words),
            session_id=session_id,
            new=new or paused or bool(space),
            temporary=temporary,
            paused=paused,
            space=space,
        )
    _show_turn(given, turn, why=why)


def _read_message(words: tuple[str, ...]) -> str:
    if not words and sys.stdin.isatty():
        raise click.UsageError("Missing argument 'MESSAGE...'.")
    text = sys.stdin.read() if words in ((), ("-",)) else " ".join(words)
    if not text.strip():
        raise click.UsageError("The message is empty.")
    return text


def _send(
    given: Given,
    content: str,
    *,
    session_id: str | None,
    new: bool,
    temporary: bool,
    paused: bool,
    space: str | None,
) -> Turn:
    client = given.client
    last = None if session_id or new or temporary else get_last_session(client)
    if last is not None:
        try:
            client.sessions.get(last)
        except NotFound:
            given.out.message("The last session does not exist any more; starting a new one.")
            last = None
    chosen = session_id or last
    if chosen is None:
        # Left out where it is not asked for: a server from before there was a pause refuses it.
        place = find_id(client, space)
        chosen = client.sessions.create(temporary=temporary, paused=paused or None, space=place).id
    if not temporary:
        note_last_session(client, chosen)
    return _print_reply(given, client.sessions.stream(chosen, content))


def _print_reply(given: Given, events: Iterator[TurnEvent]) -> Turn:
    """Print the pieces of a reply as they come; return the turn."""
    printed = ""
    try:
        for event in events:
            match event:
                case Delta(text=text) if not given.out.as_json:
                    given.out.text(text, end="")
                    printed = text or printed
                case Done(turn=turn):
                    return turn
    finally:
        if printed and not printed.endswith("\n"):
            given.out.text("")
    raise UnexpectedAnswer("The stream ended without a reply.")


def _show_turn(given: Given, turn: Turn, *, why: bool) -> None:
    out = given.out
    if out.as_json:
        out.data(turn)
        return
    for text in turn.metadata.remembered if turn.metadata else []:
        out.message(f"Remembered: {text}")
    if turn.paused_by:
        out.message(f"Remembering is paused ({turn.paused_by}): nothing new was remembered.")
    if not why:
        return
    if not turn.memories_used:
        out.message("No memory was recalled.")
        return
    columns = ("Score", "Keywords", "Meaning", "Kind", "Memory")
    rows = [
        (used.score, used.keyword_score, used.semantic_score, used.kind.replace("_", "-"), used.text)
        for used in turn.memories_used
    ]
    out.note_table(columns, rows, title="Recalled")


# Which session is continued: the last one of this machine with this server and end user


def get_last_session(client: Jiyi) -> str | None:
    """Return the ID of the session that was last used; None if there is none."""
    value = _read().get(_key(client))
    return value if isinstance(value, str) else None


def note_last_session(client: Jiyi, session_id: str) -> None:
    """Continue this session next time."""
    write_private(state_file(), json.dumps({**_read(), _key(client): session_id}, indent=2) + "\n")


def _key(client: Jiyi) -> str:
    return client.url if client.end_user is None else f"{client.url} {client.end_user}"


def _read() -> dict[str, Any]:
    try:
        data = json.loads(state_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
