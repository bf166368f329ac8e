"""Undoing changes from their audit records (L7). Undoing is a change itself: undoing that does it again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from apps.accounts.models import User
from apps.core.errors import Conflict, NotFound
from apps.memory.history.kinds import get_kind
from apps.memory.history.services import record_changes
from apps.memory.history.types import ChangeDraft
from apps.memory.models import Change


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
    if not ids:
        raise NotFound("This change does not exist.")
    kinds = {name: get_kind(name) for name in ids}
    for kind in kinds.values():
        kind.lock(user)
    # Objects before their records, in the order in which a deletion locks them.
    rows = {name: kind.read(user, ids[name]) for name, kind in kinds.items()}
    changes = list(recorded.order_by("id").select_for_update())
    if not changes:
        raise NotFound("This change does not exist.")  # it went with its session meanwhile
    _refuse_final(changes)
    for change in changes:
        row = rows[change.kind].get(change.object_id)
        if row is None or kinds[change.kind].snapshot(row) != change.after:
            raise Conflict("This was changed again later. Undo the later change first.", fields=_name(change))
    for name, kind in kinds.items():
        before = [(rows[name][change.object_id], change.before) for change in changes if change.kind == name]
        kind.restore(user=user, rows=before, now=now)
        if may_return and kind.let_go:
            kind.let_go([row for row, earlier in before if earlier is None])
    drafts = [
        ChangeDraft(
            kind=change.kind,
            action=Change.Action.UNDO,
            object_id=change.object_id,
            before=change.after,
            after=kinds[change.kind].snapshot(rows[change.kind][change.object_id]),
            session_id=change.session_id,
        )
        for change in changes
    ]
    (undoing,) = record_changes(user=user, changes=drafts, now=now).values()
    # What this brings back, if it undid something itself, can be undone once more.
    Change.objects.filter(user=user, undone_by=operation).update(undone_by=None)
    Change.objects.filter(user=user, operation=operation).update(undone_by=undoing)
    return undoing


@dataclass(frozen=True, slots=True)
class UndoneMaking:
    """The operation that undid the making of some objects, and of how many."""

    operation: UUID
    count: int


@transaction.atomic
def undo_making(*, user: User, kind: str, object_ids: Collection[UUID], now: datetime) -> UndoneMaking | None:
    """Bring objects back to before they were made, where no record of that is kept: one operation, to be undone itself.

    None where that changes nothing: another person's objects, and those of which it was undone already, stay.
    """
    tracked = get_kind(kind)
    tracked.lock(user)
    rows = list(tracked.read(user, object_ids).values())
    earlier = {row.pk: tracked.snapshot(row) for row in rows}
    tracked.restore(user=user, rows=[(row, None) for row in rows], now=now)
    drafts = [
        ChangeDraft(
            kind=kind,
            action=Change.Action.UNDO,
            object_id=row.pk,
            before=earlier[row.pk],
            after=tracked.snapshot(row),
        )
        for row in rows
    ]
    changed = [draft for draft in drafts if draft.before != draft.after]
    if not changed:
        return None
    (operation,) = record_changes(user=user, changes=changed, now=now).values()
    return UndoneMaking(operation=operation, count=len(changed))


def _refuse_final(changes: Sequence[Change]) -> None:
    for change in changes:
        if change.action == Change.Action.DELETE:
            raise Conflict("Deletions cannot be undone.", fields=_name(change))
        if change.after is None:
            raise Conflict("The changed item has since been deleted.", fields=_name(change))
        if change.undone_by is not None:
            raise Conflict("This change was already undone.", fields=_name(change))


def _name(change: Change) -> dict[str, str]:
    return {"object_id": str(change.object_id)}
