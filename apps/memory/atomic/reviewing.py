"""A person's decision about pending atomic memories: what was unsure, or read like an instruction (A3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.memory.atomic.audit import describe_change, snapshot
from apps.memory.atomic.compare import Relation, compare
from apps.memory.atomic.selectors import get_atomic_memory, list_compared_memories
from apps.memory.history.services import record_changes
from apps.memory.history.types import ChangeDraft
from apps.memory.locking import lock_memories
from apps.memory.models import AtomicMemory, Change, Status


@dataclass(frozen=True, slots=True)
class AtomicAcceptance:
    """What accepting does. `same`: the active memory that says it already and stays; else `ended` are superseded."""

    same: AtomicMemory | None
    ended: Sequence[AtomicMemory]


def preview_acceptance(memory: AtomicMemory) -> AtomicAcceptance:
    """Return what accepting this pending memory would do now; changes nothing. One query.

    As when memories are recorded, it is compared with the newest active ones: with those that were said before it.
    """
    newest = list_compared_memories(memory.user_id)
    related = [(row, compare(row.content, memory.content)) for row in newest if row.timestamp <= memory.timestamp]
    same = next((row for row, relation in related if relation is Relation.SAME), None)
    ended = [] if same else [row for row, relation in related if relation is Relation.CONTRADICTS]
    return AtomicAcceptance(same=same, ended=ended)


@transaction.atomic
def accept_atomic_memory(*, user: User, memory_id: UUID, now: datetime) -> AtomicMemory:
    """Take a pending memory for true. What was said before it and contradicts it is superseded by it (A3).

    Where an active memory says the same already, the pending one is superseded by that. Raises `NotFound`; `Conflict`
    unless it is pending.
    """
    lock_memories(user)
    memory = _get_pending(user, memory_id)
    before = snapshot(memory)
    found = preview_acceptance(memory)
    changes: list[ChangeDraft] = []
    if found.same is not None:
        memory.status, memory.superseded_by = Status.SUPERSEDED, found.same
    else:
        memory.status = Status.ACTIVE
        changes = [_supersede(row, by=memory, now=now) for row in found.ended]
    memory.updated_at = now
    memory.save(update_fields=["status", "superseded_by", "updated_at"])
    changes.append(describe_change(memory, action=Change.Action.ACCEPT, before=before))
    record_changes(user=user, changes=changes, now=now)
    return memory


def _supersede(row: AtomicMemory, *, by: AtomicMemory, now: datetime) -> ChangeDraft:
    before = snapshot(row)
    row.status, row.superseded_by, row.updated_at = Status.SUPERSEDED, by, now
    row.save(update_fields=["status", "superseded_by", "updated_at"])
    return describe_change(row, action=Change.Action.SUPERSEDE, before=before, group=str(by.id))


@transaction.atomic
def reject_atomic_memory(*, user: User, memory_id: UUID, now: datetime) -> AtomicMemory:
    """Turn a pending memory down: it is not recorded again. Raises `NotFound`; `Conflict` unless it is pending."""
    lock_memories(user)
    memory = _get_pending(user, memory_id)
    before = snapshot(memory)
    memory.status, memory.updated_at = Status.REJECTED, now
    memory.save(update_fields=["status", "updated_at"])
    change = describe_change(memory, action=Change.Action.REJECT, before=before)
    record_changes(user=user, changes=[change], now=now)
    return memory


def _get_pending(user: User, memory_id: UUID) -> AtomicMemory:
    memory = get_atomic_memory(user, memory_id)
    if memory.status != Status.PENDING:
        raise Conflict(f"Only a pending memory can be accepted or rejected; this one is {memory.status}.")
    return memory
