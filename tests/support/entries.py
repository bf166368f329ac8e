"""Entries as a model proposes them, recorded as production does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from apps.accounts.models import User
from apps.memory.entries import record_entries
from apps.memory.keyed import ProposedEntry

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)


def propose(user: User, key: str, value: Any, *, mode: str = "replace", confidence: float = 0.4) -> list[UUID]:
    """Record an inferred entry, by default too uncertain to be accepted by itself; the IDs of what it did."""
    entry = ProposedEntry(category="fact", key=key, value=value, source="inferred", confidence=confidence, mode=mode)
    updates = record_entries(
        user=user,
        entries=[entry],
        session_id=None,
        message_id=None,
        said_at=NOW,
        message_text="",
        auto_accept_confidence=0.7,
        now=NOW,
    )
    return [update.id for update in updates]
