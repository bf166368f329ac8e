"""Bringing long-term memories back to what they were (L7)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.core.text.fold import normalize_key
from apps.memory.embeddings.memories import long_term_text, write_embeddings
from apps.memory.history.kinds import TrackedKind
from apps.memory.history.types import Snapshot
from apps.memory.locking import lock_memories
from apps.memory.long_term.audit import snapshot
from apps.memory.long_term.learnable import clear_forgotten
from apps.memory.long_term.ledger import TEXT_FIELDS, set_text
from apps.memory.long_term.selectors import get_memories_by_id
from apps.memory.models import LongTermMemory, Status
from apps.memory.types import MemoryKind

_FIELDS = ("category", "confidence", "source", "status", "mode")


def _read(user: User, ids: Collection[UUID]) -> Mapping[UUID, LongTermMemory]:
    return get_memories_by_id(user, ids)


def _restore(*, user: User, rows: Sequence[tuple[LongTermMemory, Snapshot | None]], now: datetime) -> None:
    """Restore rows in place; what there was not before becomes rejected."""
    _refuse_taken_keys(user, rows)
    _refuse_lost_successors(user, rows)
    rewritten = {memory.id for memory, before in rows if before is not None and _says_something_else(memory, before)}
    for memory, before in rows:
        memory.updated_at = now
        if before is None:
            memory.status, memory.superseded_by_id = Status.REJECTED, None
            continue
        for name in _FIELDS:
            setattr(memory, name, before[name])
        memory.superseded_by_id = before["superseded_by"] and UUID(before["superseded_by"])
        memory.muted = before.get("muted", False)
        if memory.id in rewritten:
            set_text(memory, key=before["key"], value=before["value"])
    # What stops being active makes way for what is active again.
    for memory, _before in sorted(rows, key=lambda row: row[0].status == Status.ACTIVE):
        text = TEXT_FIELDS if memory.id in rewritten else ()
        memory.save(update_fields=[*_FIELDS, "superseded_by", "muted", "updated_at", *text])
    for memory, before in rows:
        if before is not None and memory.status == Status.ACTIVE:
            clear_forgotten(user=user, normalized_key=memory.normalized_key, value=memory.value)
    texts = {
        memory.id: long_term_text(key=memory.key, value=memory.value) for memory, _ in rows if memory.id in rewritten
    }
    write_embeddings(user=user, kind=MemoryKind.LONG_TERM, texts=texts)


def _says_something_else(memory: LongTermMemory, before: Snapshot) -> bool:
    # As JSON: 1 is neither true nor 1.0 to whoever wrote it.
    return json.dumps([memory.key, memory.value]) != json.dumps([before["key"], before["value"]])


def _refuse_taken_keys(user: User, rows: Sequence[tuple[LongTermMemory, Snapshot | None]]) -> None:
    keys = [normalize_key(before["key"]) for _row, before in rows if before and before["status"] == Status.ACTIVE]
    others = LongTermMemory.objects.filter(user=user, normalized_key__in=keys, status=Status.ACTIVE)
    other = others.exclude(id__in=[row.id for row, _before in rows]).first()
    if other is not None:
        raise Conflict("Another active memory now uses this key.", fields={"memory_id": str(other.id)})


def _refuse_lost_successors(user: User, rows: Sequence[tuple[LongTermMemory, Snapshot | None]]) -> None:
    successors = {UUID(before["superseded_by"]) for _row, before in rows if before and before["superseded_by"]}
    if successors - get_memories_by_id(user, successors).keys():
        raise Conflict("The memory that replaced this one has since been deleted.")


def _let_go(memories: Sequence[LongTermMemory]) -> None:
    for memory in memories:
        memory.status = Status.EVICTED
        memory.save(update_fields=["status"])


KIND = TrackedKind(lock=lock_memories, read=_read, snapshot=snapshot, restore=_restore, let_go=_let_go)
