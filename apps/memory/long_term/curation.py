"""What an owner does with long-term memories that exist: merge two, restore an ended one, drop an item (M2, L7)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.core.text.fold import normalize_value
from apps.core.text.json_text import readable_text
from apps.memory.do_not_relearn import record_forgotten
from apps.memory.history.services import record_changes
from apps.memory.history.types import ChangeDraft, Snapshot
from apps.memory.locking import lock_memories
from apps.memory.long_term.audit import describe_change, snapshot
from apps.memory.long_term.changes import apply_mode, list_items
from apps.memory.long_term.learnable import clear_forgotten, digest_values
from apps.memory.long_term.ledger import TEXT_FIELDS, set_text, write_vectors
from apps.memory.long_term.selectors import get_memory
from apps.memory.long_term.types import Mode
from apps.memory.long_term.validation import check_fields
from apps.memory.models import Change, LongTermMemory, Status

_ENDED = (Status.SUPERSEDED, Status.REJECTED, Status.EVICTED)


def combine_values(kept: Any, merged: Any) -> Any:
    """Return both values as one list, each item once; `kept` as it is where it says all that `merged` does."""
    known = set(map(normalize_value, list_items(kept)))
    left = [item for item in list_items(merged) if normalize_value(item) not in known]
    return apply_mode(mode=Mode.ADD, current=kept, proposed=left) if left else kept


@transaction.atomic
def merge_memories(*, user: User, kept_id: UUID, merged_id: UUID, value: Any, now: datetime) -> LongTermMemory:
    """Make one of two active memories: `kept` gets the value, and supersedes the other. Returns it.

    It is as sure as the surer of the two, and has the uses of both. One operation; undoing leaves the uses counted.
    Raises `NotFound`; `Conflict` for one that is not active, or the same twice; `InvalidInput` or `TooLarge`.
    """
    check_fields({"value": value})
    lock_memories(user)
    kept, merged = get_memory(user, kept_id), get_memory(user, merged_id)
    if kept.id == merged.id:
        raise Conflict("A memory cannot be merged with itself.")
    if not kept.status == merged.status == Status.ACTIVE:
        raise Conflict("Only active memories can be merged.")
    before, ended = snapshot(kept), _end(merged, successor=kept, now=now)
    rewritten = normalize_value(value) != kept.normalized_value or value != kept.value
    kept.confidence = max(kept.confidence, merged.confidence)
    kept.access_count += merged.access_count
    kept.last_accessed = max(kept.last_accessed, merged.last_accessed)
    kept.updated_at = now
    fields = ["confidence", "access_count", "last_accessed", "updated_at"]
    if rewritten:
        set_text(kept, key=kept.key, value=value)
        clear_forgotten(user=user, normalized_key=kept.normalized_key, value=value)
        fields += TEXT_FIELDS
    kept.save(update_fields=fields)
    _record(user, kept, action=Change.Action.MERGE, before=before, ended=ended, now=now)
    if rewritten:
        write_vectors(user, [kept])
    return kept


@transaction.atomic
def bring_back_memory(*, user: User, memory_id: UUID, now: datetime) -> LongTermMemory:
    """Make a memory that is history active again; what its key has by now is superseded by it. Returns it.

    Raises `NotFound`; `Conflict` for one that is no history.
    """
    lock_memories(user)
    memory = get_memory(user, memory_id)
    if memory.status not in _ENDED:
        raise Conflict("Only a superseded, rejected or evicted memory can be restored.")
    before = snapshot(memory)
    active = LongTermMemory.objects.filter(user=user, status=Status.ACTIVE, normalized_key=memory.normalized_key)
    ended = [draft for row in active for draft in _end(row, successor=memory, now=now)]
    memory.status, memory.superseded_by, memory.mode, memory.updated_at = Status.ACTIVE, None, Mode.REPLACE, now
    memory.save(update_fields=["status", "superseded_by", "mode", "updated_at"])
    clear_forgotten(user=user, normalized_key=memory.normalized_key, value=memory.value)
    _record(user, memory, action=Change.Action.UNDO, before=before, ended=ended, now=now)
    write_vectors(user, [memory])
    return memory


@transaction.atomic
def remove_item(*, user: User, memory_id: UUID, index: int, text: str, now: datetime) -> None:
    """Take an item out of an active list; with its last item the memory ends. Not learned again from what was said.

    `index`, `text`: where the item stands and how it reads (`readable_text`), so that never another one goes. Raises
    `NotFound`; `Conflict` where the memory is not active, or the item is not there any more.
    """
    lock_memories(user)
    memory = get_memory(user, memory_id)
    items = list_items(memory.value)
    if memory.status != Status.ACTIVE or not 0 <= index < len(items) or readable_text(items[index]) != text:
        raise Conflict("This list was changed in the meantime.")
    before, left = snapshot(memory), [item for at, item in enumerate(items) if at != index]
    memory.updated_at = now
    if left:
        set_text(memory, key=memory.key, value=left)
        memory.save(update_fields=["updated_at", *TEXT_FIELDS])
        write_vectors(user, [memory])
    else:
        memory.status, memory.superseded_by = Status.SUPERSEDED, None
        memory.save(update_fields=["status", "superseded_by", "updated_at"])
    record_forgotten(user=user, digests=digest_values(user, items[index]), now=now)
    action = Change.Action.EDIT if left else Change.Action.SUPERSEDE
    record_changes(user=user, changes=[describe_change(memory, action=action, before=before)], now=now)


def _end(memory: LongTermMemory, *, successor: LongTermMemory, now: datetime) -> list[ChangeDraft]:
    before = snapshot(memory)
    memory.status, memory.superseded_by, memory.updated_at = Status.SUPERSEDED, successor, now
    memory.save(update_fields=["status", "superseded_by", "updated_at"])
    return [describe_change(memory, action=Change.Action.SUPERSEDE, before=before)]


def _record(
    user: User,
    memory: LongTermMemory,
    *,
    action: Change.Action,
    before: Snapshot,
    ended: list[ChangeDraft],
    now: datetime,
) -> None:
    """Record the changes of a memory and of those it ended as one operation."""
    drafts = [*ended, describe_change(memory, action=action, before=before)]
    group = str(memory.id)
    # A merge that changes nothing about the memory kept is one still: the record of the other one says so.
    record_changes(user=user, changes=[replace(draft, group=group) for draft in drafts], now=now)
