"""The audit record of changes (L7): who is behind them, writing them with what they record, reading them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.db.models import Max, Q, QuerySet

from apps.accounts.models import User
from apps.accounts.services.people import get_program
from apps.accounts.spaces import seen_from
from apps.conversations.sessions import forget_rounds
from apps.core.db import insert_rows
from apps.memory.models import Change, Status
from apps.webhooks.models import Event
from apps.webhooks.services import Item, announce

# What a person could care for of an object, as JSON: no vectors, no counters, nothing derived.
Snapshot = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChangeDraft:
    """One change of one object: `before` is None for a new one.

    Drafts of one call with the same `group` are one operation: undone together or not at all. `session_id`: the session
    that the object goes with when it is deleted, None for what outlives its session. `operation`: the ID of an
    operation that several calls are part of, in place of `group`. `message_id`: what was said that caused the change.
    `space_id`: where the object is. `reason`: see `Change`.
    """

    kind: str
    action: str
    object_id: UUID
    before: Snapshot | None
    after: Snapshot
    group: str = ""
    session_id: UUID | None = None
    operation: UUID | None = None
    message_id: UUID | None = None
    space_id: UUID | None = None
    reason: str = ""


Origin = Change.Origin  # where changes come from (L7)


@dataclass(frozen=True, slots=True)
class Author:
    """Where a change comes from, and who made it; `actor` None: the assistant by itself."""

    origin: Change.Origin
    actor: User | None


_author: ContextVar[Author | None] = ContextVar("author", default=None)


@contextmanager
def changed_by(*, origin: Change.Origin, actor: User | None) -> Iterator[None]:
    """Within the block, changes are recorded as made by `actor` (None: by the assistant) through `origin`."""
    token = _author.set(Author(origin=origin, actor=actor))
    try:
        yield
    finally:
        _author.reset(token)


_operations: ContextVar[list[UUID] | None] = ContextVar("operations", default=None)


@contextmanager
def collect_operations() -> Iterator[list[UUID]]:
    """Within the block, the IDs of the operations that are recorded join the list, so that undoing can be offered."""
    operations: list[UUID] = []
    token = _operations.set(operations)
    try:
        yield operations
    finally:
        _operations.reset(token)


def note_operations(operations: Iterable[UUID]) -> None:
    """Tell whoever collects them (`collect_operations`) of operations that were recorded."""
    collected = _operations.get()
    if collected is not None:
        collected.extend(operation for operation in operations if operation not in collected)


def get_author(owner: User) -> Author:
    """Return who makes changes now: outside of `changed_by` the owner themself, through the API."""
    return _author.get() or Author(origin=Change.Origin.API, actor=owner)


@dataclass(frozen=True, slots=True)
class TrackedKind:
    """One kind. `lock` keeps out whoever writes objects of this kind of a person, until the transaction ends.

    `restore`: bring rows (with `user` and `now`) back to what a snapshot says, None: to before they were made; raises
    `Conflict` where that clashes. `let_go`: of rows that `restore` has rejected, as they did not exist before: make
    them history that may be learned again. None for what is not learned.
    """

    read: Callable[[User, Collection[UUID]], Mapping[UUID, Any]]
    snapshot: Callable[[Any], Snapshot]
    restore: Callable[..., None]
    lock: Callable[[User], object] = lambda _user: None
    let_go: Callable[[Sequence[Any]], None] | None = None


_kinds: dict[str, TrackedKind] = {}


def register_kind(kind: str, tracked: TrackedKind) -> None:
    """Let changes of a kind be undone."""
    _kinds[kind] = tracked


def get_kind(kind: str) -> TrackedKind:
    """Return how objects of a kind are restored; every kind of `Change.Kind` is registered when Django is ready."""
    return _kinds[kind]


def describe_change(kind: str, changed: Any, *, action: str, before: Snapshot | None, **fields: Any) -> ChangeDraft:
    """Return the record of a change of an object of a kind, as it is now; `fields`: the others of `ChangeDraft`."""
    return ChangeDraft(kind, action, changed.pk, before=before, after=get_kind(kind).snapshot(changed), **fields)


_REQUESTS = (Change.Origin.API, Change.Origin.TURN)

# Deletions of one call are one operation. One statement for any number of objects.
_FORGET = """
WITH emptied AS (
    UPDATE memory_change SET before = NULL, after = NULL, reason = ''
    WHERE user_id = %(user)s AND kind = %(kind)s AND object_id = ANY (%(ids)s)
)
INSERT INTO memory_change (user_id, actor_id, origin, action, kind, object_id, operation, created_at, space_id)
SELECT %(user)s, %(actor)s, %(origin)s, %(action)s, %(kind)s, object_id, %(operation)s, %(now)s, (
    SELECT space_id FROM memory_change AS last WHERE last.object_id = deleted.object_id ORDER BY id DESC LIMIT 1
)
FROM unnest(%(ids)s) AS deleted (object_id)
"""


def record_changes(*, user: User, changes: Iterable[ChangeDraft], now: datetime) -> dict[str, UUID]:
    """Record what was changed of a person's memory; returns the ID of the operation of each group.

    A change that names its operation joins that one.

    `get_author` knows who did it. What is as it was before is no change. One INSERT, or none.
    """
    author = get_author(user)
    via = get_program() if author.origin in _REQUESTS else ""
    operations: defaultdict[str, UUID] = defaultdict(uuid4)
    rows = [
        Change(
            user=user,
            actor_id=author.actor.pk if author.actor else None,
            origin=author.origin,
            action=change.action,
            kind=change.kind,
            object_id=change.object_id,
            before=change.before,
            after=change.after,
            operation=change.operation or operations[change.group],
            session_id=change.session_id,
            message_id=change.message_id,
            space_id=change.space_id,
            reason=change.reason,
            via=via,
            created_at=now,
        )
        for change in changes
        if change.before != change.after
    ]
    insert_rows(rows)
    if rows:
        announce_changes(user, rows, now=now)
    note_operations(dict.fromkeys(row.operation for row in rows))
    return dict(operations)


def announce_changes(user: User, changes: Iterable[Change], *, now: datetime) -> None:
    """Tell webhooks of recorded changes, and of what waits for review since."""
    announce(
        user=user,
        told={
            Event.MEMORY_CHANGED: (
                {**_name(change), "action": change.action, "operation": change.operation} for change in changes
            ),
            Event.REVIEW_WAITING: (_name(change) for change in changes if _has_begun_to_wait(change)),
        },
        now=now,
    )


def _name(change: Change) -> Item:
    return {"kind": change.kind, "id": change.object_id, "space_id": change.space_id}


def _has_begun_to_wait(change: Change) -> bool:
    before, after = ((state or {}).get("status") for state in (change.before, change.after))
    return after == Status.PENDING != before


def follow_moves(user: User, changes: Iterable[ChangeDraft]) -> None:
    """Let the earlier records of what has moved be seen where it is now, and nowhere else (P4)."""
    moved: defaultdict[UUID | None, list[UUID]] = defaultdict(list)
    for change in changes:
        moved[change.space_id].append(change.object_id)
    for space_id, ids in moved.items():
        Change.objects.filter(user=user, object_id__in=ids).update(space=space_id)


def stop_recalling_sources(user: User, memories: QuerySet[Any]) -> None:
    """Let no later turn recall the messages that these memories are from: they are about to be deleted (A5, L6).

    Those that said or repeated them, as far as the audit record or the memory itself knows.
    """
    known = dict(memories.values_list("id", "message_id"))
    caused = Change.objects.filter(user=user, object_id__in=known, message__isnull=False)
    forget_rounds(user=user, message_ids={*filter(None, known.values()), *caused.values_list("message_id", flat=True)})


def empty_history(*, user: User, kind: Change.Kind, object_ids: Collection[UUID]) -> None:
    """Empty the records of objects that stay while a text they once held is deleted (L6); records no deletion."""
    Change.objects.filter(user=user, kind=kind, object_id__in=object_ids).update(before=None, after=None, reason="")


def forget_history(*, user: User, kind: Change.Kind, object_ids: Collection[UUID], now: datetime) -> None:
    """Empty the records of objects that are being deleted; what stays is who deleted them, when, and their IDs (L7)."""
    if not object_ids:
        return
    author, operation = get_author(user), uuid4()
    values = {
        "user": user.pk,
        "actor": author.actor.pk if author.actor else None,
        "origin": author.origin,
        "action": Change.Action.DELETE,
        "kind": kind,
        "ids": list(object_ids),
        "operation": operation,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, values)
    announce_changes(user, Change.objects.filter(user=user, operation=operation), now=now)


_BY_HAND = (Change.Action.CREATE, Change.Action.EDIT, Change.Action.MERGE, Change.Action.REFRESH)


def list_changes(user: User) -> QuerySet[Change]:
    """Return the changes of what is remembered of a person, newest first."""
    return Change.objects.filter(seen_from(user), user=user).select_related("actor").order_by("-id")


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
