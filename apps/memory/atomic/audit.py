"""What the audit record keeps of an atomic memory (L7)."""

from __future__ import annotations

from datetime import UTC, datetime

from apps.memory.history.types import ChangeDraft, Snapshot
from apps.memory.models import AtomicMemory, Change


def snapshot(memory: AtomicMemory) -> Snapshot:
    """Return what a person could care for of a memory, as JSON."""
    return {
        "content": memory.content,
        "tags": list(memory.tags),
        "timestamp": _write(memory.timestamp),
        "event_start": _write(memory.event_start),
        "event_end": _write(memory.event_end),
        "status": str(memory.status),
        "superseded_by": str(memory.superseded_by_id) if memory.superseded_by_id else None,
        # Only where it is so: records from before there was such a thing stay true.
        **({"muted": True} if memory.muted else {}),
    }


def describe_change(
    memory: AtomicMemory, *, action: Change.Action, before: Snapshot | None, group: str | None = None
) -> ChangeDraft:
    """Return the record of a change of `memory`, as it is now; by default it is an operation of its own."""
    return ChangeDraft(
        kind=Change.Kind.ATOMIC,
        action=action,
        object_id=memory.id,
        before=before,
        after=snapshot(memory),
        group=group or str(memory.id),
    )


def _write(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).isoformat()
