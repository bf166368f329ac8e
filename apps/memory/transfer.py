"""Bringing memories in (M4): files, all that was planned or nothing; and those of other memory stores, each by itself.

From another memory store (docs/import.md) none comes twice, and none over one's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.core.text.fold import normalize_key, normalize_value
from apps.core.text.instructions import is_instruction
from apps.memory.changes.records import record_changes
from apps.memory.import_plan import (
    SPACE_NAME,
    Imported,
    ImportPlan,
    ImportRefused,
    PlanChanged,
    PlannedRow,
    RowAction,
    complete,
    plan_import,
)
from apps.memory.kinds import ATOMIC, CURRENT, LONG_TERM, MemoryKind
from apps.memory.locking import lock_memories
from apps.memory.models import Change, Status
from apps.memory.tombstones import clear_tombstones, digest_content, digest_key, find_tombstones
from apps.memory.validation import find_event_problem
from apps.memory.vectors.memories import ask_for_vectors, write_vectors

# Rows whose vectors are made with them; workers make those of a longer file, so that nobody waits for so long.
EMBEDDED_AT_ONCE = 200

_OPERATION = "import"


@transaction.atomic
def import_memories(
    *,
    user: User,
    kind: MemoryKind,
    items: Sequence[Any],
    now: datetime,
    expected: str | None = None,
    operation: UUID | None = None,
) -> Imported:
    """Import objects as `plan_import` says; with `expected` only if that is still the plan with this digest.

    One operation, undone as a whole; `operation`: the ID of one that several imports are part of. What is imported as
    active or pending may be learned again. What holds a secret is left out (D4). Raises `ImportRefused` for any bad
    row, and `PlanChanged`; then nothing was written.
    """
    lock_memories(user)
    plan = plan_import(user=user, kind=kind, items=items)
    if expected is not None and plan.digest != expected:
        raise PlanChanged(plan)
    if plan.errors:
        raise ImportRefused("Nothing was imported because some rows are invalid.", plan=plan)
    created, updated = _make(user, kind, plan, now=now), _change(user, kind, plan, now=now)
    changed = [memory for memory, _before, _row in updated]
    _write(user, kind, created=created, updated=changed)
    befores, written = {memory.id: before for memory, before, _row in updated}, [*created, *changed]
    drafts = [
        kind.draft(
            memory, action=Change.Action.IMPORT, before=befores.get(memory.id), group=_OPERATION, operation=operation
        )
        for memory in written
    ]
    operations = record_changes(user=user, changes=drafts, now=now)
    current = [memory for memory in written if memory.status in CURRENT]
    clear_tombstones(user=user, digests={digest for memory in current for digest in kind.digests(user, vars(memory))})
    rewritten = [memory for memory, _before, row in updated if not set(kind.texts).isdisjoint(row.changed)]
    _embed(user, kind, created=created, rewritten=rewritten)
    return Imported(
        created=len(created),
        updated=len(updated),
        skipped=plan.counts[RowAction.SKIP],
        refused=plan.refused,
        operation=operation if operation and drafts else operations.get(_OPERATION),
    )


def _make(user: User, kind: MemoryKind, plan: ImportPlan, *, now: datetime) -> list[Any]:
    made = []
    for row in plan.rows:
        if row.action is RowAction.CREATE:
            memory = kind.model(user=user, id=row.id or uuid4())
            kind.assign(memory, complete(kind, row.given, now=now))
            made.append(memory)
    return made


def _change(user: User, kind: MemoryKind, plan: ImportPlan, *, now: datetime) -> list[tuple[Any, Any, PlannedRow]]:
    rows = {row.id: row for row in plan.rows if row.action is RowAction.UPDATE}
    changed = []
    for memory in kind.changeable(user).filter(id__in=list(rows)):
        row = rows[memory.id]
        before = kind.snapshot(memory)
        kind.assign(memory, {"updated_at": now, **row.given})
        kind.derive(memory)  # all columns are written, and what was read of these cannot be
        changed.append((memory, before, row))
    return changed


def _write(user: User, kind: MemoryKind, *, created: Sequence[Any], updated: Sequence[Any]) -> None:
    names = [field.name for field in kind.model._meta.concrete_fields if field.name not in ("id", "user")]
    # Two that exchange their keys must not both be active in between.
    kind.model.objects.filter(user=user, id__in=[row.id for row in updated]).update(status=Status.SUPERSEDED)
    try:
        with transaction.atomic():
            kind.model.objects.bulk_create(
                updated, batch_size=500, update_conflicts=True, unique_fields=["id"], update_fields=names
            )
            kind.model.objects.bulk_create(created, batch_size=500)
    except IntegrityError as error:  # somebody else has just taken one of the IDs
        raise Conflict("Some of these memories have just been created elsewhere. Try again.") from error


def _embed(user: User, kind: MemoryKind, *, created: Sequence[Any], rewritten: Sequence[Any]) -> None:
    if len(created) + len(rewritten) <= EMBEDDED_AT_ONCE:
        write_vectors(user, kind, [*created, *rewritten])
        return
    kind.embeddings.objects.filter(memory__in=[memory.id for memory in rewritten]).delete()
    ask_for_vectors()


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
    KNOWN = "known"  # an active memory says this already
    KEY_TAKEN = "key_taken"  # an active memory has this key with another value, which stays
    FORGOTTEN = "forgotten"  # its owner deleted this here after the source learned it
    SECRET = "secret"  # noqa: S105 - it holds one, and is never remembered (D4)
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
            elif row.action is RowAction.REFUSE:
                outcomes[memory_id] = Adoption.SECRET
            else:
                outcomes[memory_id] = Adoption.ADOPTED
        good = [row for memory_id, row in rows.items() if outcomes[memory_id] is Adoption.ADOPTED]
        if good:
            import_memories(user=user, kind=kind, items=good, now=now, operation=operation)
    return Adopted(outcomes=outcomes, reasons=reasons)


def _find_known(user: User, kind: MemoryKind, memories: Sequence[ForeignMemory]) -> dict[UUID, Adoption]:
    digests = {memory.id: _digest(user, memory) for memory in memories}
    forgotten = find_tombstones(user, digests.values())
    known = _list_active(user, kind, memories)
    outcomes = {}
    for memory in memories:
        identity = _identify(kind, memory)
        forgotten_at = forgotten.get(digests[memory.id])
        if forgotten_at and (memory.said_at is None or memory.said_at <= forgotten_at):
            outcomes[memory.id] = Adoption.FORGOTTEN
        elif identity in known and not memory.ended:
            same = not memory.key or normalize_value(known[identity]) == normalize_value(memory.value)
            outcomes[memory.id] = Adoption.KNOWN if same else Adoption.KEY_TAKEN
        elif not memory.ended:
            known[identity] = memory.value  # what comes again in the same file says the same
    return outcomes


def _list_active(user: User, kind: MemoryKind, memories: Sequence[ForeignMemory]) -> dict[str, Any]:
    rows = kind.held(user).filter(**{f"{kind.identity}__in": {_identify(kind, memory) for memory in memories}})
    return {getattr(row, kind.identity): getattr(row, "value", None) for row in rows.defer(None)}


def _identify(kind: MemoryKind, memory: ForeignMemory) -> str:
    return kind.identify({"key": memory.key, "content": memory.content})


def _digest(user: User, memory: ForeignMemory) -> str:
    return digest_key(user, normalize_key(memory.key)) if memory.key else digest_content(user, memory.content)


def _choose_status(memory: ForeignMemory) -> Status:
    """What reads as an instruction waits for review, wherever it comes from (A3)."""
    if memory.ended:
        return Status.SUPERSEDED
    text = f"{memory.key}: {memory.value}" if memory.key else memory.content
    return Status.PENDING if is_instruction(text) else Status.ACTIVE


def _make_row(kind: MemoryKind, memory: ForeignMemory, *, now: datetime) -> dict[str, Any]:
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


_AT_ONCE = 1_000


def export_memories(user: User, kind: MemoryKind) -> Iterator[bytes]:
    """Yield what a person sees of a kind, newest first, as UTF-8 JSON, in portions and as it is at one moment."""
    yield from export_rows(kind.rows(user), kind)


def export_rows(rows: QuerySet[Any], kind: MemoryKind) -> Iterator[bytes]:
    """Yield these memories, which the caller has seen to that they may be read."""
    with transaction.atomic():
        columns = {name: kind.column(name).attname for name in kind.file_fields}
        columns[SPACE_NAME] = "space__name"
        values = rows.values(*columns.values()).iterator(chunk_size=_AT_ONCE)
        yield from _dump(
            {name: _encode(row[column]) for name, column in columns.items() if name != SPACE_NAME or row[column]}
            for row in values
        )


def _encode(value: Any) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case UUID():
            return str(value)
    return value


def _dump(objects: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    lines: list[str] = []
    opened = False
    for item in objects:
        lines.append(json.dumps(item, ensure_ascii=False))
        if len(lines) == _AT_ONCE:
            yield (",\n" if opened else "[\n").encode() + ",\n".join(lines).encode()
            opened, lines = True, []
    if lines:
        yield (",\n" if opened else "[\n").encode() + ",\n".join(lines).encode()
        opened = True
    yield b"\n]\n" if opened else b"[]\n"
