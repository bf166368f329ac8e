"""The two kinds of memories: what pages add to their declarations (`apps.memory.kinds`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.accounts.models import User
from apps.memory import kinds
from apps.memory.entries import create_memory
from apps.memory.keyed import Action
from apps.memory.lifecycle import create_atomic_memory, supersede_atomic_memory
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.memory.recall.atomic import retrieve_atomic_memories
from apps.memory.recall.long_term import retrieve_relevant_memories

# The other statuses are history: readable, not editable.
CHANGEABLE = kinds.CURRENT


@dataclass(frozen=True, slots=True)
class MemoryKind:
    """What a page has to know of a kind of memories. ``memory``: its declaration, which the services take.

    ``text``: the field with what is remembered. ``choices``: the fields with few values that lists are narrowed and
    counted by. ``sorts``: what a list can be sorted by, and the field for it. ``tagged``: whether there are tags.
    """

    memory: kinds.MemoryKind
    text: str
    choices: tuple[str, ...]
    sorts: Mapping[str, str]
    tagged: bool
    suggest: Callable[..., Sequence[Any]]
    create: Callable[..., tuple[Any, Any]]
    supersede: Callable[..., Any]

    @property
    def name(self) -> str:
        """ "long_term" or "atomic"."""
        return self.memory.name.value

    @property
    def model(self) -> type[Any]:
        return self.memory.model

    @property
    def base(self) -> str:
        """What the names of its pages' addresses begin with, in their namespace."""
        return f"admin:{self.model._meta.app_label}_{self.model._meta.model_name}"


def _supersede_long_term(*, user: User, memory: LongTermMemory, text: Any, now: datetime) -> LongTermMemory:
    there = user.within(memory.space_id)
    successor, action = create_memory(user=there, category=memory.category, key=memory.key, value=text, now=now)
    return memory if action is Action.REFRESHED else successor


def _supersede_atomic(*, user: User, memory: AtomicMemory, text: str, now: datetime) -> AtomicMemory:
    return supersede_atomic_memory(user=user, memory_id=memory.pk, content=text, now=now)


LONG_TERM = MemoryKind(
    memory=kinds.LONG_TERM,
    text="value",
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
    suggest=lambda text, **how: retrieve_relevant_memories(message=text, **how),
    create=create_memory,
    supersede=_supersede_long_term,
)

ATOMIC = MemoryKind(
    memory=kinds.ATOMIC,
    text="content",
    choices=("status", "source"),
    sorts={"created": "create_time", "updated": "updated_at", "said": "timestamp", "happened": "event_start"},
    tagged=True,
    suggest=lambda text, **how: retrieve_atomic_memories(query=text, **how),
    create=create_atomic_memory,
    supersede=_supersede_atomic,
)

BOTH = (LONG_TERM, ATOMIC)
KINDS = {kind.name: kind for kind in BOTH}


def list_choices(kinds: Collection[MemoryKind]) -> list[str]:
    """Return the fields that a list of these kinds is narrowed by; only memories that have a field have a value."""
    return list(dict.fromkeys(name for kind in kinds for name in kind.choices))


def list_sorts(kinds: Sequence[MemoryKind]) -> list[str]:
    """Return what a list of these kinds can be sorted by: what they all have."""
    return [name for name in kinds[0].sorts if all(name in kind.sorts for kind in kinds)]
