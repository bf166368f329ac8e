"""Reading sessions and messages. `user` comes first, and nothing of anybody else is ever returned."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable
from datetime import datetime

from django.db.models import Count, QuerySet

from apps.accounts.models import User
from apps.conversations.models import Attachment, Message, MessageStatus, Role, Session
from apps.conversations.types import Line, SaidRound, SentFile, Window
from apps.conversations.word_search import find_in_files, find_messages, find_titled_sessions
from apps.core.db import fetch_prepared
from apps.core.errors import NotFound

__all__ = [
    "count_said",
    "find_in_files",
    "find_messages",
    "find_titled_sessions",
    "get_message",
    "get_message_by_key",
    "get_session",
    "get_sessions_by_id",
    "get_shown_status",
    "get_window",
    "list_attachments",
    "list_messages",
    "list_messages_by_key",
    "list_sessions",
    "make_window",
    "read_rounds",
    "read_sent_files",
]

# Of the texts only as much as can go into a prompt.
SENT_FILES = """
SELECT attachment.id, name, left(text, %(chars)s), length(text)
FROM attachment JOIN conversation ON conversation.id = message_id
WHERE attachment.session_id = %(session)s AND attachment.user_id = %(user)s AND status <> 'replaced'
ORDER BY attachment.created_at DESC, attachment.id DESC
"""


def list_attachments(user: User, session_id: uuid.UUID) -> QuerySet[Attachment]:
    """The files of a session, oldest first. Raises `NotFound` without the session."""
    get_session(user, session_id)
    return Attachment.objects.filter(user=user, session=session_id).order_by("created_at", "id")


def read_sent_files(user: User, session_id: uuid.UUID, *, chars: int) -> list[SentFile]:
    """Return the files that were sent in a session and are part of it, newest first. One query.

    `chars`: of each text, its beginning.
    """
    rows = fetch_prepared(SENT_FILES, {"user": user.pk, "session": session_id, "chars": chars})
    return [SentFile(*row) for row in rows]


def list_sessions(user: User) -> QuerySet[Session]:
    """Sessions of the user, most recently active first."""
    return Session.objects.filter(user=user)


def get_session(user: User, session_id: uuid.UUID) -> Session:
    """Return the session, or raise `NotFound`."""
    session = Session.objects.filter(user=user, id=session_id).first()
    if session is None:
        raise NotFound("This session does not exist.")
    return session


def get_sessions_by_id(user: User, session_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, Session]:
    """Return those of these sessions that the user has."""
    return Session.objects.filter(user=user).in_bulk(session_ids)


def list_messages(user: User, session_id: uuid.UUID) -> QuerySet[Message]:
    """Messages of a session in the order in which they were said; `NotFound` without the session.

    What was edited or answered anew is left out.
    """
    return get_session(user, session_id).messages.exclude(status=MessageStatus.REPLACED).order_by("position")


def get_message(user: User, message_id: uuid.UUID) -> Message:
    """Return the message, or raise `NotFound`."""
    message = Message.objects.filter(user=user, id=message_id).first()
    if message is None:
        raise NotFound("This message does not exist.")
    return message


def get_message_by_key(user: User, session_id: uuid.UUID, idempotency_key: str) -> Message:
    """Return the message that was sent with this ``Idempotency-Key``, or raise `NotFound`."""
    message = Message.objects.filter(user=user, session_id=session_id, idempotency_key=idempotency_key).first()
    if message is None:
        raise NotFound("No message was sent with this key.")
    return message


def list_messages_by_key(user: User, idempotency_keys: Iterable[str]) -> QuerySet[Message]:
    """The user's messages, in whatever session, that were sent with one of these keys."""
    return Message.objects.filter(user=user, idempotency_key__in=list(idempotency_keys))


def get_shown_status(message: Message, *, now: datetime) -> str:
    """Return the status a reader should see: a pending message whose lease ran out has failed, swept or not (C6)."""
    if message.status == MessageStatus.PENDING and (message.lease_until is None or message.lease_until < now):
        return MessageStatus.FAILED
    return message.status


def get_window(user: User, session_id: uuid.UUID, *, limit: int, before: int | None = None) -> Window:
    """Return the newest whole rounds of at most `limit` messages in all, oldest first (C3), and the summary (S5).

    Only what was answered counts: a failed or still pending message is in nobody's window, nor is one that the summary
    covers. `before` leaves out everything from that position on: what a turn sees is what was said before its message.
    """
    answered = Message.objects.filter(
        user=user, session_id=session_id, status=MessageStatus.COMPLETE, summarized_by__isnull=True
    )
    fields = ("id", "role", "content", "reply_to_id")
    said = answered.filter(role__in=(Role.USER, Role.ASSISTANT))
    if before is not None:
        said = said.filter(position__lt=before)
    newest = list(said.order_by("-position").values_list(*fields)[:limit])
    summaries = answered.filter(role=Role.SUMMARY).order_by("-position").values_list(*fields)[:1]
    return make_window([*reversed(newest), *summaries], limit=limit)


def make_window(rows: Iterable[tuple[uuid.UUID, str, str, uuid.UUID | None]], *, limit: int) -> Window:
    """Return the window that these messages, oldest first, make; of several summaries the last counts.

    A reply whose question `limit` cut off is left out; one whose question is in the summary stands alone.
    """
    lines = [
        (Line(id=message_id, role=role, content=content), reply_to) for message_id, role, content, reply_to in rows
    ]
    said = [(line, reply_to) for line, reply_to in lines if line.role != Role.SUMMARY]
    rounds: list[list[Line]] = []
    seen: set[uuid.UUID] = set()
    for line, reply_to in said:
        if reply_to in seen:
            rounds[-1].append(line)
        elif reply_to is None or len(said) < limit:
            rounds.append([line])
        seen.add(line.id)
    summaries = [line for line, _reply_to in lines if line.role == Role.SUMMARY]
    return Window(rounds=tuple(map(tuple, rounds)), summary=summaries[-1] if summaries else None)


def count_said(*, user: User, session_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, int]:
    """Return how many messages of the user and the assistant each of these sessions has; none is left out as 0."""
    said = Message.objects.filter(user=user, session__in=session_ids, role__in=(Role.USER, Role.ASSISTANT))
    rows = said.order_by().values("session_id").annotate(n=Count("id"))
    return {row["session_id"]: row["n"] for row in rows}


def read_rounds(user: User, message_ids: Collection[uuid.UUID]) -> dict[str, SaidRound]:
    """Return what the person said in these messages, and the replies to it, by message ID. Two queries, or none."""
    if not message_ids:
        return {}
    said = Message.objects.filter(user=user, id__in=message_ids, role=Role.USER)
    replies = Message.objects.filter(user=user, reply_to__in=message_ids, status=MessageStatus.COMPLETE)
    answers = dict(replies.values_list("reply_to_id", "content"))
    return {
        str(key): SaidRound(content, answers.get(key, ""), create_time)
        for key, content, create_time in said.values_list("id", "content", "create_time")
    }
