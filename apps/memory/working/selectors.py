"""Reading the working memory of a session."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet, Value

from apps.accounts.models import User
from apps.accounts.selectors import working_ttl
from apps.core.errors import NotFound
from apps.memory.models import WorkingMemory, WorkingMemoryRevision
from apps.memory.working.types import Variables

NO_WORKING_MEMORY = "This session has no working memory now."


@dataclass(frozen=True, slots=True)
class WorkingMemorySnapshot:
    """Working memory as one turn sees it (W1). `revision` tells whether somebody else has written since."""

    session_id: uuid.UUID
    current_topic: str | None
    variables: Variables
    turn_count: int
    last_emotion: str | None
    created_at: datetime
    updated_at: datetime
    revision: int

    def to_wire(self) -> dict[str, Any]:
        """W1's fields, the variables in order of writing."""
        return {
            "session_id": str(self.session_id),
            "current_topic": self.current_topic,
            "context_variables": dict(self.variables.values),
            "turn_count": self.turn_count,
            "last_emotion": self.last_emotion,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }


def to_snapshot(row: WorkingMemory) -> WorkingMemorySnapshot:
    """Return the plain value of a row."""
    return WorkingMemorySnapshot(
        session_id=row.session_id,
        current_topic=row.current_topic,
        variables=Variables.load(row.context_variables, row.written),
        turn_count=row.turn_count,
        last_emotion=row.last_emotion,
        created_at=row.created_at,
        updated_at=row.updated_at,
        revision=row.revision,
    )


def live(rows: QuerySet[WorkingMemory], *, now: datetime, ttl_minutes: int) -> QuerySet[WorkingMemory]:
    """Leave out what idled longer than `ttl_minutes`: it is gone, swept or not (W4)."""
    return rows.filter(updated_at__gte=now - timedelta(minutes=ttl_minutes))


def list_idle(*, now: datetime) -> QuerySet[WorkingMemory]:
    """Return what idled longer than its owner's `memory.working_ttl_minutes` and is to go (W4)."""
    return WorkingMemory.objects.filter(updated_at__lt=Value(now) - working_ttl(user="user"))


def find_working_memory(
    user: User, session_id: uuid.UUID, *, now: datetime, ttl_minutes: int
) -> WorkingMemorySnapshot | None:
    """Return the live working memory of the session, or None."""
    rows = WorkingMemory.objects.filter(user=user, session_id=session_id)
    row = live(rows, now=now, ttl_minutes=ttl_minutes).first()
    return to_snapshot(row) if row else None


def get_working_memory(user: User, session_id: uuid.UUID, *, now: datetime, ttl_minutes: int) -> WorkingMemorySnapshot:
    """Return the live working memory of the session, or raise `NotFound` (W2, W4)."""
    snapshot = find_working_memory(user, session_id, now=now, ttl_minutes=ttl_minutes)
    if snapshot is None:
        raise NotFound(NO_WORKING_MEMORY)
    return snapshot


@dataclass(frozen=True, slots=True)
class WorkingMemoryState:
    """What a working memory said at one revision."""

    current_topic: str | None
    variables: Variables


def find_working_state(
    user: User, session_id: uuid.UUID, *, started_at: datetime, revision: int
) -> WorkingMemoryState | None:
    """Return what the working memory that started then said at `revision`.

    None where nobody had written in it by then, or what was written has been deleted.
    """
    rows = WorkingMemoryRevision.objects.filter(user=user, session_id=session_id, started_at=started_at)
    row = rows.filter(revision__lte=revision).order_by("-revision", "-id").first()
    if row is None:
        return None
    return WorkingMemoryState(row.current_topic, Variables.load(row.context_variables, row.written))
