"""Bringing atomic memories back to what they were (L7)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.memory.atomic.audit import snapshot
from apps.memory.atomic.text import TEXT_FIELDS, set_content
from apps.memory.do_not_relearn import allow_again
from apps.memory.embeddings.memories import write_embeddings
from apps.memory.history.kinds import TrackedKind
from apps.memory.history.types import Snapshot
from apps.memory.judging.exact import digest_content, normalize_content
from apps.memory.locking import lock_memories
from apps.memory.models import AtomicMemory, Status
from apps.memory.types import MemoryKind

_TIMES = ("timestamp", "event_start", "event_end")


def _read(user: User, ids: Collection[UUID]) -> Mapping[UUID, AtomicMemory]:
    return AtomicMemory.objects.filter(user=user).in_bulk(list(ids))


def _restore(*, user: User, rows: Sequence[tuple[AtomicMemory, Snapshot | None]], now: datetime) -> None:
    """Restore rows in place; what there was not before becomes rejected."""
    _refuse_said_again(user, rows)
    _refuse_lost_successors(user, rows)
    for memory, before in rows:
        memory.updated_at = now
        if before is None:
            memory.status, memory.superseded_by_id = Status.REJECTED, None
        else:
            memory.status, memory.tags = before["status"], list(before["tags"])
            for name in _TIMES:
                setattr(memory, name, before[name] and datetime.fromisoformat(before[name]))
            memory.superseded_by_id = before["superseded_by"] and UUID(before["superseded_by"])
            memory.muted = before.get("muted", False)
            set_content(memory, before["content"])
        memory.save(update_fields=["status", "tags", *_TIMES, "superseded_by", "muted", "updated_at", *TEXT_FIELDS])
    back = [memory for memory, before in rows if before and memory.status == Status.ACTIVE]
    allow_again(user=user, digests={digest_content(user, memory.content) for memory in back})
    texts = {memory.id: memory.content for memory, before in rows if before}
    write_embeddings(user=user, kind=MemoryKind.ATOMIC, texts=texts)


def _refuse_said_again(user: User, rows: Sequence[tuple[AtomicMemory, Snapshot | None]]) -> None:
    contents = [
        normalize_content(before["content"]) for _row, before in rows if before and before["status"] == Status.ACTIVE
    ]
    others = AtomicMemory.objects.filter(user=user, normalized_content__in=contents, status=Status.ACTIVE)
    other = others.exclude(id__in=[row.id for row, _before in rows]).first()
    if other is not None:
        raise Conflict("Another active memory now says this.", fields={"memory_id": str(other.id)})


def _refuse_lost_successors(user: User, rows: Sequence[tuple[AtomicMemory, Snapshot | None]]) -> None:
    successors = {UUID(before["superseded_by"]) for _row, before in rows if before and before["superseded_by"]}
    if AtomicMemory.objects.filter(user=user, id__in=successors).count() < len(successors):
        raise Conflict("The memory that replaced this one has since been deleted.")


def _let_go(memories: Sequence[AtomicMemory]) -> None:
    for memory in memories:
        memory.status = Status.EVICTED
        memory.save(update_fields=["status"])


KIND = TrackedKind(lock=lock_memories, read=_read, snapshot=snapshot, restore=_restore, let_go=_let_go)
