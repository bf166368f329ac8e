"""Plain values that go into atomic memory. No Django."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.memory.atomic.compare import Relation


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedMemory:
    """What a model took from a message of the user, said at `said_at`.

    `relation`, `target`: what the model takes it to be to a memory it was shown; counts only where rules cannot tell.
    `is_aside`: it tells nothing by itself ("Deleted it."), and counts only where it ends something.
    """

    content: str
    said_at: datetime
    message_id: UUID
    session_id: UUID | None
    tags: Sequence[str] = ()
    event_start: datetime | None = None
    event_end: datetime | None = None
    confidence: float = 1.0
    relation: Relation = Relation.NEW
    target: UUID | None = None
    is_aside: bool = False
