"""Importing a past conversation: its messages get no reply here, only background work."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import transaction

from apps.accounts.models import User
from apps.accounts.services.people import keep_account
from apps.conversations.attachments import MAX_FILE_NAME_CHARS
from apps.conversations.models import Attachment, Message, MessageStatus, Recording, Role, Session, Work
from apps.conversations.pausing import find_pause
from apps.conversations.queue import add_work
from apps.conversations.sessions import delete_sessions, lock_session, make_title
from apps.conversations.types import MAX_ATTACHMENT_CHARS, ImportedConversation, RecordedMessage
from apps.core.errors import Conflict


@transaction.atomic
def record_turns(
    *,
    user: User,
    session_id: uuid.UUID,
    messages: Sequence[RecordedMessage],
    idempotency_key: str | None,
    now: datetime,
    active_at: datetime | None = None,
    learns: bool = True,
    by_hand: bool = False,
) -> int:
    """Store these messages at the end of the session, in their order, with all background work on them (C9).

    An assistant's message right after one of the user is the reply to it. A message without a time was said `now`.
    `active_at`: when the session was active with them, `now` where it is not given. A temporary session stores and
    leaves no work (C7), and so does one with `learns` False. `by_hand`: the person imports it themself, so that it is
    learned from also while remembering is paused (D5). Returns how many messages are stored; the same key with
    the same messages again returns the same and stores nothing. Raises `NotFound` without the session, `Conflict` when
    the key was used for other messages.
    """
    session = lock_session(user=user, session_id=session_id)
    key = idempotency_key
    if key is not None and not _keep_key(session, key=key, messages=messages, now=now):
        return len(messages)
    question = _find_open_question(session)
    paused_by = "" if by_hand else find_pause(user, session=session)
    stored: list[Message] = []
    for position, message in enumerate(messages, start=session.last_position + 1):
        answers = question if message.role == Role.ASSISTANT else None
        row = Message(
            id=message.id or uuid.uuid4(),
            session=session,
            user=user,
            role=message.role,
            content=message.content,
            create_time=message.create_time or now,
            position=position,
            reply_to=answers,
            recallable=learns,
            paused_by=paused_by,
        )
        question = row if message.role == Role.USER else None
        stored.append(row)
    Message.objects.bulk_create(stored)
    _attach(stored, messages)
    said = [row for row in stored if row.role == Role.USER]
    session.title = session.title or (make_title(said[0].content) if said else "")
    session.last_position += len(stored)
    session.last_active_at = max(session.last_active_at, active_at or now)
    session.save(update_fields=["title", "last_position", "last_active_at"])
    if learns and not session.temporary:
        add_work(messages=stored, kinds=[Work.Kind.EMBED], now=now, recorded=True)
        add_work(messages=stored[-1:], kinds=[Work.Kind.SUMMARIZE], now=now, recorded=True)
        add_work(messages=said, kinds=[Work.Kind.EXTRACT], now=now, recorded=True)
    return len(stored)


@transaction.atomic
def import_conversation(
    *,
    user: User,
    session_id: uuid.UUID,
    title: str,
    started_at: datetime,
    messages: Sequence[RecordedMessage],
    now: datetime,
    learns: bool = True,
) -> ImportedConversation:
    """Record a past conversation under the session of this ID, with its times (C9).

    The session is made if it is not there; with it, only messages that it does not have yet are added, by their IDs.
    `learns`: False keeps it for reading only: it is not learned from, summarised or found by its meaning.
    Raises `NotFound` where somebody else has a session with this ID.
    """
    keep_account(user)
    values = {
        "user": user,
        "space_id": user.sight.space,
        "title": title,
        "created_at": started_at,
        "last_active_at": started_at,
    }
    _session, created = Session.objects.get_or_create(id=session_id, defaults=values)
    session = lock_session(user=user, session_id=session_id)
    ids = [message.id for message in messages if message.id]
    known = set(Message.objects.filter(session=session, id__in=ids).values_list("id", flat=True))
    new = [message for message in messages if message.id not in known]
    if new:
        last = max((message.create_time or started_at for message in new), default=started_at)
        record_turns(
            user=user,
            session_id=session_id,
            messages=new,
            idempotency_key=None,
            now=now,
            active_at=min(last, now),
            learns=learns,
            by_hand=True,
        )
    return ImportedConversation(created=created, stored=len(new))


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


def _attach(stored: Sequence[Message], messages: Sequence[RecordedMessage]) -> None:
    """Keep the files that were sent with recorded messages; a long text becomes several."""
    Attachment.objects.bulk_create(
        Attachment(
            id=uuid.uuid5(row.id, f"{number} {start}"),
            user_id=row.user_id,
            session_id=row.session_id,
            message=row,
            name=name[-MAX_FILE_NAME_CHARS:],
            text=text[start : start + MAX_ATTACHMENT_CHARS],
            created_at=row.create_time,
        )
        for row, message in zip(stored, messages, strict=True)
        for number, (name, text) in enumerate(message.files)
        for start in range(0, len(text), MAX_ATTACHMENT_CHARS)
    )


def _find_open_question(session: Session) -> Message | None:
    """The last message of the session if it is one of the user that has no reply: one recorded right before."""
    last = session.messages.filter(position=session.last_position)
    return last.filter(role=Role.USER, status=MessageStatus.COMPLETE).first()


def withdraw_sessions(*, user: User, session_ids: Collection[uuid.UUID]) -> int:
    """Delete these sessions of the person, with what is left to do on them; returns how many there were."""
    return delete_sessions(Session.objects.filter(user=user, id__in=session_ids))


def drop_work(*, user: User, session_ids: Collection[uuid.UUID]) -> int:
    """Give up what is left to do on these sessions; a run that is at it writes nothing. Returns how many rows."""
    return Work.objects.filter(user=user, session__in=session_ids).delete()[0]


def embed_again(*, user: User, message_ids: Collection[uuid.UUID], now: datetime) -> None:
    """Leave the work of making the vectors of these messages, which were restored; those of temporary sessions need
    none (C7).
    """
    kept = Message.objects.filter(user=user, status=MessageStatus.COMPLETE, session__temporary=False)
    ids = list(message_ids)
    for start in range(0, len(ids), 1_000):
        messages = list(kept.filter(id__in=ids[start : start + 1_000]).order_by("session", "position"))
        add_work(messages=messages, kinds=[Work.Kind.EMBED], now=now, recorded=True)
