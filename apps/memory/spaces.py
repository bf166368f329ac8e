"""Moving what is remembered between spaces, and deleting a space with what is in it or without (P4)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_noop

from apps.accounts.models import Space, User
from apps.accounts.services.ledger import record_space
from apps.accounts.spaces import get_space, refuse_bound
from apps.conversations.models import Session, Work
from apps.conversations.queue import release_work
from apps.conversations.sessions import delete_sessions, get_session, move_sessions, update_session
from apps.core.errors import InvalidInput
from apps.memory.contexts import delete_context
from apps.memory.deletion import delete_memories, with_history
from apps.memory.kinds import KINDS, MemoryKind
from apps.memory.locking import lock_memories
from apps.memory.models import Change, SharedContext, Status
from apps.memory.writer import Writer


@dataclass(frozen=True, slots=True)
class Moved:
    """What a move did. `operation`: by which it is undone, None where nothing moved; `moved`: how many memories.

    `taken`: memories that stay where they are, as the space has an active one with the same key or content.
    """

    operation: UUID | None = None
    moved: int = 0
    taken: tuple[UUID, ...] = ()


def with_counts(spaces: QuerySet[Space]) -> QuerySet[Space]:
    """Annotate each space with how many conversations and active memories it has, in the query that reads the spaces.

    As `session_count` and `memory_count`.
    """

    def count(rows: QuerySet[Any]) -> Coalesce:
        mine = rows.filter(space=OuterRef("pk")).order_by().values("space").annotate(n=Count("pk")).values("n")
        return Coalesce(Subquery(mine), 0)

    memories = [count(kind.model.objects.filter(status=Status.ACTIVE)) for kind in KINDS]
    return spaces.annotate(session_count=count(Session.objects.all()), memory_count=memories[0] + memories[1])


def count_contents(space: Space) -> dict[str, int]:
    """Count what is in a space, by kind: memories of any status, ``context`` and ``session``; four queries."""
    tables: dict[str, type[Any]] = {str(kind.name): kind.model for kind in KINDS}
    tables |= {"context": SharedContext, "session": Session}
    return {name: table.objects.filter(user=space.user_id, space=space).count() for name, table in tables.items()}


def is_empty(space: Space) -> bool:
    """Whether nothing that `count_contents` counts is in the space."""
    return not any(count_contents(space).values())


def _find_target(user: User, space_id: UUID | None) -> UUID | None:
    refuse_bound(user)
    return None if space_id is None else get_space(user, space_id).id


@transaction.atomic
def move_memories(*, user: User, ids: Collection[UUID], space_id: UUID | None, now: datetime) -> Moved:
    """Move memories of both kinds, with their history, to a space; None: they are everywhere from now on.

    One operation, undone as one. IDs of none, of another person's, of what cannot be changed from here and of what is
    there already are passed over. Raises `NotFound` for a space that is not there, `Forbidden` where the person is
    bound to one.
    """
    target = _find_target(user, space_id)
    lock_memories(user)
    writer = Writer(user, now=now)
    moved, taken = _move(writer, user, {kind: list(ids) for kind in KINDS}, target)
    writer.save()
    return Moved(writer.operation if moved else None, moved, tuple(taken))


def _move(
    writer: Writer, user: User, ids: dict[MemoryKind, list[UUID]], target: UUID | None, *, ending: bool = False
) -> tuple[int, list[UUID]]:
    """Move these; how many, and those that stay. `ending`: what stands there already supersedes them, and they go."""
    moved, taken = 0, list[UUID]()
    for kind in KINDS:
        asked = kind.changeable(user).filter(id__in=ids[kind]).exclude(space=target)
        rows = {row.id: row for row in asked}
        identify = attrgetter(kind.identity)
        of_these = {f"{kind.identity}__in": {identify(row) for row in rows.values()}}
        there = {identify(row): row for row in kind.held(user.within(target)).filter(**of_these)}
        for row in list(rows.values()):
            if row.status != Status.ACTIVE:
                continue
            same = there.setdefault(identify(row), row)
            if same is row:  # of two with one identity, one moves
                continue
            if ending:
                writer.supersede(kind, row, by=same)
            else:
                taken.append(rows.pop(row.id).id)
        moved += len(rows)
        history = set(with_history(kind, user, list(rows))) - rows.keys()
        for row in [*rows.values(), *kind.changeable(user).filter(id__in=history).exclude(space=target)]:
            with writer.change(kind, row, Change.Action.MOVE):
                row.space_id = target
    return moved, taken


@transaction.atomic
def move_session(*, user: User, session_id: UUID, space_id: UUID | None, now: datetime) -> Moved:
    """Move a conversation to a space, or out of all, with its contexts and what was learned in it alone.

    That are the memories that name it as their session and are where it was. Runs that are learning from it start
    again. Undoing the operation brings the memories back; the conversation is moved back by itself.
    """
    target = _find_target(user, space_id)
    _start_again(user, now=now)
    # In the order in which turns lock: what is remembered, then the session.
    lock_memories(user)
    before = get_session(user, session_id, to_change=True).space_id
    if before == target:
        return Moved()
    update_session(user=user, session_id=session_id, changes={"space_id": target})
    SharedContext.objects.filter(user=user, session=session_id, space=before).update(space=target)
    Change.objects.filter(user=user, session=session_id).update(space=target)
    writer = Writer(user, now=now)
    learned = {
        kind: list(kind.rows(user).filter(session=session_id, space=before).values_list("id", flat=True))
        for kind in KINDS
    }
    moved, taken = _move(writer, user, learned, target)
    writer.save()
    return Moved(writer.operation if moved else None, moved, tuple(taken))


def _start_again(user: User, *, now: datetime) -> None:
    """Let runs that learn or summarise read anew where what they write goes.

    Before memories are locked: a run that writes takes its work first, and would wait for these locks in a circle.
    """
    for kind in (Work.Kind.EXTRACT, Work.Kind.SUMMARIZE):
        release_work(user=user, kind=kind, now=now)


@dataclass(frozen=True, slots=True)
class DeletedSpace:
    """What became of what was in a space, by kind: `moved` elsewhere, or `erased` for good.

    `verified`: the space was read back, and nothing was left in it.
    """

    moved: dict[str, int] = field(default_factory=dict)
    erased: dict[str, int] = field(default_factory=dict)
    verified: bool = True


@transaction.atomic
def delete_space(*, user: User, space_id: UUID, erase: bool, to: UUID | None = None, now: datetime) -> DeletedSpace:
    """Delete a space, and first move all that is in it to another or, `to` None, to everywhere; or erase it.

    A memory that has the key or content of one where it goes ends with it, as its history. Tokens that are bound to the
    space end. Final. Raises `NotFound` for a space that is not there; `InvalidInput` where both are the same.
    """
    space = get_space(user, space_id)
    if to == space.id:
        raise InvalidInput("to: Name another space.", fields={"to": [gettext_noop("Name another space.")]})
    target = _find_target(user, to)
    _start_again(user, now=now)
    lock_memories(user)
    sessions = Session.objects.filter(user=user, space=space)
    list(sessions.order_by("id").select_for_update(no_key=True))
    found = {kind: list(kind.rows(user).filter(space=space).values_list("id", flat=True)) for kind in KINDS}
    contexts = list(SharedContext.objects.filter(user=user, space=space).values_list("id", flat=True))
    counts = count_contents(space)
    if erase:
        for kind, ids in found.items():
            delete_memories(kind, user=user, ids=ids, now=now)
        for context_id in contexts:
            delete_context(user=user, context_id=context_id, now=now)
        delete_sessions(sessions)
        record_space(space.id)
    else:
        writer = Writer(user, now=now)
        _move(writer, user, found, target, ending=True)
        writer.save()
        move_sessions(sessions, to=target)
        SharedContext.objects.filter(id__in=contexts).update(space=target)
    Change.objects.filter(user=user, space=space).update(space=None if erase else target)
    verified = is_empty(space)
    space.delete()
    return DeletedSpace(erased=counts, verified=verified) if erase else DeletedSpace(moved=counts, verified=verified)
