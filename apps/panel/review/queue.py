"""What waits for a person's decision, of every kind in one queue (M6): memories of both kinds, and the profile's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import CharField, F, FloatField, QuerySet, TextChoices, Value
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.core.db import fetch_rows
from apps.memory.models import SEARCH_FIELDS, AtomicMemory, Category, LongTermMemory, Status
from apps.profile.models import ProfileProposal


class Kind(TextChoices):
    """What kind of thing waits."""

    LONG_TERM = "long_term", _("Long-term memories")
    ATOMIC = "atomic", _("Atomic memories")
    PROFILE = "profile", _("Profile proposals")


class Order(TextChoices):
    """What comes first. Only long-term memories say how sure they are; the others follow them, newest first."""

    NEWEST = "newest", _("Newest first")
    OLDEST = "oldest", _("Oldest first")
    SUREST = "surest", _("Highest confidence first")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which part of the queue is looked at. `owner` None: everybody's. A category only long-term memories have."""

    owner: User | None
    kind: Kind | None = None
    category: Category | None = None
    order: Order = Order.NEWEST


@dataclass(frozen=True, slots=True)
class Waiting:
    """What the queue holds of one thing."""

    kind: Kind
    id: UUID


_ORDERS = {
    Order.NEWEST: (F("made_at").desc(), F("id").desc()),
    Order.OLDEST: (F("made_at").asc(), F("id").asc()),
    Order.SUREST: (F("sureness").desc(), F("made_at").desc(), F("id").desc()),
}

_COUNT = """
SELECT 'long_term', count(*) FROM long_term_memory
WHERE status = 'pending' AND (%(user)s::bigint IS NULL OR user_id = %(user)s)
UNION ALL
SELECT 'atomic', count(*) FROM atomic_memory
WHERE status = 'pending' AND (%(user)s::bigint IS NULL OR user_id = %(user)s)
UNION ALL
SELECT 'profile', count(*) FROM profile_proposal
WHERE status = 'pending' AND (%(user)s::bigint IS NULL OR user_id = %(user)s)
"""


def count_pending(owner: User | None) -> dict[Kind, int]:
    """How many of each kind wait, of everybody with None. One query, answered by the indexes of what is pending."""
    rows = fetch_rows(_COUNT, {"user": None if owner is None else owner.pk})
    return {Kind(kind): count for kind, count in rows}


def list_waiting(selection: Selection, *, limit: int) -> tuple[list[Waiting], bool]:
    """The first `limit` of a part of the queue, and whether there are more. One query."""
    sources = [_source(kind, selection) for kind in Kind if _may_hold(kind, selection)]
    if not sources:
        return [], False
    queue = sources[0].union(*sources[1:], all=True) if len(sources) > 1 else sources[0]
    rows = list(queue.order_by(*_ORDERS[selection.order])[: limit + 1])
    return [Waiting(kind=Kind(kind), id=found) for kind, found, _made_at, _sureness in rows[:limit]], len(rows) > limit


def _may_hold(kind: Kind, selection: Selection) -> bool:
    if selection.category is not None:
        return kind is Kind.LONG_TERM and selection.kind in (None, kind)
    return selection.kind in (None, kind)


def _source(kind: Kind, selection: Selection) -> QuerySet[Any, Any]:
    rows = list_rows(kind, selection.owner)
    if selection.category is not None:
        rows = rows.filter(category=selection.category)
    unknown = Value(-1.0, output_field=FloatField())
    places: QuerySet[Any, Any] = rows.annotate(
        what=Value(kind.value, output_field=CharField()),
        made_at=F("create_time" if kind is Kind.ATOMIC else "created_at"),
        sureness=F("confidence") if kind is Kind.LONG_TERM else unknown,
    ).values_list("what", "id", "made_at", "sureness")
    return places


def list_rows(kind: Kind, owner: User | None) -> QuerySet[Any]:
    """The pending rows of a kind, of everybody with None, without order and without what only search reads."""
    rows: QuerySet[Any]
    match kind:
        case Kind.LONG_TERM:
            rows = LongTermMemory.objects.filter(status=Status.PENDING).defer(*SEARCH_FIELDS)
        case Kind.ATOMIC:
            rows = AtomicMemory.objects.filter(status=Status.PENDING).defer("terms")
        case Kind.PROFILE:
            rows = ProfileProposal.objects.filter(status="pending")
    rows = rows.order_by()
    return rows if owner is None else rows.filter(user=owner)
