"""Entries as a model proposes them, recorded as production does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from apps.accounts.models import User
from apps.accounts.types import REMEMBER_ALL, SensitiveHandling
from apps.conversations.models import Message
from apps.memory.entries import record_entries
from apps.memory.keyed import MemoryUpdate, ProposedEntry

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)


def entry(key: str, value: Any, *, category: str = "fact", **rest: Any) -> ProposedEntry:
    """An entry of a model's answer; the user stated it unless said."""
    return ProposedEntry(category=category, key=key, value=value, **rest)


def record(
    user: User,
    *entries: ProposedEntry,
    at: datetime = NOW,
    now: datetime | None = None,
    text: str = "",
    message: Message | None = None,
    session_id: UUID | None = None,
    threshold: float = 0.7,
    sensitive: SensitiveHandling = REMEMBER_ALL,
) -> list[MemoryUpdate]:
    """Record what a message proposes that was said `at` then; without `message` nobody knows where."""
    return record_entries(
        user=user,
        entries=entries,
        session_id=message.session_id if message else session_id,
        message_id=message.id if message else None,
        said_at=message.create_time if message else at,
        message_text=message.content if message else text,
        auto_accept_confidence=threshold,
        sensitive=sensitive,
        now=now or at,
    )


def propose(user: User, key: str, value: Any, *, mode: str = "replace", confidence: float = 0.4) -> list[UUID]:
    """Record an inferred entry, by default too uncertain to be accepted by itself; the IDs of what it did."""
    proposed = entry(key, value, source="inferred", confidence=confidence, mode=mode)
    return [update.id for update in record(user, proposed)]
