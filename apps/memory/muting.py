"""Muting memories (L10): kept, shown and known to the extraction, but recalled in no reply."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.memory.history.services import record_changes
from apps.memory.history.types import ChangeDraft, Snapshot
from apps.memory.locking import lock_memories
from apps.memory.models import Change, Status


@transaction.atomic
def mute(
    rows: QuerySet[Any],
    *,
    user: User,
    ids: Collection[UUID],
    muted: bool,
    snapshot: Callable[[Any], Snapshot],
    describe: Callable[..., ChangeDraft],
    now: datetime,
) -> int:
    """Mute active and pending memories among `rows`, or no longer, as one operation; returns how many were otherwise.

    IDs of none, of another person's and of history are passed over.
    """
    lock_memories(user)
    changeable = rows.filter(user=user, id__in=ids, status__in=(Status.ACTIVE, Status.PENDING))
    memories = list(changeable.filter(muted=not muted))
    changes = []
    for memory in memories:
        before = snapshot(memory)
        memory.muted, memory.updated_at = muted, now
        changes.append(replace(describe(memory, action=Change.Action.MUTE, before=before), group=""))
    rows.model.objects.bulk_update(memories, ["muted", "updated_at"], batch_size=500)
    record_changes(user=user, changes=changes, now=now)
    return len(memories)
