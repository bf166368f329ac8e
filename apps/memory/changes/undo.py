"""Undoing changes from their audit records (L7). Undoing is a change itself: undoing that does it again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext_noop

from apps.accounts.models import Space, User
from apps.accounts.spaces import held_by
from apps.core.errors import Conflict, NotFound
from apps.memory.changes.records import (
    Snapshot,
    TrackedKind,
    collect_operations,
    describe_change,
    follow_moves,
    get_kind,
    note_operations,
    record_changes,
    register_kind,
)
from apps.memory.deletion import delete_memories
from apps.memory.kinds import CURRENT, KINDS, MemoryKind
from apps.memory.locking import lock_memories
from apps.memory.models import Change, Status
from apps.memory.tombstones import clear_tombstones, find_tombstones
from apps.memory.vectors.memories import write_vectors


@transaction.atomic
def undo_operation(*, user: User, operation: UUID, now: datetime, may_return: bool = False) -> UUID:
    """Bring every object of an operation back to what it was before; returns the ID of the operation that does it.

    What the operation made becomes rejected, as if its owner had turned it down: it is not proposed again (L1); with
    `may_return` it becomes evicted, and is learned again from whatever else says it. Raises
    `NotFound`; `Conflict`, with nothing changed, for a deletion, which is final, for what was undone already, for what
    has changed or been deleted since, and where what comes back would clash with what is there now.
    """
    recorded = Change.objects.filter(user=user, operation=operation)
    ids: defaultdict[str, list[UUID]] = defaultdict(list)
    for name, object_id in recorded.order_by("kind").values_list("kind", "object_id"):
        ids[name].append(object_id)
    is_elsewhere = not user.sight.everything and recorded.exclude(held_by(user)).exists()
    if is_elsewhere or not ids:
        raise NotFound(gettext_noop("This change does not exist."))
    kinds = {name: get_kind(name) for name in ids}
    for kind in kinds.values():
        kind.lock(user)
    # Objects before their records, in the order in which a deletion locks them.
    rows = {name: kind.read(user, ids[name]) for name, kind in kinds.items()}
    changes = list(recorded.order_by("id").select_for_update())
    if not changes:
        raise NotFound(gettext_noop("This change does not exist."))  # it went with its session meanwhile
    _refuse_final(changes)
    for change in changes:
        row = rows[change.kind].get(change.object_id)
        if row is None or kinds[change.kind].snapshot(row) != change.after:
            raise Conflict(
                gettext_noop("This was changed again later. Undo the later change first."), fields=_name(change)
            )
    for name, kind in kinds.items():
        before = [(rows[name][change.object_id], change.before) for change in changes if change.kind == name]
        kind.restore(user=user, rows=before, now=now)
        if may_return and kind.let_go:
            kind.let_go([row for row, earlier in before if earlier is None])
    drafts = [
        describe_change(
            change.kind,
            row,
            action=Change.Action.UNDO,
            before=change.after,
            session_id=change.session_id,
            space_id=getattr(row, "space_id", change.space_id),
        )
        for change in changes
        for row in [rows[change.kind][change.object_id]]
    ]
    (undoing,) = record_changes(user=user, changes=drafts, now=now).values()
    pairs = zip(drafts, changes, strict=True)
    follow_moves(user, [draft for draft, change in pairs if draft.space_id != change.space_id])
    # What this brings back, if it undid something itself, can be undone once more.
    Change.objects.filter(user=user, undone_by=operation).update(undone_by=None)
    Change.objects.filter(user=user, operation=operation).update(undone_by=undoing)
    return undoing


def _undo_making(*, user: User, kind: str, object_ids: Collection[UUID], now: datetime) -> tuple[UUID | None, int]:
    """Bring objects back to before they were made, where no record of that is kept: one operation, to be undone itself.

    Returns that, and of how many. None where that changes nothing: another person's objects stay, and those of which
    it was undone already.
    """
    tracked = get_kind(kind)
    rows = list(tracked.read(user, object_ids).values())
    earlier = {row.pk: tracked.snapshot(row) for row in rows}
    tracked.restore(user=user, rows=[(row, None) for row in rows], now=now)
    drafts = [describe_change(kind, row, action=Change.Action.UNDO, before=earlier[row.pk]) for row in rows]
    changed = [draft for draft in drafts if draft.before != draft.after]
    return next(iter(record_changes(user=user, changes=changed, now=now).values()), None), len(changed)


def _refuse_final(changes: Sequence[Change]) -> None:
    for change in changes:
        if change.action == Change.Action.DELETE:
            raise Conflict(gettext_noop("Deletions cannot be undone."), fields=_name(change))
        if change.after is None:
            raise Conflict(gettext_noop("The changed item has since been deleted."), fields=_name(change))
        if change.undone_by is not None:
            raise Conflict(gettext_noop("This change was already undone."), fields=_name(change))


def _name(change: Change) -> dict[str, str]:
    return {"object_id": str(change.object_id)}


MOST_TOGETHER = 500  # operations that are undone in one transaction


@dataclass(frozen=True, slots=True)
class UndoneTogether:
    """`operation`: by which all of it is undone again, None where nothing was. `kept`: what changed since, and stays.

    Both count operations, and each object that was undone without a record as one.
    """

    operation: UUID | None
    undone: int
    kept: int


@transaction.atomic
def undo_together(
    *, user: User, operations: Sequence[UUID], now: datetime, made: Mapping[str, Sequence[UUID]] | None = None
) -> UndoneTogether:
    """Undo operations, given newest first, as one operation: at most `MOST_TOGETHER` of them.

    `made`: objects, by their kind, whose making has no record and is undone with the rest.
    One that cannot be undone (it is final, its object has changed since) stays and is counted; the others are undone.
    """
    wanted = list(dict.fromkeys(operations))[:MOST_TOGETHER]
    kinds = Change.objects.filter(user=user, operation__in=wanted).order_by().values_list("kind", flat=True)
    for name in sorted({*kinds.distinct(), *(made or ())}):
        get_kind(name).lock(user)  # all in the order in which each undo takes its own, or two could wait for each other
    with collect_operations():  # not to be offered one by one
        undoing = _undo_each(user, wanted, now=now)
        undone, kept = len(undoing), len(wanted) - len(undoing)
        for name, ids in (made or {}).items():
            making, count = _undo_making(user=user, kind=name, object_ids=ids, now=now)
            undoing += [making] if making else []
            undone += count
    one = _make_one(user, undoing)
    if one is not None:
        note_operations([one])
    return UndoneTogether(operation=one, undone=undone, kept=kept)


def _make_one(user: User, operations: Sequence[UUID]) -> UUID | None:
    """Make the records of several operations those of one: of each object, from before the first to after the last."""
    if len(operations) < 2:
        return next(iter(operations), None)
    records: dict[tuple[str, UUID], list[Change]] = {}
    for change in Change.objects.filter(user=user, operation__in=operations).order_by("id").select_for_update():
        records.setdefault((change.kind, change.object_id), []).append(change)
    one = uuid4()
    kept, dropped = [], []
    for changes in records.values():
        *earlier, last = changes
        last.before, last.operation = changes[0].before, one
        kept.append(last)
        dropped += earlier
    Change.objects.filter(user=user, id__in=[change.pk for change in dropped]).delete()
    Change.objects.bulk_update(kept, ["before", "operation"], batch_size=500)
    Change.objects.filter(user=user, undone_by__in=operations).update(undone_by=one)
    return one


_LEARNED = (Change.Origin.TURN, Change.Origin.EXTRACTION, Change.Origin.COMMAND)


@transaction.atomic
def retract_learned(*, user: User, message_ids: Collection[UUID], now: datetime) -> list[UUID]:
    """Undo what these messages alone led to, the newest first; return the operations that do it.

    What has been changed, confirmed by hand or deleted since stays as it is. The memories may be learned again.
    """
    lock_memories(user)
    user = user.overseeing()  # whatever space it went to
    changes = Change.objects.filter(
        user=user, message__in=message_ids, origin__in=_LEARNED, undone_by=None, after__isnull=False
    )
    changes = changes.exclude(action__in=[Change.Action.UNDO, Change.Action.DELETE])
    operations = dict.fromkeys(changes.order_by("-id").values_list("operation", flat=True))
    return _undo_each(user, list(operations), may_return=True, now=now)


@transaction.atomic
def restore_retracted(*, user: User, operations: Sequence[UUID], now: datetime) -> int:
    """Undo what `retract_learned` returned, as far as nothing stands against it now; return how many operations."""
    lock_memories(user)
    return len(_undo_each(user.overseeing(), list(reversed(operations)), now=now))


def _undo_each(user: User, operations: Sequence[UUID], *, now: datetime, may_return: bool = False) -> list[UUID]:
    """Undo what can be, in this order; return the operations that did."""
    undoing = []
    for operation in operations:
        with suppress(Conflict, NotFound):
            undoing.append(undo_operation(user=user, operation=operation, now=now, may_return=may_return))
    return undoing


@transaction.atomic
def undo_and_purge(*, user: User, operation: UUID, now: datetime) -> bool:
    """Undo an operation and delete the memories that it made; False, with nothing changed, where that cannot be.

    An ordinary undo rejects what was made, and a deletion is remembered: neither lets the same be learned again. Here
    the owner takes back what led to the memories, such as an import, and may bring it again.
    """
    lock_memories(user)
    made = Change.objects.filter(user=user, operation=operation, before__isnull=True, after__isnull=False)
    ids: defaultdict[str, list[UUID]] = defaultdict(list)
    for name, object_id in list(made.values_list("kind", "object_id")):
        ids[name].append(object_id)
    try:
        undo_operation(user=user, operation=operation, now=now)
    except (Conflict, NotFound):
        return False
    for kind in KINDS:
        rows = kind.model.objects.filter(user=user, id__in=ids[kind.name]).values(*kind.texts)
        digests = {digest for values in rows for digest in kind.digests(user, values, parts=True)}
        before = find_tombstones(user, digests)
        delete_memories(kind, user=user, ids=ids[kind.name], now=now)
        clear_tombstones(user=user, digests=digests - before.keys())
    return True


# How memories are brought back


def register_memories() -> None:
    """Let changes of memories of every kind be undone; said in the app's `ready`."""
    for kind in KINDS:
        tracked = TrackedKind(
            lock=lock_memories,
            read=kind.by_ids,
            snapshot=kind.snapshot,
            restore=partial(_restore, kind),
            let_go=_let_go,
        )
        register_kind(kind.change_kind, tracked)


