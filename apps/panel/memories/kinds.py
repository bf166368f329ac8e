"""The two kinds of memories: the names of their fields and the services that write them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from django.db.models import QuerySet

from apps.accounts.models import User
from apps.memory.atomic import services as atomic
from apps.memory.atomic.selectors import DERIVED_FIELDS, search_content
from apps.memory.long_term import services as long_term
from apps.memory.long_term.selectors import search_text
from apps.memory.models import SEARCH_FIELDS, AtomicMemory, Change, LongTermMemory, Status
from apps.memory.services import accept_atomic_memory, forget_all, forget_memories, reject_atomic_memory

CHANGEABLE = (Status.ACTIVE, Status.PENDING)
"""The other statuses are history: readable, not editable."""


class Decide(Protocol):
    """Accept or reject a pending memory."""

    def __call__(self, *, user: User, memory_id: UUID, now: datetime) -> Any: ...


class Search(Protocol):
    """Narrow memories to those that hold what is looked for."""

    def __call__(self, memories: Any, text: str, *, by_index: bool | None = None) -> QuerySet[Any]: ...


class Update(Protocol):
    """Change fields of a memory."""

    def __call__(
        self, *, user: User, memory_id: UUID, changes: Mapping[str, Any], now: datetime, seen: datetime | None = None
    ) -> Any: ...


class Forget(Protocol):
    """Delete memories for good; returns how many of those asked for are gone."""

    def __call__(self, *, user: User, ids: Iterable[UUID], copies: bool, now: datetime) -> int: ...


class ForgetAll(Protocol):
    """Delete every memory of a person for good; returns how many."""

    def __call__(self, *, user: User, now: datetime) -> int: ...


class Mute(Protocol):
    """Mute memories, or no longer; returns how many were otherwise."""

    def __call__(self, *, user: User, ids: Collection[UUID], muted: bool, now: datetime) -> int: ...


@dataclass(frozen=True, slots=True)
class MemoryKind:
    """What a page has to know of a kind of memories. ``editable``: the fields that a person writes.

    ``text``: the field with what is remembered. ``derived``: what only search and comparison read of a row.
    ``made_at``: the field with the time it was stored. ``choices``: the fields with few values that lists are narrowed
    and counted by. ``sorts``: what a list can be sorted by, and the field for it. ``tagged``: whether there are tags.
    """

    change_kind: Change.Kind
    model: type[Any]
    editable: tuple[str, ...]
    text: str
    derived: tuple[str, ...]
    made_at: str
    choices: tuple[str, ...]
    sorts: Mapping[str, str]
    tagged: bool
    search: Search
    create: Callable[..., tuple[Any, Any]]
    update: Update
    accept: Decide
    reject: Decide
    mute: Mute
    forget: Forget
    forget_all: ForgetAll

    @property
    def name(self) -> str:
        """ "long_term" or "atomic"."""
        return str(self.change_kind.value)

    @property
    def list_name(self) -> str:
        """What the names of its pages' addresses begin with."""
        return f"{self.model._meta.app_label}_{self.model._meta.model_name}"


def _forget_long_term(*, user: User, ids: Iterable[UUID], copies: bool, now: datetime) -> int:
    return forget_memories(user=user, ids=ids, copies=copies, now=now).deleted


def _forget_atomic(*, user: User, ids: Iterable[UUID], copies: bool, now: datetime) -> int:
    return atomic.forget_atomic_memories(user=user, ids=ids, now=now)


LONG_TERM = MemoryKind(
    change_kind=Change.Kind.LONG_TERM,
    model=LongTermMemory,
    editable=long_term.EDITABLE_FIELDS,
    text="value",
    derived=("normalized_key", "normalized_value", *SEARCH_FIELDS),
    made_at="created_at",
    choices=("status", "category", "source"),
    sorts={
        "created": "created_at",
        "updated": "updated_at",
        "used": "last_accessed",
        "uses": "access_count",
        "confidence": "confidence",
        "key": "normalized_key",
    },
    tagged=False,
    search=search_text,
    create=long_term.create_memory,
    update=long_term.update_memory,
    accept=long_term.accept_memory,
    reject=long_term.reject_memory,
    mute=long_term.mute_memories,
    forget=_forget_long_term,
    forget_all=forget_all,
)

ATOMIC = MemoryKind(
    change_kind=Change.Kind.ATOMIC,
    model=AtomicMemory,
    editable=atomic.EDITABLE_FIELDS,
    text="content",
    derived=DERIVED_FIELDS,
    made_at="create_time",
    choices=("status",),
    sorts={"created": "create_time", "updated": "updated_at", "said": "timestamp", "happened": "event_start"},
    tagged=True,
    search=search_content,
    create=atomic.create_atomic_memory,
    update=atomic.update_atomic_memory,
    accept=accept_atomic_memory,
    reject=reject_atomic_memory,
    mute=atomic.mute_atomic_memories,
    forget=_forget_atomic,
    forget_all=atomic.forget_all_atomic_memories,
)

BOTH = (LONG_TERM, ATOMIC)


def list_choices(kinds: Collection[MemoryKind]) -> list[str]:
    """The fields that a list of these kinds is narrowed by; only memories that have a field have a value of it."""
    return list(dict.fromkeys(name for kind in kinds for name in kind.choices))


def list_sorts(kinds: Sequence[MemoryKind]) -> list[str]:
    """What a list of these kinds can be sorted by: what they all have."""
    return [name for name in kinds[0].sorts if all(name in kind.sorts for kind in kinds)]
