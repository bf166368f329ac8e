"""``manage.py replay FOLDER [--user NAME]``: recorded conversations through the real turn."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from apps.accounts.models import User
from apps.chat.replay import (
    Answered,
    NotAnswered,
    Outcome,
    RecordedConversation,
    Skipped,
    read_conversations,
    replay_conversation,
)
from apps.core.beir import InvalidFolder

INTERRUPTED = 130
"""The exit code of a program that Ctrl-C ended."""


@dataclass
class Tally:
    """The results of one run's turns. `actions` counts what happened to proposed memories (L2)."""

    sessions: int = 0
    answered: int = 0
    skipped: int = 0
    failed: int = 0
    actions: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        match outcome:
            case Answered(started_session, actions):
                self.answered += 1
                self.sessions += started_session
                self.actions.update(actions)
            case NotAnswered(started_session):
                self.failed += 1
                self.sessions += started_session
            case Skipped():
                self.skipped += 1


@dataclass(frozen=True)
class Display:
    """Where progress goes: `begin` a conversation, `advance` by a message, `complain` about one."""

    begin: Callable[[str], None]
    advance: Callable[[], None]
    complain: Callable[[str], None]


class Command(BaseCommand):
    help = (
        "Send the user messages of a BEIR folder through real turns, in order. Only rows with the role user are sent; "
        "Jiyi writes the replies. Each user_id becomes the account FOLDER-USER_ID, which has no password, and each "
        "session_id a session with that name. Running the command again continues where it stopped and retries "
        "failed turns. Ctrl-C stops after the current turn; a second Ctrl-C stops immediately."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="folder with corpus.jsonl")
        parser.add_argument("--user", metavar="NAME", help="replay all conversations into this account")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        try:
            conversations = read_conversations(folder)
        except InvalidFolder as error:
            raise CommandError(str(error)) from error
        accounts = _get_accounts(folder, conversations, name=options["user"])
        tally = Tally()
        start = time.perf_counter()
        with self._show(total=sum(len(conversation.messages) for conversation in conversations)) as display:
            interrupted = asyncio.run(
                _replay(conversations, accounts=accounts, shared=bool(options["user"]), tally=tally, display=display)
            )
        self._report(tally, seconds=time.perf_counter() - start)
        if interrupted:
            raise CommandError("Stopped. Run the command again to continue.", returncode=INTERRUPTED)
        if tally.failed:
            raise CommandError(f"{tally.failed} turns failed. Run the command again to retry them.")

    @contextmanager
    def _show(self, *, total: int) -> Iterator[Display]:
        """A progress bar for people, a line per conversation for files and pipes."""
        console = Console(stderr=True)
        if not (console.is_terminal and self.stdout.isatty()):
            yield Display(begin=self.stdout.write, advance=lambda: None, complain=self.stderr.write)
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("", total=total)
            yield Display(
                begin=lambda title: progress.update(task, description=title),
                advance=lambda: progress.advance(task),
                complain=lambda text: console.print(text, style="red", markup=False, highlight=False),
            )

    def _report(self, tally: Tally, *, seconds: float) -> None:
        actions = tally.actions
        self.stdout.write(
            f"Messages: {tally.answered} answered in {tally.sessions} new sessions, {tally.skipped} answered before, "
            f"{tally.failed} failed.\n"
            f"Memories: {actions['created'] + actions['superseded']} new and active "
            f"({actions['superseded']} replaced an older one), {actions['pending']} new and pending, "
            f"{actions['refreshed']} mentioned again.\n"
            f"{tally.answered / seconds:.1f} turns/s."
        )


def _get_accounts(folder: Path, conversations: Sequence[RecordedConversation], *, name: str | None) -> dict[str, User]:
    """Return the account that each user of the folder is replayed into, made where there is none."""
    user_ids = list(dict.fromkeys(conversation.user_id for conversation in conversations))
    if name is not None:
        user = User.objects.filter(username=name).first()
        if user is None:
            raise CommandError(f"There is no user named {name!r}.")
        return dict.fromkeys(user_ids, user)
    names = {user_id: f"{folder.resolve().name}-{user_id}" for user_id in user_ids}
    for username in names.values():
        try:
            User._meta.get_field("username").clean(username, None)
        except ValidationError as error:
            raise CommandError(f"{username!r} is not a valid username: {' '.join(error.messages)}") from error
    with transaction.atomic():
        known = {user.username: user for user in User.objects.filter(username__in=names.values())}
        return {
            user_id: known.get(username) or User.objects.create_user(username) for user_id, username in names.items()
        }


async def _replay(
    conversations: Sequence[RecordedConversation],
    *,
    accounts: Mapping[str, User],
    shared: bool,
    tally: Tally,
    display: Display,
) -> bool:
    """Replay one conversation after the other; return whether Ctrl-C or TERM ended it early.

    `shared`: several people go into one account, so that the titles have to tell them apart.
    """
    stopping = _stop_on_signals()
    for conversation in conversations:
        title = f"{conversation.user_id} {conversation.session_id}" if shared else conversation.session_id
        display.begin(f"{conversation.user_id} {conversation.session_id}: {len(conversation.messages)} messages")
        turns = replay_conversation(user=accounts[conversation.user_id], conversation=conversation, title=title)
        async with aclosing(turns):
            async for message, outcome in turns:
                tally.add(outcome)
                display.advance()
                if isinstance(outcome, NotAnswered):
                    display.complain(f"{message.where}: {outcome.reason}")
                if stopping.is_set():
                    return True
    return False


def _stop_on_signals() -> asyncio.Event:
    """Return an event that the first Ctrl-C or TERM sets; the second has its usual effect."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        stopping.set()
        for number in signals:
            loop.remove_signal_handler(number)

    for number in signals:
        loop.add_signal_handler(number, stop)
    return stopping
