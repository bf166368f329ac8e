"""What the audit record keeps of a long-term memory (L7)."""

from __future__ import annotations

from apps.memory.history.types import ChangeDraft, Snapshot
from apps.memory.models import Change, LongTermMemory


def snapshot(memory: LongTermMemory) -> Snapshot:
    """Return what a person could care for of a memory, as JSON."""
    return {
        "category": memory.category,
        "key": memory.key,
        "value": memory.value,
        "confidence": memory.confidence,
        "source": memory.source,
        "status": str(memory.status),
        "mode": str(memory.mode),
        "superseded_by": str(memory.superseded_by_id) if memory.superseded_by_id else None,
        # Only where it is so: records from before there was such a thing stay true.
        **({"muted": True} if memory.muted else {}),
    }


def describe_change(memory: LongTermMemory, *, action: Change.Action, before: Snapshot | None) -> ChangeDraft:
    """Return the record of a change of `memory`, as it is now; changes under one key are undone together."""
    return ChangeDraft(
        kind=Change.Kind.LONG_TERM,
        action=action,
        object_id=memory.id,
        before=before,
        after=snapshot(memory),
        group=memory.normalized_key,
    )
