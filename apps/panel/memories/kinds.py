"""The two kinds of memories: the names of their fields and the services that write them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.accounts.models import User
from apps.core.text.json_text import json_text
from apps.memory import services
from apps.memory.atomic import services as atomic
from apps.memory.atomic.selectors import DERIVED_FIELDS, search_content
from apps.memory.long_term import services as long_term
from apps.memory.long_term.selectors import search_text
from apps.memory.long_term.types import Action
from apps.memory.models import SEARCH_FIELDS, AtomicMemory, Change, LongTermMemory, Status
from apps.memory.selectors import (
    combine_contents,
    combine_values,
    retrieve_atomic_memories,
    retrieve_relevant_memories,
)

# The other statuses are history: readable, not editable.
CHANGEABLE = (Status.ACTIVE, Status.PENDING)


@dataclass(frozen=True, slots=True)
class MemoryKind:
    """What a page has to know of a kind of memories. ``editable``: the fields that a person writes.

    ``text``: the field with what is remembered. ``derived``: what only search and comparison read of a row.
    ``made_at``: the field with the time it was stored. ``choices``: the fields with few values that lists are narrowed
    and counted by. ``sorts``: what a list can be sorted by, and the field for it. ``tagged``: whether there are tags.
    ``tell``: a memory in one line, as it is searched for.

    The services take the user, the memory's ID or IDs, and ``now``.
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
    tell: Callable[[Any], str]
    search: Callable[..., Any]
    suggest: Callable[..., Sequence[Any]]
    combine: Callable[[Any, Any], Any]
    create: Callable[..., tuple[Any, Any]]
    update: Callable[..., Any]
    supersede: Callable[..., Any]
    merge: Callable[..., Any]
    restore: Callable[..., Any]
    accept: Callable[..., Any]
    reject: Callable[..., Any]
    mute: Callable[..., int]
    forget: Callable[..., int]
    forget_all: Callable[..., int]

    @property
    def name(self) -> str:
        """ "long_term" or "atomic"."""
        return str(self.change_kind.value)

    @property
    def base(self) -> str:
        """What the names of its pages' addresses begin with, in their namespace."""
        return f"admin:{self.model._meta.app_label}_{self.model._meta.model_name}"


def _supersede_long_term(*, user: User, memory: LongTermMemory, text: Any, now: datetime) -> LongTermMemory:
    successor, action = long_term.create_memory(
        user=user, category=memory.category, key=memory.key, value=text, now=now
    )
    return memory if action is Action.REFRESHED else successor


def _supersede_atomic(*, user: User, memory: AtomicMemory, text: str, now: datetime) -> AtomicMemory:
    return services.supersede_atomic_memory(user=user, memory_id=memory.pk, content=text, now=now)


def _forget_long_term(*, user: User, ids: Iterable[UUID], copies: bool, now: datetime) -> int:
    return services.forget_memories(user=user, ids=ids, copies=copies, now=now).deleted


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
    tell=lambda memory: f"{memory.key} {json_text(memory.value)}",
    search=search_text,
    suggest=lambda text, **how: retrieve_relevant_memories(message=text, **how),
    combine=combine_values,
    create=long_term.create_memory,
    update=long_term.update_memory,
    supersede=_supersede_long_term,
    merge=lambda text, **how: services.merge_memories(value=text, **how),
    restore=services.bring_back_memory,
    accept=long_term.accept_memory,
    reject=long_term.reject_memory,
    mute=long_term.mute_memories,
    forget=_forget_long_term,
    forget_all=services.forget_all,
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
    tell=lambda memory: str(memory.content),
    search=search_content,
    suggest=lambda text, **how: retrieve_atomic_memories(query=text, **how),
    combine=combine_contents,
    create=atomic.create_atomic_memory,
    update=atomic.update_atomic_memory,
    supersede=_supersede_atomic,
    merge=lambda text, **how: services.merge_atomic_memories(content=text, **how),
    restore=services.bring_back_atomic_memory,
    accept=services.accept_atomic_memory,
    reject=services.reject_atomic_memory,
    mute=atomic.mute_atomic_memories,
    forget=_forget_atomic,
    forget_all=atomic.forget_all_atomic_memories,
)

BOTH = (LONG_TERM, ATOMIC)
KINDS = {kind.name: kind for kind in BOTH}


def list_choices(kinds: Collection[MemoryKind]) -> list[str]:
    """Return the fields that a list of these kinds is narrowed by; only memories that have a field have a value."""
    return list(dict.fromkeys(name for kind in kinds for name in kind.choices))


def list_sorts(kinds: Sequence[MemoryKind]) -> list[str]:
    """Return what a list of these kinds can be sorted by: what they all have."""
    return [name for name in kinds[0].sorts if all(name in kind.sorts for kind in kinds)]
