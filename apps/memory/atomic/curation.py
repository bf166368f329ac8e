"""What an owner does with atomic memories that exist: merge two, replace one, restore an ended one (M2, L7)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db import transaction

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.memory.atomic.audit import describe_change, snapshot
from apps.memory.atomic.selectors import DERIVED_FIELDS, get_atomic_memory
from apps.memory.atomic.text import TEXT_FIELDS, set_content
from apps.memory.atomic.validation import MAX_TAGS, check_fields
from apps.memory.do_not_relearn import allow_again
from apps.memory.embeddings.memories import write_embeddings
from apps.memory.history.services import record_changes
from apps.memory.history.types import ChangeDraft
from apps.memory.judging.exact import digest_content, normalize_content
from apps.memory.locking import lock_memories
from apps.memory.models import AtomicMemory, Change, Status
from apps.memory.types import MemoryKind

_ENDED = (Status.SUPERSEDED, Status.REJECTED, Status.EVICTED)


def combine_contents(kept: str, merged: str) -> str:
    """Return what both say, one after the other; one of them where it says all that the other does."""
    first, second = normalize_content(kept), normalize_content(merged)
    if second in first:
        return kept
    if first in second:
        return merged
    between = "" if kept.rstrip().endswith(("。", "！", "？")) else " "
    return f"{kept.rstrip()}{between}{merged.lstrip()}"


@transaction.atomic
def merge_atomic_memories(*, user: User, kept_id: UUID, merged_id: UUID, content: str, now: datetime) -> AtomicMemory:
    """Make one of two active memories: `kept` gets the content and the tags of both, and supersedes the other.

    Where it has no time of its own event, it takes that of the other. One operation. Raises `NotFound`; `Conflict` for
    one that is not active, the same twice, or what a third one says; `InvalidInput` or `TooLarge`.
    """
    check_fields({"content": content})
    lock_memories(user)
    kept, merged = get_atomic_memory(user, kept_id), get_atomic_memory(user, merged_id)
    if kept.id == merged.id:
        raise Conflict("A memory cannot be merged with itself.")
    if not kept.status == merged.status == Status.ACTIVE:
        raise Conflict("Only active memories can be merged.")
    _refuse_said(user, content, but=[kept.id, merged.id])
    before, ended = snapshot(kept), _end(merged, successor=kept, now=now)
    kept.tags = list(dict.fromkeys([*kept.tags, *merged.tags]))[:MAX_TAGS]
    if kept.event_start is None:
        kept.event_start, kept.event_end = merged.event_start, merged.event_end
    kept.updated_at = now
    set_content(kept, content.strip())
    allow_again(user=user, digests=[digest_content(user, kept.content)])
    kept.save(update_fields=["tags", "event_start", "event_end", "updated_at", *TEXT_FIELDS])
    draft = describe_change(kept, action=Change.Action.MERGE, before=before)
    _record(user, kept, draft=draft, ended=[ended], now=now)
    _embed(user, kept)
    return kept


@transaction.atomic
def supersede_atomic_memory(*, user: User, memory_id: UUID, content: str, now: datetime) -> AtomicMemory:
    """Put a new memory, said now and with the same tags, in the place of an active one; returns the new one.

    Raises `NotFound`; `Conflict` for one that is not active and for a content that an active one has; `InvalidInput` or
    `TooLarge`.
    """
    check_fields({"content": content})
    lock_memories(user)
    old = get_atomic_memory(user, memory_id)
    if old.status != Status.ACTIVE:
        raise Conflict("Only an active memory can be superseded.")
    _refuse_said(user, content, but=[])
    memory = AtomicMemory(
        user=user, tags=list(old.tags), timestamp=now, status=Status.ACTIVE, create_time=now, updated_at=now
    )
    set_content(memory, content.strip())
    allow_again(user=user, digests=[digest_content(user, memory.content)])
    memory.save(force_insert=True)
    ended = _end(old, successor=memory, now=now)
    draft = describe_change(memory, action=Change.Action.CREATE, before=None)
    _record(user, memory, draft=draft, ended=[ended], now=now)
    _embed(user, memory)
    return memory


@transaction.atomic
def bring_back_atomic_memory(*, user: User, memory_id: UUID, now: datetime) -> AtomicMemory:
    """Make a memory that is history active again; what took its place, if that is active, is superseded by it.

    Raises `NotFound`; `Conflict` for one that is no history, or where an active one says the same.
    """
    lock_memories(user)
    memory = get_atomic_memory(user, memory_id)
    if memory.status not in _ENDED:
        raise Conflict("Only a superseded, rejected or evicted memory can be restored.")
    successors = AtomicMemory.objects.filter(user=user, status=Status.ACTIVE, supersedes=memory)
    replaced = list(successors.defer(*DERIVED_FIELDS))
    _refuse_said(user, memory.content, but=[row.id for row in replaced])
    before = snapshot(memory)
    memory.status, memory.superseded_by, memory.updated_at = Status.ACTIVE, None, now
    memory.save(update_fields=["status", "superseded_by", "updated_at"])
    ended = [_end(row, successor=memory, now=now) for row in replaced]
    allow_again(user=user, digests=[digest_content(user, memory.content)])
    draft = describe_change(memory, action=Change.Action.UNDO, before=before)
    _record(user, memory, draft=draft, ended=ended, now=now)
    _embed(user, memory)
    return memory


def _refuse_said(user: User, content: str, *, but: list[UUID]) -> None:
    active = AtomicMemory.objects.filter(user=user, status=Status.ACTIVE)
    other = active.filter(normalized_content=normalize_content(content)).exclude(id__in=but).only("id").first()
    if other is not None:
        message = "Another active memory already says this."
        raise Conflict(message, fields={"content": [message], "memory_id": str(other.id)})


def _end(memory: AtomicMemory, *, successor: AtomicMemory, now: datetime) -> ChangeDraft:
    before = snapshot(memory)
    memory.status, memory.superseded_by, memory.updated_at = Status.SUPERSEDED, successor, now
    memory.save(update_fields=["status", "superseded_by", "updated_at"])
    return describe_change(memory, action=Change.Action.SUPERSEDE, before=before)


def _record(user: User, memory: AtomicMemory, *, draft: ChangeDraft, ended: list[ChangeDraft], now: datetime) -> None:
    """Record the changes of a memory and of those it ended as one operation."""
    changes = [replace(change, group=str(memory.id)) for change in [*ended, draft]]
    record_changes(user=user, changes=changes, now=now)


def _embed(user: User, memory: AtomicMemory) -> None:
    write_embeddings(user=user, kind=MemoryKind.ATOMIC, texts={memory.id: memory.content})