def _restore(kind: MemoryKind, *, user: User, rows: Sequence[tuple[Any, Snapshot | None]], now: datetime) -> None:
    """Restore memories in place; what there was not before becomes rejected."""
    befores = [before for _memory, before in rows if before is not None]
    _refuse_taken(kind, user, befores, but=[memory.id for memory, _before in rows])
    _refuse_lost_successors(kind, user, befores)
    _refuse_lost_spaces(user, befores)
    tracked = [kind.column(name).name for name in kind.tracked if name not in kind.text_columns]
    rewritten, returned = set(), []
    for memory, before in rows:
        memory.updated_at = now
        was_current = memory.status in CURRENT
        if before is None:
            memory.status, memory.superseded_by_id = Status.REJECTED, None
            continue
        if kind.assign(memory, {name: before[name] for name in kind.texts}):
            rewritten.add(memory.id)
        kind.put_back(memory, before)
        if memory.id in rewritten or (memory.status in CURRENT and not was_current):
            returned.append(memory)
    # What stops being active makes way for what is active again.
    for memory, _before in sorted(rows, key=lambda row: row[0].status == Status.ACTIVE):
        text = kind.text_columns if memory.id in rewritten else ()
        memory.save(update_fields=[*tracked, "updated_at", *text])
    back = [before for before in befores if before["status"] == Status.ACTIVE]
    clear_tombstones(user=user, digests={digest for before in back for digest in kind.digests(user, before)})
    write_vectors(user, kind, returned)


