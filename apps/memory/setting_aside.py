"""Setting memories aside: what is active waits for review again, as if it had just been proposed (A3)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.memory.atomic import audit as atomic_audit
from apps.memory.atomic.held_verdicts import HeldVerdict
from apps.memory.atomic.selectors import DERIVED_FIELDS
from apps.memory.history.services import record_changes
from apps.memory.history.types import ChangeDraft, Snapshot
from apps.memory.judging.types import Reason
from apps.memory.locking import lock_memories
from apps.memory.long_term import audit as long_term_audit
from apps.memory.models import SEARCH_FIELDS, AtomicMemory, Change, LongTermMemory, Status

_TOGETHER = "set aside"


@transaction.atomic
def set_aside(*, user: User, ids: Collection[UUID], now: datetime) -> tuple[UUID | None, int]:
    """Let active memories of both kinds wait for review, as one operation; returns that, and how many were active.

    Accepted, they are what they were. IDs of none, of another person's and of what is not active are passed over.
    """
    lock_memories(user)
    long_term = LongTermMemory.objects.defer(*SEARCH_FIELDS)
    atomic = AtomicMemory.objects.defer(*DERIVED_FIELDS)
    drafts = [  # why an atomic one waits is said on its row; a long-term one's record says it
        *_set_aside(long_term, user, ids, now, long_term_audit.snapshot, long_term_audit.describe_change),
        *_set_aside(atomic, user, ids, now, atomic_audit.snapshot, atomic_audit.describe_change),
    ]
    waiting = [draft.object_id for draft in drafts if draft.kind == Change.Kind.ATOMIC]
    proposal = HeldVerdict(Reason.SET_ASIDE).to_json()
    AtomicMemory.objects.filter(user=user, id__in=waiting).update(proposal=proposal)
    operations = record_changes(user=user, changes=drafts, now=now)
    return operations.get(_TOGETHER), len(drafts)


def list_set_aside(user_ids: Collection[int], *, ids: Collection[UUID]) -> set[UUID]:
    """Return those of these pending long-term memories that were active until they were set aside. One query."""
    changes = Change.objects.filter(
        user__in=user_ids,
        object_id__in=ids,
        kind=Change.Kind.LONG_TERM,
        undone_by=None,
        before__status=Status.ACTIVE,
        after__status=Status.PENDING,
    )
    return set(changes.values_list("object_id", flat=True))


def _set_aside(
    rows: QuerySet[Any],
    user: User,
    ids: Collection[UUID],
    now: datetime,
    snapshot: Callable[[Any], Snapshot],
    describe: Callable[..., ChangeDraft],
) -> Iterator[ChangeDraft]:
    memories = list(rows.filter(user=user, id__in=ids, status=Status.ACTIVE).select_for_update())
    befores = [snapshot(memory) for memory in memories]
    for memory in memories:
        memory.status, memory.updated_at = Status.PENDING, now
    rows.model.objects.bulk_update(memories, ["status", "updated_at"], batch_size=500)
    for memory, before in zip(memories, befores, strict=True):
        yield replace(describe(memory, action=Change.Action.EDIT, before=before), group=_TOGETHER)
