"""Carrying out a person's decisions about what waits, by the services, and taking them back (M6, L7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.accounts.models import User
from apps.core.errors import NotFound
from apps.core.http import read_uuid
from apps.memory.atomic.reviewing import accept_atomic_memory, reject_atomic_memory
from apps.memory.models import Change
from apps.memory.services import accept_memory, reject_memory, undo_operation, update_atomic_memory, update_memory
from apps.panel.review.queue import Kind
from apps.profile.models import ProfileProposal
from apps.profile.services import accept_proposal, reject_proposal, reopen_proposal

_RECENT_CHANGES = 500
"""Among which those of the decision just made are looked for."""


class Decision(StrEnum):
    """What is done with something that waits."""

    ACCEPT = "accept"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Part:
    """Of what takes a decision back: an operation to be undone, or a proposal to be opened again."""

    kind: str
    id: UUID


@dataclass(frozen=True, slots=True)
class Step:
    """All that one press of a key or button decided, newest first: what taking it back takes. `count`: decisions."""

    count: int
    parts: tuple[Part, ...]

    def write(self) -> str:
        """The text that the page keeps."""
        return ",".join([str(self.count), *(f"{part.kind}.{part.id}" for part in self.parts)])


def read_step(text: str) -> Step:
    """The step of a text that the page kept; raises `NotFound` for any other text."""
    count, *rest = text.split(",")
    if not count.isdecimal() or len(count) > 3 or not rest:
        raise NotFound("There is no such decision.")
    parts = []
    for written in rest:
        kind, _dot, found = written.partition(".")
        if kind not in ("operation", "proposal"):
            raise NotFound("There is no such decision.")
        parts.append(Part(kind=kind, id=read_uuid(found)))
    return Step(count=int(count), parts=tuple(parts))


@transaction.atomic
def decide(
    *, kind: Kind, row: Any, decision: Decision, now: datetime, edits: Mapping[str, Any] | None = None
) -> list[Part]:
    """Accept, with `edits` of its fields first, or reject something of its owner's; returns how to take that back.

    Raises what the services raise, with nothing changed.
    """
    user: User = row.user
    if kind is Kind.PROFILE:
        return _decide_proposal(user, row, decision=decision, now=now, text=(edits or {}).get("text"))
    services = _SERVICES[kind]
    if edits:
        services.update(user=user, memory_id=row.id, changes=edits, now=now)
    service = services.accept if decision is Decision.ACCEPT else services.reject
    service(user=user, memory_id=row.id, now=now)
    return _list_operations(user, now=now)


def _decide_proposal(user: User, row: Any, *, decision: Decision, now: datetime, text: str | None) -> list[Part]:
    if decision is Decision.ACCEPT:
        accept_proposal(user=user, proposal_id=row.id, now=now, text=text)
    else:
        reject_proposal(user=user, proposal_id=row.id)
    return [*_list_operations(user, now=now), Part(kind="proposal", id=row.id)]


@dataclass(frozen=True, slots=True)
class _Services:
    update: Callable[..., Any]
    accept: Callable[..., Any]
    reject: Callable[..., Any]


_SERVICES = {
    Kind.LONG_TERM: _Services(update=update_memory, accept=accept_memory, reject=reject_memory),
    Kind.ATOMIC: _Services(update=update_atomic_memory, accept=accept_atomic_memory, reject=reject_atomic_memory),
}


def _list_operations(user: User, *, now: datetime) -> list[Part]:
    """The operations recorded at `now`, which is this decision's alone, the last one first."""
    recent = Change.objects.filter(user=user).order_by("-id").values_list("operation", "created_at")
    operations = dict.fromkeys(operation for operation, at in recent[:_RECENT_CHANGES] if at == now)
    return [Part(kind="operation", id=operation) for operation in operations]


@transaction.atomic
def take_back(step: Step, *, owner: User | None, now: datetime) -> None:
    """Undo a step, all of it or nothing; `owner` None: whoever's it is. What is another person's is not there.

    Raises `NotFound`, and `Conflict` for what has changed since.
    """
    for part in step.parts:
        if part.kind == "operation":
            undo_operation(
                user=_find_owner(Change.objects.filter(operation=part.id), owner), operation=part.id, now=now
            )
        else:
            reopen_proposal(user=_find_owner(ProfileProposal.objects.filter(id=part.id), owner), proposal_id=part.id)


def _find_owner(rows: Any, owner: User | None) -> User:
    row = rows.select_related("user").first() if owner is None else rows.filter(user=owner).first()
    if row is None:
        raise NotFound("There is no such decision.")
    user: User = row.user
    return user


def join_decisions(decisions: Sequence[list[Part]]) -> Step:
    """One step of decisions made in this order: the last one is taken back first."""
    return Step(count=len(decisions), parts=tuple(part for parts in reversed(decisions) for part in parts))