def _refuse_taken(kind: MemoryKind, user: User, befores: Sequence[Snapshot], *, but: Collection[UUID]) -> None:
    taken = Q()
    for before in befores:
        if before["status"] == Status.ACTIVE:
            taken |= Q(**{kind.identity: kind.identify(before), "space": before.get("space")})
    other = kind.active(user).filter(taken).exclude(id__in=but).first() if taken else None
    if other is not None:
        raise Conflict(kind.taken_since, fields={"memory_id": str(other.id)})


def _refuse_lost_successors(kind: MemoryKind, user: User, befores: Sequence[Snapshot]) -> None:
    successors = {UUID(before["superseded_by"]) for before in befores if before["superseded_by"]}
    if successors and kind.model.objects.filter(user=user, id__in=successors).count() < len(successors):
        raise Conflict(gettext_noop("The memory that replaced this one has since been deleted."))


def _refuse_lost_spaces(user: User, befores: Sequence[Snapshot]) -> None:
    spaces = {before["space"] for before in befores if before.get("space")}
    if spaces and Space.objects.filter(user=user, id__in=spaces).count() < len(spaces):
        raise Conflict("The space that this was in has since been deleted.")


def _let_go(memories: Sequence[Any]) -> None:
    for memory in memories:
        memory.status = Status.EVICTED
        memory.save(update_fields=["status"])
