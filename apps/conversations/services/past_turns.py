"""Importing a past conversation: its messages get no reply here, only background work."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from apps.accounts.models import User
from apps.conversations.models import Message, MessageStatus, Recording, Role, Session, Work
from apps.conversations.queue.services import add_work
from apps.conversations.services import lock_session, make_title
from apps.conversations.types import RecordedMessage
from apps.core.errors import Conflict


@transaction.atomic
def record_turns(
    *,
    user: User,
    session_id: uuid.UUID,
    messages: Sequence[RecordedMessage],
    idempotency_key: str | None,
    now: datetime,
) -> int:
    """Store these messages at the end of the session, in their order, with all background work on them (C9).

    An assistant's message right after one of the user is the reply to it. A message without a time was said `now`.
    A temporary session stores and leaves no work (C7). Returns how many messages are stored; the same key with the
    same messages again returns the same and stores nothing. Raises `NotFound` without the session, `Conflict` when the
    key was used for other messages.
    """
    session = lock_session(user=user, session_id=session_id)
    key = idempotency_key
    if key is not None and not _keep_key(session, key=key, messages=messages, now=now):
        return len(messages)
    question = _find_open_question(session)
    stored: list[Message] = []
    for position, message in enumerate(messages, start=session.last_position + 1):
        answers = question if message.role == Role.ASSISTANT else None
        row = Message(
            session=session,
            user=user,
            role=message.role,
            content=message.content,
            create_time=message.create_time or now,
            position=position,
            reply_to=answers,
        )
        question = row if message.role == Role.USER else None
        stored.append(row)
    Message.objects.bulk_create(stored)
    said = [row for row in stored if row.role == Role.USER]
    session.title = session.title or (make_title(said[0].content) if said else "")
    session.last_position += len(stored)
    session.last_active_at = max(session.last_active_at, now)
    session.save(update_fields=["title", "last_position", "last_active_at"])
    if not session.temporary:
        add_work(messages=stored, kinds=[Work.Kind.EMBED], now=now, recorded=True)
        add_work(messages=stored[-1:], kinds=[Work.Kind.SUMMARIZE], now=now, recorded=True)
        add_work(messages=said, kinds=[Work.Kind.EXTRACT], now=now, recorded=True)
    return len(stored)


def _keep_key(session: Session, *, key: str, messages: Sequence[RecordedMessage], now: datetime) -> bool:
    """Note what is recorded under the key; False if this very thing was recorded under it before."""
    said = [(message.role, message.content, str(message.create_time or "")) for message in messages]
    digest = hashlib.sha256(json.dumps(said).encode()).digest()
    earlier, is_new = Recording.objects.get_or_create(
        session=session,
        idempotency_key=key,
        defaults={"user": session.user, "digest": digest, "created_at": now},
    )
    if bytes(earlier.digest) != digest:
        raise Conflict("This Idempotency-Key was used for other messages.")
    return is_new


def _find_open_question(session: Session) -> Message | None:
    """The last message of the session if it is one of the user that has no reply: one recorded right before."""
    last = session.messages.filter(position=session.last_position)
    return last.filter(role=Role.USER, status=MessageStatus.COMPLETE).first()
