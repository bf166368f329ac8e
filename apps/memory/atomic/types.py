"""Plain values that go into atomic memory. No Django."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class AtomicDraft:
    """An atomic memory to be stored (A1). `timestamp`: when its turn was, now if None.

    `session_id` and `message_id`, where given, are known to be the person's own.
    """

    content: str
    tags: Sequence[str] = ()
    timestamp: datetime | None = None
    event_start: datetime | None = None
    event_end: datetime | None = None
    session_id: UUID | None = None
    message_id: UUID | None = None
    status: str = "active"
