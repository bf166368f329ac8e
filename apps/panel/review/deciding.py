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
from apps.memory.models import Change
from apps.memory.services import (
    accept_atomic_memory,
    accept_memory,
    collect_operations,
    reject_atomic_memory,
    reject_memory,
    undo_operation,
    update_atomic_memory,
    update_memory,
)
from apps.panel.review.queue import Kind
from apps.profile.services import accept_proposal, reject_proposal


class Decision(StrEnum):
    """What is done with something that waits."""

    ACCEPT = "accept"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Step:
    """All that one press of a key or button decided: the operations to undo, newest first. `count`: decisions."""

    count: int
    operations: tuple[UUID, ...]

    def write(self) -> str:
        """The text that the page keeps."""
        return ",".join([str(self.count), *map(str, self.operations)])


def read_step(text: str) -> Step:
    """The step of a text that the page kept; raises `NotFound` for any other text."""
    count, *rest = text.split(",")
    if not count.isdecimal() or len(count) > 3 or not rest:
        raise NotFound("This decision does not exist.")
    return Step(count=int(count), operations=tuple(map(read_uuid, rest)))


@transaction.atomic
def decide(
    *, kind: Kind, row: Any, decision: Decision, now: datetime, edits: Mapping[str, Any] | None = None
) -> list[UUID]:
    """Accept, with `edits` of its fields first, or reject something of its owner's; returns the operations it took.

    The newest first. Raises what the services raise, with nothing changed.
    """
    user: User = row.user
    with collect_operations() as operations:
        if kind is Kind.PROFILE:
            _decide_proposal(user, row, decision=decision, now=now, text=(edits or {}).get("text"))
        else:
            services = _SERVICES[kind]
            if edits:
                services.update(user=user, memory_id=row.id, changes=edits, now=now)
            service = services.accept if decision is Decision.ACCEPT else services.reject
            service(user=user, memory_id=row.id, now=now)
    return operations[::-1]


def _decide_proposal(user: User, row: Any, *, decision: Decision, now: datetime, text: str | None) -> None:
    if decision is Decision.ACCEPT:
        accept_proposal(user=user, proposal_id=row.id, now=now, text=text)
    else:
        reject_proposal(user=user, proposal_id=row.id, now=now)


@dataclass(frozen=True, slots=True)
class _Services:
    update: Callable[..., Any]
    accept: Callable[..., Any]
    reject: Callable[..., Any]


_SERVICES = {
    Kind.LONG_TERM: _Services(update=update_memory, accept=accept_memory, reject=reject_memory),
    Kind.ATOMIC: _Services(update=update_atomic_memory, accept=accept_atomic_memory, reject=reject_atomic_memory),
}


@transaction.atomic
def take_back(step: Step, *, owner: User | None, now: datetime) -> None:
    """Undo a step, all of it or nothing; `owner` None: whoever's it is. What is another person's is not there.

    Raises `NotFound`, and `Conflict` for what has changed since.
    """
    for operation in step.operations:
        undo_operation(user=_find_owner(operation, owner), operation=operation, now=now)


def _find_owner(operation: UUID, owner: User | None) -> User:
    changes = Change.objects.filter(operation=operation)
    change = changes.select_related("user").first() if owner is None else changes.filter(user=owner).first()
    if change is None:
        raise NotFound("This decision does not exist.")
    return change.user


def join_decisions(decisions: Sequence[list[UUID]]) -> Step:
    """One step of decisions made in this order: the last one is taken back first."""
    made = tuple(operation for operations in reversed(decisions) for operation in operations)
    return Step(count=len(decisions), operations=made)
