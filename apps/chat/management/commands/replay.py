"""``manage.py replay FOLDER [--user NAME]``: send recorded conversations through the real turn."""

from __future__ import annotations

import asyncio
import signal
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
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
from apps.conversations.sessions import create_session, get_shown_status
from apps.conversations.types import MAX_CONTENT_CHARS, MAX_TITLE_CHARS
from apps.core.beir import CorpusRow, InvalidFolder, read_corpus
from apps.core.db import in_database
from apps.core.errors import JiyiError

# The exit code of a program that Ctrl-C ended.
INTERRUPTED = 130
MAX_KEY_CHARS = Message._meta.get_field("idempotency_key").max_length or 0
UNDER_WAY = "Another process is answering it, or did when it was stopped: run this again in a few minutes."


@dataclass(frozen=True, slots=True)
class RecordedConversation:
    """The messages of one user in one session, in order, by their idempotency keys."""

    user_id: str
    session_id: str
    messages: dict[str, CorpusRow]


def read_conversations(folder: Path) -> list[RecordedConversation]:
    """Return what the users of a BEIR folder said, each user's conversations in order of time.

    Rows of other roles are left out. Raises `InvalidFolder`.
    """
    grouped: dict[str, dict[str, dict[str, CorpusRow]]] = defaultdict(lambda: defaultdict(dict))
    for row in read_corpus(folder):
        if row.role != Role.USER:
            continue
        if len(row.text) > MAX_CONTENT_CHARS:
            raise InvalidFolder(f"{row.where}: text has {len(row.text)} characters; {MAX_CONTENT_CHARS} are allowed")
        # With the folder's name, as two folders may use the same IDs and be replayed into the same account.
        key = f"{folder.resolve().name}/{row.id}"
        if len(key) > MAX_KEY_CHARS:
            raise InvalidFolder(f"{row.where}: _id and the folder's name have more than {MAX_KEY_CHARS - 1} characters")
        grouped[row.user_id][row.session_id][key] = row
    if not grouped:
        raise InvalidFolder(f"{folder}: holds no messages of role user")
    return [
        RecordedConversation(user_id, session_id, messages)
        for user_id, sessions in grouped.items()
        for session_id, messages in sorted(sessions.items(), key=lambda item: next(iter(item[1].values())).timestamp)
    ]


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
        self.counts: Counter[str] = Counter()
        start = time.perf_counter()
        interrupted = asyncio.run(self._replay(conversations, accounts=accounts, shared=bool(options["user"])))
        self._report(seconds=time.perf_counter() - start)
        if interrupted:
            raise CommandError("Stopped. Run the command again to continue.", returncode=INTERRUPTED)
        if failed := self.counts["failed"]:
            raise CommandError(f"{failed} turns failed. Run the command again to retry them.")

    async def _replay(
        self, conversations: Sequence[RecordedConversation], *, accounts: dict[str, User], shared: bool
    ) -> bool:
        """Replay one conversation after the other; return whether Ctrl-C or TERM ended it early.

        `shared`: several people go into one account, so that the titles have to tell them apart.
        """
        stopping = _stop_on_signals()
        console = Console(stderr=True)
        shown = console.is_terminal and self.stdout.isatty()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, disable=not shown) as progress:
            task = progress.add_task("", total=sum(len(conversation.messages) for conversation in conversations))
            for conversation in conversations:
                name = f"{conversation.user_id} {conversation.session_id}"
                title = name if shared else conversation.session_id
                progress.update(task, description=name)
                if not shown:
                    self.stdout.write(f"{name}: {len(conversation.messages)} messages")
                user = accounts[conversation.user_id]
                earlier = await in_database(_find_sent, user, conversation.messages)
                session_id = next((message.session_id for message in earlier.values()), None)
                for key, row in conversation.messages.items():
                    session_id = await self._send(
                        user, row, key=key, sent=earlier.get(key), session_id=session_id, title=title
                    )
                    progress.advance(task)
                    if stopping.is_set():
                        return True
        return False

    async def _send(
        self, user: User, row: CorpusRow, *, key: str, sent: Message | None, session_id: uuid.UUID | None, title: str
    ) -> uuid.UUID | None:
        """Send a message as a turn, or take up one that failed in an earlier run (`sent`); return its session.

        A message that fails does not keep the next from being sent.
        """
        opening: Callable[[], OpenTurn]
        if sent is None:
            opening = partial(_open_turn, user=user, session_id=session_id, title=title, row=row, key=key)
        elif sent.status == MessageStatus.COMPLETE:
            self.counts["skipped"] += 1
            return session_id
        elif get_shown_status(sent, now=timezone.now()) == MessageStatus.PENDING:
            self._complain(row, UNDER_WAY)
            return session_id
        else:
            opening = partial(open_retry_turn, user=user, message_id=sent.id, now=timezone.now())
        run = start_turn(opening)
        opened = await run.opened()
        self.counts["sessions"] += session_id is None
        try:
            result = await run.result()
        except JiyiError as error:
            self._complain(row, error.message)
        else:
            self.counts["answered"] += 1
            self.counts.update(str(update["action"]) for update in result["memory_updates"])
        return opened.session_id

    def _complain(self, row: CorpusRow, reason: str) -> None:
        self.counts["failed"] += 1
        self.stderr.write(f"{row.where}: {reason}")

    def _report(self, *, seconds: float) -> None:
        counts = self.counts
        self.stdout.write(
            f"Messages: {counts['answered']} answered in {counts['sessions']} new sessions, {counts['skipped']} "
            f"answered before, {counts['failed']} failed.\n"
            f"Memories: {counts['created'] + counts['superseded']} new and active "
            f"({counts['superseded']} replaced an older one), {counts['pending']} new and pending, "
            f"{counts['refreshed']} mentioned again.\n"
            f"{counts['answered'] / seconds:.1f} turns/s."
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


def _find_sent(user: User, keys: Iterable[str]) -> dict[str, Message]:
    """Return the messages that earlier runs sent, by key."""
    found = Message.objects.filter(user=user, idempotency_key__in=list(keys))
    return {message.idempotency_key: message for message in found if message.idempotency_key is not None}


@transaction.atomic
def _open_turn(*, user: User, session_id: uuid.UUID | None, title: str, row: CorpusRow, key: str) -> OpenTurn:
    """Open a turn; the first one of a conversation makes its session with it, so that none is ever left empty."""
    if session_id is None:
        session_id = create_session(user=user, title=title[:MAX_TITLE_CHARS]).id
    return open_message_turn(
        user=user,
        session_id=session_id,
        content=row.text,
        idempotency_key=key,
        now=timezone.now(),
        said_at=row.timestamp,
    )


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
