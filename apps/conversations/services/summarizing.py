"""What a conversation's summaries cover (S3–S5): finding what is to be summarised, storing the summary."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import starmap

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.conversations.models import Message, MessageStatus, Role, Work
from apps.conversations.queue.services import add_work
from apps.conversations.services import lock_session
from apps.conversations.types import Line, Round
from apps.core.errors import Conflict
from apps.core.text.client_blocks import cut_client_blocks

KEPT_MESSAGES = 4
"""The newest messages, which no summary covers (S3)."""

MAX_COVERED_ROUNDS = 100
"""Most rounds read for one summary; a recording of more (C9) takes several, one after the other."""


@dataclass(frozen=True, slots=True)
class Unsummarized:
    """What the next summary of a conversation is to cover: the summary before it and whole rounds, oldest first.

    `more`: there are further ones after them.
    """

    summary: Line | None
    rounds: tuple[Round, ...]
    more: bool = False


def get_conversation_summary(user: User, session_id: uuid.UUID) -> Line | None:
    """Return the summary that stands for the older part of the conversation (S5), or None if there is none yet."""
    newest = _list_uncovered(user, session_id).filter(role=Role.SUMMARY).order_by("-position").first()
    return Line(id=newest.id, role=newest.role, content=newest.content) if newest else None


def find_unsummarized(user: User, session_id: uuid.UUID, *, threshold: int) -> Unsummarized | None:
    """Return what is to be summarised, or None while no more than `threshold` messages are without a summary (S3).

    All but the newest `KEPT_MESSAGES`, and a message is kept or covered with its reply: the window shows no reply by
    itself.
    """
    said = _list_uncovered(user, session_id).filter(role__in=(Role.USER, Role.ASSISTANT)).order_by("position")
    rounds = _group(said.values_list("id", "reply_to_id"))
    if sum(map(len, rounds)) <= threshold:
        return None
    kept = 0
    while rounds and kept < KEPT_MESSAGES:
        kept += len(rounds.pop())
    if not rounds:
        return None
    chosen = rounds[:MAX_COVERED_ROUNDS]
    rows = said.filter(id__in=[message_id for ids in chosen for message_id in ids])
    lines = {line.id: line for line in starmap(read_line, rows.values_list("id", "role", "content"))}
    return Unsummarized(
        summary=get_conversation_summary(user, session_id),
        rounds=tuple(tuple(lines[message_id] for message_id in ids) for ids in chosen if lines.keys() >= set(ids)),
        more=len(chosen) < len(rounds),
    )


def _group(rows: Iterable[tuple[uuid.UUID, uuid.UUID | None]]) -> list[list[uuid.UUID]]:
    """Return IDs in order, each reply with what it answers; a reply whose message is not there stands alone."""
    rounds: dict[uuid.UUID, list[uuid.UUID]] = {}
    for message_id, reply_to in rows:
        if reply_to in rounds:
            rounds[reply_to].append(message_id)
        else:
            rounds[message_id] = [message_id]
    return list(rounds.values())


def read_line(message_id: uuid.UUID, role: str, content: str) -> Line:
    """Return a message as summaries read it: of a person's without what clients put around it."""
    return Line(message_id, role, cut_client_blocks(content) if role == Role.USER else content)


def list_said_after(user: User, session_id: uuid.UUID, *, position: int) -> QuerySet[Message]:
    """The answered messages of the session after `position` and their replies, in order."""
    said = Message.objects.filter(user=user, session_id=session_id, status=MessageStatus.COMPLETE)
    return said.filter(role__in=(Role.USER, Role.ASSISTANT), position__gt=position).order_by("position")


@transaction.atomic
def record_summary(
    *,
    user: User,
    session_id: uuid.UUID,
    content: str,
    covers: Sequence[uuid.UUID],
    replaces: uuid.UUID | None,
    now: datetime,
    summarize_on: bool = False,
) -> Message:
    """Store a summary at the end of the session, to be embedded, and mark what it covers with its ID (S4).

    `covers`: the messages. `replaces`: the summary before it, whose content the new one takes in. `summarize_on`: there
    is more to be summarised. Raises `NotFound` without the session, and `Conflict` when one of the messages is gone or
    was covered by another summary meanwhile; then nothing is stored.
    """
    session = lock_session(user=user, session_id=session_id)
    session.last_position += 1
    session.save(update_fields=["last_position"])
    current = get_conversation_summary(user, session_id)
    summary = Message.objects.create(
        session=session,
        user=user,
        role=Role.SUMMARY,
        content=content,
        create_time=now,
        position=session.last_position,
    )
    covered = {*covers, *([replaces] if replaces else [])}
    marked = _list_uncovered(user, session_id).filter(id__in=covered).update(summarized_by=summary)
    if marked != len(covered) or (current and current.id) != replaces:
        raise Conflict("The conversation changed while it was being summarised.")
    kinds = (Work.Kind.EMBED, Work.Kind.SUMMARIZE) if summarize_on else (Work.Kind.EMBED,)
    add_work(messages=[summary], kinds=kinds, now=now)
    return summary


def list_conversation_summaries(user: User) -> QuerySet[Message]:
    """Return the summaries of all the person's conversations, covered ones too, newest first."""
    return Message.objects.filter(user=user, role=Role.SUMMARY).order_by("-create_time", "-id")


def rewrite_summary(summary: Message, *, content: str, now: datetime) -> None:
    """Give a summary another text, to be embedded anew; a run that embeds the old one cannot store it any more.

    In the caller's transaction, which holds the session. Vectors of the old text are the caller's to delete.
    """
    Work.objects.filter(message=summary, kind=Work.Kind.EMBED).delete()
    summary.content = content
    summary.save(update_fields=["content"])
    add_work(messages=[summary], kinds=(Work.Kind.EMBED,), now=now)


def _list_uncovered(user: User, session_id: uuid.UUID) -> QuerySet[Message]:
    return Message.objects.filter(
        user=user, session_id=session_id, status=MessageStatus.COMPLETE, summarized_by__isnull=True
    )
