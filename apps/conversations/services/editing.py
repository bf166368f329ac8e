"""Saying a message differently: it and all that came after give way, and can be brought back."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.conversations.models import Message, MessageStatus, Role, Session, Work
from apps.conversations.queue.services import add_work
from apps.conversations.selectors import get_message, get_shown_status
from apps.conversations.services import lock_session, make_title
from apps.core.errors import Conflict


@transaction.atomic
def replace_from(*, user: User, message_id: uuid.UUID, now: datetime) -> tuple[Session, list[uuid.UUID]]:
    """Have a user's message and everything after it give way; return the session and what gave way.

    Nothing is deleted. Raises `NotFound` without the message; `Conflict` for one that is no message of the user, has
    given way already, or while a reply is under way.
    """
    message = get_message(user, message_id)
    session = lock_session(user=user, session_id=message.session_id)
    shown = Message.objects.filter(session=session).exclude(status=MessageStatus.REPLACED)
    fields = {"message_id": str(message_id)}
    if message.role != Role.USER or not shown.filter(id=message_id).exists():
        raise Conflict("Only a message of the user that is part of the conversation can be edited.", fields=fields)
    later = list(shown.filter(position__gte=message.position))
    if any(get_shown_status(row, now=now) == MessageStatus.PENDING for row in later):
        raise Conflict("A reply is being written. Stop it first.", fields=fields)
    ids = [row.id for row in later]
    _give_way(Message.objects.filter(id__in=ids))
    if session.title == make_title(message.content):
        _rename(session, "")  # it takes its title from what stands there next
    return session, ids


@transaction.atomic
def bring_back(*, user: User, message_id: uuid.UUID, replaced: Collection[uuid.UUID], now: datetime) -> list[uuid.UUID]:
    """Have a message and everything after it give way to what stood there before (`replaced`); return what gave way.

    Raises as `replace_from`.
    """
    session, ids = replace_from(user=user, message_id=message_id, now=now)
    # Summaries are made again: what they covered has been in the conversation itself since.
    rows = Message.objects.filter(session=session, id__in=replaced, status=MessageStatus.REPLACED)
    rows = rows.exclude(role=Role.SUMMARY)
    unanswered = rows.filter(role=Role.USER).exclude(id__in=rows.filter(reply_to__in=replaced).values("reply_to"))
    failed = list(unanswered.values_list("id", flat=True))
    back = list(rows.exclude(id__in=failed).values_list("id", flat=True))
    Message.objects.filter(id__in=failed).update(status=MessageStatus.FAILED)
    answered = Message.objects.filter(id__in=back)
    answered.update(status=MessageStatus.COMPLETE)
    first = Message.objects.filter(id__in=[*failed, *back], role=Role.USER).order_by("position").first()
    if first and not session.title:
        _rename(session, make_title(first.content))
    if not session.temporary:
        add_work(messages=answered, kinds=[Work.Kind.EMBED], now=now)
    return ids


def _give_way(messages: QuerySet[Message]) -> None:
    ids = list(messages.values_list("id", flat=True))
    Message.objects.filter(summarized_by__in=ids).update(summarized_by=None)
    Work.objects.filter(message__in=ids).delete()
    Message.objects.filter(id__in=ids).update(status=MessageStatus.REPLACED)


def _rename(session: Session, title: str) -> None:
    session.title = title
    session.save(update_fields=["title"])
