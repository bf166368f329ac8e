"""Reading the audit record (L7)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Max, Q, QuerySet

from apps.accounts.models import User
from apps.memory.history.types import Snapshot
from apps.memory.models import Change

_BY_HAND = (Change.Action.CREATE, Change.Action.EDIT, Change.Action.MERGE, Change.Action.REFRESH)


def list_changes(user: User) -> QuerySet[Change]:
    """Return the changes of what is remembered of a person, newest first."""
    return Change.objects.filter(user=user).select_related("actor").order_by("-id")


def find_states_since(*, user: User, object_ids: Collection[UUID], since: datetime) -> dict[UUID, Snapshot | None]:
    """Return what objects were at a time, by ID, for those that have changed since; one query.

    None: of what it was nothing is left, as the object has been deleted. What is not in the answer is as it was.
    """
    changes = Change.objects.filter(user=user, object_id__in=object_ids, created_at__gt=since)
    rows = changes.order_by("object_id", "id").distinct("object_id")
    return dict(rows.values_list("object_id", "before"))


def list_recorded(*, user: User, kind: Change.Kind, where: Callable[[str], bool]) -> set[UUID]:
    """Return the objects of a kind of which a record, of before or after a change, holds a text `where` is true of."""
    records = Change.objects.filter(Q(before__isnull=False) | Q(after__isnull=False), user=user, kind=kind)
    rows = records.values_list("object_id", "before", "after")
    return {object_id for object_id, *states in rows if any(map(where, _list_texts(states)))}


def list_caused_operations(
    user: User, *, session_ids: Collection[UUID], before: int | None, limit: int
) -> list[tuple[int, UUID]]:
    """Return the operations that messages of these sessions caused and that are not undone, newest first.

    Each with the ID of its newest record, to continue from with `before`. Deletions are not among them.
    """
    changes = Change.objects.filter(user=user, message__session__in=session_ids, undone_by__isnull=True)
    changes = changes.exclude(action__in=(Change.Action.UNDO, Change.Action.DELETE))
    newest = changes.order_by().values("operation").annotate(newest=Max("id"))
    if before is not None:
        newest = newest.filter(newest__lt=before)
    return [(row["newest"], row["operation"]) for row in newest.order_by("-newest")[:limit]]


def find_written_by_owner(user: User, memory_ids: Collection[UUID]) -> set[UUID]:
    """Return those that their owner wrote or edited by hand, through the API or in the panel."""
    by_hand = Change.objects.filter(
        user=user,
        object_id__in=memory_ids,
        origin__in=[Change.Origin.API, Change.Origin.PANEL],
        action__in=_BY_HAND,
        undone_by=None,
    )
    return set(by_hand.values_list("object_id", flat=True))


def _list_texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, item in value.items():
                yield name
                yield from _list_texts(item)
        case list():
            for item in value:
                yield from _list_texts(item)
