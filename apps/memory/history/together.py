"""Undoing many operations as one: what came from one source, such as an import that turned out to be poisoned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from django.db import transaction

from apps.accounts.models import User
from apps.core.errors import Conflict, NotFound
from apps.memory.history.authorship import collect_operations, note_operations
from apps.memory.history.kinds import get_kind
from apps.memory.history.undo import undo_making, undo_operation
from apps.memory.models import Change

MOST_TOGETHER = 500
"""Operations that are undone in one transaction."""


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
    undoing: list[UUID] = []
    wanted = list(dict.fromkeys(operations))[:MOST_TOGETHER]
    kinds = Change.objects.filter(user=user, operation__in=wanted).order_by().values_list("kind", flat=True)
    for name in sorted({*kinds.distinct(), *(made or ())}):
        get_kind(name).lock(user)  # all in the order in which each undo takes its own, or two could wait for each other
    with collect_operations():  # not to be offered one by one
        for operation in wanted:
            try:
                undoing.append(undo_operation(user=user, operation=operation, now=now))
            except (Conflict, NotFound):
                continue
        undone, kept = len(undoing), len(wanted) - len(undoing)
        for name, ids in (made or {}).items():
            if done := undo_making(user=user, kind=name, object_ids=ids, now=now):
                undoing.append(done.operation)
                undone += done.count
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
