"""Who is behind the changes that services record (L7): said once at the door, not in every signature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID

from apps.accounts.models import User
from apps.memory.models import Change


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
