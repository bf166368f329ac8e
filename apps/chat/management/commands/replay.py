"""Recorded conversations through the real turn, message by message; what was answered before is not sent again."""

from __future__ import annotations

import asyncio
import signal
import time
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from apps.accounts.models import User
from apps.chat.turn.open import open_message_turn, open_retry_turn
from apps.chat.turn.run import start_turn
from apps.chat.turn.types import OpenTurn
from apps.conversations.models import Message, MessageStatus, Role
from apps.conversations.sessions import create_session, get_shown_status, list_messages_by_key
from apps.conversations.types import MAX_CONTENT_CHARS, MAX_TITLE_CHARS
from apps.core.beir import CorpusRow, InvalidFolder, read_corpus
from apps.core.db import in_database
from apps.core.errors import JiyiError

MAX_KEY_CHARS = Message._meta.get_field("idempotency_key").max_length or 0
UNDER_WAY = "Another process is answering it, or did when it was stopped: run this again in a few minutes."


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """A message of a user. What was sent with `key` once is not sent again, however often a replay runs."""

    key: str
    content: str
    said_at: datetime
    where: str


@dataclass(frozen=True, slots=True)
class RecordedConversation:
    """What is to become a session; its messages are in order."""

    user_id: str
    session_id: str
    messages: tuple[RecordedMessage, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """The message was a turn now. `actions`: what happened to the memories the model proposed (L2)."""

    started_session: bool
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """The message was answered by an earlier run."""


@dataclass(frozen=True, slots=True)
class NotAnswered:
    """The turn failed, and `reason` says why. The next run takes the message up again."""

    started_session: bool
    reason: str


Outcome = Answered | Skipped | NotAnswered


def read_conversations(folder: Path) -> list[RecordedConversation]:
    """Return what the users of a BEIR folder said, each user's conversations in order of time.

    Rows of any other role are left out. Raises `InvalidFolder`.
    """
    grouped: dict[str, dict[str, list[RecordedMessage]]] = {}
    for row in read_corpus(folder):
        if row.role == Role.USER:
            message = _read_message(row, folder=folder)
            grouped.setdefault(row.user_id, {}).setdefault(row.session_id, []).append(message)
    if not grouped:
        raise InvalidFolder(f"{folder}: holds no messages of role user")
    return [
        RecordedConversation(user_id=user_id, session_id=session_id, messages=tuple(messages))
        for user_id, sessions in grouped.items()
        for session_id, messages in sorted(sessions.items(), key=lambda item: item[1][0].said_at)
    ]


def _read_message(row: CorpusRow, *, folder: Path) -> RecordedMessage:
    if len(row.text) > MAX_CONTENT_CHARS:
        raise InvalidFolder(f"{row.where}: text has {len(row.text)} characters; {MAX_CONTENT_CHARS} are allowed")
    # With the folder's name, as two folders may use the same IDs and be replayed into the same account.
    key = f"{folder.resolve().name}/{row.id}"
    if len(key) > MAX_KEY_CHARS:
        raise InvalidFolder(f"{row.where}: _id and the folder's name have more than {MAX_KEY_CHARS - 1} characters")
    return RecordedMessage(key=key, content=row.text, said_at=row.timestamp, where=row.where)


async def replay_conversation(
    *, user: User, conversation: RecordedConversation, title: str
) -> AsyncGenerator[tuple[RecordedMessage, Outcome], None]:
    """Send each message that was not answered yet as a turn, one after the other; yield the outcome of each.

    A message that failed in an earlier run is taken up where it stands. One that fails now does not keep the next from
    being sent. Whoever stops reading stops the replay between two turns; the session is as a user's who left it there.
    """
    earlier = await in_database(_find_sent, user, conversation.messages)
    session_id = next((message.session_id for message in earlier.values()), None)
    for message in conversation.messages:
        opening: Callable[[], OpenTurn]
        sent = earlier.get(message.key)
        if sent is None:
            opening = partial(_open_turn, user=user, session_id=session_id, title=title, message=message)
        elif sent.status == MessageStatus.COMPLETE:
            yield message, Skipped()
            continue
        elif get_shown_status(sent, now=timezone.now()) == MessageStatus.PENDING:
            yield message, NotAnswered(started_session=False, reason=UNDER_WAY)
            continue
        else:
            opening = partial(open_retry_turn, user=user, message_id=sent.id, now=timezone.now())
        run = start_turn(opening)
        opened = await run.opened()
        started_session = session_id is None
        session_id = opened.session_id
        try:
            result = await run.result()
        except JiyiError as error:
            yield message, NotAnswered(started_session=started_session, reason=error.message)
        else:
            actions = tuple(str(update["action"]) for update in result["memory_updates"])
            yield message, Answered(started_session=started_session, actions=actions)


def _find_sent(user: User, messages: Iterable[RecordedMessage]) -> dict[str, Message]:
    """Return the messages that earlier runs sent, by key."""
    found = list_messages_by_key(user, [message.key for message in messages])
    return {message.idempotency_key: message for message in found if message.idempotency_key is not None}


@transaction.atomic
def _open_turn(*, user: User, session_id: uuid.UUID | None, title: str, message: RecordedMessage) -> OpenTurn:
    """Open a turn; the first one of a conversation makes its session with it, so that none is ever left empty."""
    if session_id is None:
        session_id = create_session(user=user, title=title[:MAX_TITLE_CHARS]).id
    return open_message_turn(
        user=user,
        session_id=session_id,
        content=message.content,
        idempotency_key=message.key,
        now=timezone.now(),
        said_at=message.said_at,
    )


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
                _replay_all(
                    conversations, accounts=accounts, shared=bool(options["user"]), tally=tally, display=display
                )
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


async def _replay_all(
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
