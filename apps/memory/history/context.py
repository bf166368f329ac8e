"""Who is behind the changes that services record (L7): said once at the door, not in every signature."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from apps.accounts.models import User
from apps.memory.models import Change


@dataclass(frozen=True, slots=True)
class Author:
    """Where a change comes from, and who made it; `actor` None: the machine by itself."""

    origin: Change.Origin
    actor: User | None


_author: ContextVar[Author | None] = ContextVar("author", default=None)


@contextmanager
def changed_by(*, origin: Change.Origin, actor: User | None) -> Iterator[None]:
    """Within the block, changes are recorded as made by `actor` (None: by the machine) through `origin`."""
    token = _author.set(Author(origin=origin, actor=actor))
    try:
        yield
    finally:
        _author.reset(token)


def get_author(owner: User) -> Author:
    """Return who makes changes now: outside of `changed_by` the owner themself, through the API."""
    return _author.get() or Author(origin=Change.Origin.API, actor=owner)
