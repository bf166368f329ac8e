"""Editing a message and sending it again, and undoing that."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.chat.models import Edit
from apps.chat.turn.opening import open_message_turn
from apps.chat.turn.types import OpenTurn
from apps.conversations.attachments import move_attachments
from apps.conversations.sessions import bring_back, get_session, replace_from
from apps.core.errors import NotFound
from apps.memory.services import forget_embeddings, restore_retracted, retract_learned


@dataclass(frozen=True, slots=True)
class Restored:
    """What undoing an edit brought back: messages, and changes of memories."""

    messages: int
    memories: int


def open_edited_turn(*, user: User, message_id: uuid.UUID, content: str, now: datetime) -> OpenTurn:
    """Store `content` in place of a message, and prepare its reply.

    The message and all that came after it give way, and what they alone taught is taken back; both are kept for
    `undo_edit`. Raises `NotFound` without the message, `Conflict` where it cannot be edited; then nothing is changed.
    """
    with transaction.atomic():
        session, replaced = replace_from(user=user, message_id=message_id, now=now)
        forget_embeddings(message_ids=replaced)
        retractions = retract_learned(user=user, message_ids=replaced, now=now)
        turn = open_message_turn(
            user=user, session_id=session.id, content=content, idempotency_key=None, now=now, instead_of=message_id
        )
        assert turn.round is not None, "a message was sent"
        Edit.objects.create(
            message_id=turn.round.message_id,
            session=session,
            user=user,
            replaced=replaced,
            retractions=retractions,
            created_at=now,
        )
    return turn


@transaction.atomic
def undo_edit(*, user: User, message_id: uuid.UUID, now: datetime) -> Restored:
    """Bring back what stood in the place of an edited message, and what it had taught.

    What has been said since the edit gives way, and what that taught is taken back. Raises `NotFound` where the message
    is no edited one, `Conflict` while a reply is under way.
    """
    edit = Edit.objects.filter(user=user, message=message_id).first()
    if edit is None:
        raise NotFound("This message was not edited.")
    replaced = bring_back(user=user, message_id=message_id, replaced=edit.replaced, now=now)
    forget_embeddings(message_ids=replaced)
    retract_learned(user=user, message_ids=replaced, now=now)
    move_attachments(user=user, before=[message_id], after=edit.replaced[0])
    restored = restore_retracted(user=user, operations=edit.retractions, now=now)
    edit.delete()
    return Restored(messages=len(edit.replaced), memories=restored)


def list_edits(user: User, session_id: uuid.UUID) -> QuerySet[Edit]:
    """The edits of a session whose undoing can be offered, newest first. Raises `NotFound` without the session."""
    get_session(user, session_id)
    return Edit.objects.filter(user=user, session=session_id, message__status__in=["complete", "failed"])
