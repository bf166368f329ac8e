"""Recorded conversations through the real turn, message by message; what was answered before is not sent again."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.chat.services import OpenTurn, open_message_turn, open_retry_turn, start_turn
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
