"""Reading memories as they were at a time: those unchanged since from their table, the others from their records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, Max, OuterRef, QuerySet

from apps.accounts.models import User
from apps.memory.changes.types import CREATE, Past, Record, Snapshot, find_state
from apps.memory.kinds import MemoryKind
from apps.memory.models import Change


@dataclass(frozen=True, slots=True)
class PastObjects:
    """The objects of a kind at a time, of those that are not deleted now.

    `unchanged`: the rows that are what they were. `changed`: what the others were, by ID. `unknown`: how many there
    were perhaps, of which nothing is left to tell what they were.
    """

    at: datetime
    unchanged: QuerySet[Any]
    changed: Mapping[UUID, Snapshot]
    unknown: int


def read_past(kind: MemoryKind, user: User, *, at: datetime) -> PastObjects:
    """Return what the person's memories of a kind, of every status, were at a time.

    One query, whatever the number of rows; `unchanged` is for the caller to ask.
    """
    rows = kind.rows(user)
    later = Change.objects.filter(user=user, kind=kind.change_kind, created_at__gt=at)
    first = later.order_by("object_id", "id").distinct("object_id")
    told = Change.objects.filter(pk__in=first.values("pk")).exclude(action=CREATE)
    # What was new has no state before, and is not read: with an early time that is nearly everything.
    told = told.exclude(before__isnull=True, after__isnull=False).order_by()
    living = rows.order_by().values("pk")
    changed: dict[UUID, Snapshot] = {}
    unknown = 0
    columns = ("object_id", "action", "before", "after", "created_at")
    for values in told.filter(object_id__in=living).values_list(*columns):
        state = find_state([Record(*values)], at=at, made_at=at)
        if state is Past.UNKNOWN:
            unknown += 1
        elif not isinstance(state, Past):
            changed[values[0]] = state
    same = rows.filter(~Exists(later.filter(object_id=OuterRef("pk"))), **{f"{kind.made_at}__lte": at})
    return PastObjects(at=at, unchanged=same, changed=changed, unknown=unknown)


def is_wanted(kind: MemoryKind, state: Snapshot, wanted: Mapping[str, Any]) -> bool:
    """Whether what a memory was passes the cleaned values of the filters of its list, as far as records tell."""
    for name, value in wanted.items():
        if value is None or value == "":
            continue
        match name:
            case "status":
                passes = state["status"] in value
            case "search":
                passes = not value.strip() or kind.holds(state, value)
            case "since":
                passes = datetime.fromisoformat(state[kind.said_at]) >= value
            case "until":
                passes = datetime.fromisoformat(state[kind.said_at]) <= value
            case "tags":
                passes = {tag.strip() for tag in value.split(",") if tag.strip()} <= set(state["tags"])
            case _:
                passes = name not in kind.tracked or state.get(name, False) == value
        if not passes:
            return False
    return True


def list_untracked(kind: MemoryKind, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of those filters that no record has a field for: they apply to what the memories are now."""
    return {
        name: value for name, value in wanted.items() if value and name in kind.api_fields and name not in kind.tracked
    }


def count_deleted_since(user: User, *, kinds: Collection[Change.Kind], at: datetime) -> int:
    """Return how many objects that there were at a time have been deleted: all that is kept of them is that."""
    deleted = Change.objects.filter(user=user, kind__in=kinds, action=Change.Action.DELETE, created_at__gt=at)
    before = Change.objects.filter(user=user, object_id=OuterRef("object_id"), created_at__lte=at)
    return deleted.filter(Exists(before)).values("object_id").distinct().count()


def put_back_all(kind: MemoryKind, past: PastObjects, *, user: User, rows: Iterable[Any]) -> None:
    """Give those of the rows that have changed since what they had; `updated_at` too. One query, or none.

    They are not to be saved.
    """
    altered = {row.pk: row for row in rows if row.pk in past.changed}
    if not altered:
        return
    earlier = Change.objects.filter(user=user, object_id__in=list(altered), created_at__lte=past.at).order_by()
    last = dict(earlier.values("object_id").annotate(last=Max("created_at")).values_list("object_id", "last"))
    for row_id, row in altered.items():
        kind.put_back(row, past.changed[row_id])
        row.updated_at = last.get(row_id, row.updated_at)
