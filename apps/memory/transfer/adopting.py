"""Taking in memories from another memory store (docs/import.md): each by itself, none twice, none over one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.accounts.models import User
from apps.core.text.fold import normalize_key, normalize_value
from apps.core.text.instructions import is_instruction
from apps.memory.atomic.validation import find_event_problem
from apps.memory.do_not_relearn import find_forgotten
from apps.memory.judging.exact import digest_content, normalize_content
from apps.memory.locking import lock_memories
from apps.memory.long_term.learnable import digest_key
from apps.memory.models import AtomicMemory, LongTermMemory, Status
from apps.memory.transfer.kinds import ATOMIC, LONG_TERM, TransferKind
from apps.memory.transfer.planning import plan_import
from apps.memory.transfer.services import import_memories
from apps.memory.transfer.types import RowAction


@dataclass(frozen=True, slots=True)
class ForeignMemory:
    """A memory from elsewhere: a statement, or a `key` with a `value`.

    `id`: the one that it gets here, always the same. `ended`: it is kept as history, superseded.
    """

    id: UUID
    content: str = ""
    key: str = ""
    value: Any = None
    category: str = "fact"
    tags: Sequence[str] = ()
    said_at: datetime | None = None
    event_start: datetime | None = None
    event_end: datetime | None = None
    ended: bool = False
    muted: bool = False


class Adoption(StrEnum):
    """The outcome for a memory from elsewhere."""

    ADOPTED = "imported"
    AGAIN = "already_imported"
    KNOWN = "known"
    """An active memory says this already."""
    KEY_TAKEN = "key_taken"
    """An active memory has this key with another value, which stays."""
    FORGOTTEN = "forgotten"
    """Its owner deleted this here after the source learned it."""
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Adopted:
    """The outcome for each memory, by ID; `reasons` has a sentence for each invalid one."""

    outcomes: Mapping[UUID, Adoption]
    reasons: Mapping[UUID, str] = field(default_factory=dict)


@transaction.atomic
def adopt_memories(*, user: User, memories: Sequence[ForeignMemory], operation: UUID, now: datetime) -> Adopted:
    """Take in memories from another memory store, as part of one operation. Nothing that is here is changed.

    What reads as an instruction waits for review, and one that has ended is kept as superseded. Left out is what is
    here: imported before, said by an active memory, or deleted by its owner since. A bad one costs no other.
    """
    lock_memories(user)
    outcomes: dict[UUID, Adoption] = {}
    reasons: dict[UUID, str] = {}
    for kind, mine in (
        (ATOMIC, [memory for memory in memories if not memory.key]),
        (LONG_TERM, [memory for memory in memories if memory.key]),
    ):
        there = set(kind.model.objects.filter(id__in=[memory.id for memory in mine]).values_list("id", flat=True))
        outcomes |= dict.fromkeys(there, Adoption.AGAIN)
        new = [memory for memory in mine if memory.id not in there]
        outcomes |= _find_known(user, kind, new)
        rows = {memory.id: _make_row(kind, memory, now=now) for memory in new if memory.id not in outcomes}
        plan = plan_import(user=user, kind=kind, items=list(rows.values()))
        for memory_id, row in zip(rows, plan.rows, strict=True):
            if row.action is RowAction.ERROR:
                outcomes[memory_id] = Adoption.INVALID
                reasons[memory_id] = next(reason for given in row.reasons.values() for reason in given)
            else:
                outcomes[memory_id] = Adoption.ADOPTED
        good = [row for memory_id, row in rows.items() if outcomes[memory_id] is Adoption.ADOPTED]
        if good:
            import_memories(user=user, kind=kind, items=good, now=now, operation=operation)
    return Adopted(outcomes=outcomes, reasons=reasons)


def _find_known(user: User, kind: TransferKind, memories: Sequence[ForeignMemory]) -> dict[UUID, Adoption]:
    digests = {memory.id: _digest(user, memory) for memory in memories}
    forgotten = find_forgotten(user, digests.values())
    known = _list_active(user, kind, memories)
    outcomes = {}
    for memory in memories:
        identity = normalize_key(memory.key) if memory.key else normalize_content(memory.content)
        forgotten_at = forgotten.get(digests[memory.id])
        if forgotten_at and (memory.said_at is None or memory.said_at <= forgotten_at):
            outcomes[memory.id] = Adoption.FORGOTTEN
        elif identity in known and not memory.ended:
            same = not memory.key or normalize_value(known[identity]) == normalize_value(memory.value)
            outcomes[memory.id] = Adoption.KNOWN if same else Adoption.KEY_TAKEN
        elif not memory.ended:
            known[identity] = memory.value  # what comes again in the same file says the same
    return outcomes


def _list_active(user: User, kind: TransferKind, memories: Sequence[ForeignMemory]) -> dict[str, Any]:
    if kind is ATOMIC:
        contents = {normalize_content(memory.content) for memory in memories}
        rows = AtomicMemory.objects.filter(user=user, status=Status.ACTIVE, normalized_content__in=contents)
        return dict.fromkeys(rows.values_list("normalized_content", flat=True))
    keys = {normalize_key(memory.key) for memory in memories}
    found = LongTermMemory.objects.filter(user=user, status=Status.ACTIVE, normalized_key__in=keys)
    return dict(found.values_list("normalized_key", "value"))


def _digest(user: User, memory: ForeignMemory) -> str:
    return digest_key(user, normalize_key(memory.key)) if memory.key else digest_content(user, memory.content)


def _choose_status(memory: ForeignMemory) -> Status:
    """What reads as an instruction waits for review, wherever it comes from (A3)."""
    if memory.ended:
        return Status.SUPERSEDED
    text = f"{memory.key}: {memory.value}" if memory.key else memory.content
    return Status.PENDING if is_instruction(text) else Status.ACTIVE


def _make_row(kind: TransferKind, memory: ForeignMemory, *, now: datetime) -> dict[str, Any]:
    """The memory in the form of a file of memories."""
    said_at = (memory.said_at or now).isoformat()
    row: dict[str, Any] = {
        "id": str(memory.id),
        "status": _choose_status(memory),
        "muted": memory.muted,
        "updated_at": now.isoformat(),
    }
    if kind is LONG_TERM:
        key = {"key": memory.key, "value": memory.value, "category": memory.category}
        return row | key | {"created_at": said_at, "last_accessed": said_at}
    row |= {"content": memory.content, "tags": list(memory.tags), "timestamp": said_at, "create_time": now.isoformat()}
    if find_event_problem(memory.event_start, memory.event_end) is None:
        times = {"event_start": memory.event_start, "event_end": memory.event_end}
        row |= {name: time.isoformat() for name, time in times.items() if time}
    return row
