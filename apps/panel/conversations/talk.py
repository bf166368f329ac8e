"""A conversation as its page shows it: a portion of its messages, with the results of each, and its current context."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count
from django.db.models.functions import Left

from apps.accounts.selectors import get_settings
from apps.chat.models import Turn
from apps.conversations.models import Message, MessageStatus, Session
from apps.conversations.sessions import get_shown_status
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.memory.selectors import WorkingMemorySnapshot, find_working_memory
from apps.panel.values import show_value
from apps.summaries.models import SessionSummary

MESSAGES_PER_PAGE = 50
LONG_CHARACTERS = 1_500
_SHOWN_CHARACTERS = 32_000
_MEMORY_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class LearnedMemory:
    """A memory that came from a message; `kind` "long_term" or "atomic"."""

    id: uuid.UUID
    kind: str
    text: str
    status: str


@dataclass(frozen=True, slots=True)
class Said:
    """One message: `turn` tells whether it can be looked into, `emotion` is that of the message's turn."""

    message: Message
    text: str
    status: str
    has_turn: bool
    emotion: Mapping[str, Any] | None
    learned: Sequence[LearnedMemory]
    covered: int

    @property
    def is_long(self) -> bool:
        """Whether it is too long to be read without scrolling in itself."""
        return len(self.text) > LONG_CHARACTERS

    @property
    def is_failed(self) -> bool:
        return self.status == MessageStatus.FAILED

    @property
    def is_replaced(self) -> bool:
        """Whether it was edited, or answered anew, by a client that manages its own history (T3)."""
        return self.status == MessageStatus.REPLACED

    @property
    def is_pending(self) -> bool:
        return self.status == MessageStatus.PENDING


@dataclass(frozen=True, slots=True)
class InMind:
    """The working memory of a live session."""

    snapshot: WorkingMemorySnapshot
    variables: Sequence[tuple[str, str]]
    forms: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Talk:
    """The page of a conversation."""

    page: Page[Message]
    said: Sequence[Said]
    in_mind: InMind | None
    summary: SessionSummary | None
    memories: int


def read_talk(session: Session, *, page: str | None, at: str | None, now: datetime) -> Talk:
    """Return a portion of a conversation: page number `page`, or the one with the message `at`, else the last."""
    rows = session.messages.order_by("position").annotate(text=Left("content", _SHOWN_CHARACTERS)).defer("content")
    paginator: Paginator[Message] = Paginator(rows, MESSAGES_PER_PAGE)
    number = page or _find_page(session, at) or paginator.num_pages
    shown = paginator.get_page(number)
    messages = list(shown.object_list)
    ids = [message.id for message in messages]
    turns = _find_turns(ids)
    learned = _find_learned(session, ids)
    covered = _count_covered(messages)
    return Talk(
        page=shown,
        said=[
            Said(
                message=message,
                text=getattr(message, "text", ""),
                status=get_shown_status(message, now=now),
                has_turn=message.id in turns,
                emotion=turns.get(message.id) if message.role == "user" else None,
                learned=learned.get(message.id, ()),
                covered=covered.get(message.id, 0),
            )
            for message in messages
        ],
        in_mind=_read_mind(session, now=now),
        summary=SessionSummary.objects.filter(session=session, deleted=False).first(),
        memories=LongTermMemory.objects.filter(session=session).count()
        + AtomicMemory.objects.filter(session=session).count(),
    )


def _find_page(session: Session, at: str | None) -> int | None:
    try:
        message_id = uuid.UUID(at or "")
    except ValueError:
        return None
    position = session.messages.filter(id=message_id).values_list("position", flat=True).first()
    if position is None:
        return None
    return session.messages.filter(position__lt=position).count() // MESSAGES_PER_PAGE + 1


def _find_turns(ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Any]:
    """The emotion of each turn, under both of its messages."""
    rows = Turn.objects.filter(assistant_message__in=ids).values_list("assistant_message", "user_message", "emotion")
    return {key: emotion for reply, message, emotion in rows for key in (reply, message) if key}


def _find_learned(session: Session, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, list[LearnedMemory]]:
    learned: defaultdict[uuid.UUID, list[LearnedMemory]] = defaultdict(list)
    mine: dict[str, Any] = {"user_id": session.user_id, "message__in": ids}
    long_term = LongTermMemory.objects.filter(**mine).order_by("created_at", "id")
    for key, message, text, status in long_term.values_list("id", "message", "key", "status"):
        learned[message].append(LearnedMemory(id=key, kind="long_term", text=text, status=status))
    atomic = AtomicMemory.objects.filter(**mine).annotate(text=Left("content", _MEMORY_CHARACTERS))
    for key, message, text, status in atomic.order_by("create_time", "id").values_list(
        "id", "message", "text", "status"
    ):
        learned[message].append(LearnedMemory(id=key, kind="atomic", text=text, status=status))
    return learned


def _count_covered(messages: Sequence[Message]) -> dict[uuid.UUID, int]:
    """How many messages each of the summaries among these covers."""
    summaries = [message.id for message in messages if message.role == "summary"]
    if not summaries:
        return {}
    covered = Message.objects.filter(summarized_by__in=summaries).order_by().values("summarized_by")
    counts = covered.annotate(count=Count("pk")).values_list("summarized_by", "count")
    return {summary: count for summary, count in counts if summary}


def _read_mind(session: Session, *, now: datetime) -> InMind | None:
    ttl_minutes = get_settings(session.user).working_ttl_minutes
    snapshot = find_working_memory(session.user, session.id, now=now, ttl_minutes=ttl_minutes)
    if snapshot is None:
        return None
    return InMind(
        snapshot=snapshot,
        variables=[(name, show_value(value)) for name, value in snapshot.variables.plain.items()],
        forms=[
            (title, [(name, show_value(field)) for name, field in form["fields"].items()])
            for title, form in snapshot.variables.forms.items()
        ],
        expires_at=snapshot.updated_at + timedelta(minutes=ttl_minutes),
    )
