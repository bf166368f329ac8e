"""The kinds of objects whose changes can be undone; each says how it is read and restored, in its app's `ready`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from apps.accounts.models import User
from apps.memory.history.types import Snapshot


class Restore(Protocol):
    """Bring rows back to what a snapshot says, None: to before they were made. Raises `Conflict` where that clashes."""

    def __call__(self, *, user: User, rows: Sequence[tuple[Any, Snapshot | None]], now: datetime) -> None: ...


@dataclass(frozen=True, slots=True)
class TrackedKind:
    """One kind. `lock` keeps out whoever writes objects of this kind of a person, until the transaction ends.

    `let_go`: of rows that `restore` has rejected, as they did not exist before: make them history that may be learned
    again. None for what is not learned.
    """

    lock: Callable[[User], None]
    read: Callable[[User, Collection[UUID]], Mapping[UUID, Any]]
    snapshot: Callable[[Any], Snapshot]
    restore: Restore
    let_go: Callable[[Sequence[Any]], None] | None = None


_kinds: dict[str, TrackedKind] = {}


def register_kind(kind: str, tracked: TrackedKind) -> None:
    """Let changes of a kind be undone."""
    _kinds[kind] = tracked


def get_kind(kind: str) -> TrackedKind:
    """Return how objects of a kind are restored; every kind of `Change.Kind` is registered when Django is ready."""
    return _kinds[kind]
