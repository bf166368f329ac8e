"""The two kinds of memories: what pages add to their declarations, and the services that write them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.accounts.models import User
from apps.core.text.clean import json_text
from apps.memory import kinds
from apps.memory.deletion import delete_all_memories, delete_memories
from apps.memory.entries import create_memory
from apps.memory.judge.review import accept_memory, reject_memory
from apps.memory.keyed import Action
from apps.memory.lifecycle import (
    combine_texts,
    create_atomic_memory,
    merge_memories,
    mute_memories,
    restore_memory,
    supersede_atomic_memory,
    update_memory,
)
from apps.memory.models import AtomicMemory, Change, LongTermMemory
from apps.memory.recall.atomic import retrieve_atomic_memories
from apps.memory.recall.long_term import retrieve_relevant_memories

# The other statuses are history: readable, not editable.
CHANGEABLE = kinds.CURRENT


@dataclass(frozen=True, slots=True)
class MemoryKind:
    """What a page has to know of a kind of memories. ``memory``: its declaration.

    ``text``: the field with what is remembered. ``choices``: the fields with few values that lists are narrowed and
    counted by. ``sorts``: what a list can be sorted by, and the field for it. ``tagged``: whether there are tags.
    ``tell``: a memory in one line, as it is searched for.
    """

    memory: kinds.MemoryKind
    text: str
    choices: tuple[str, ...]
    sorts: Mapping[str, str]
    tagged: bool
    tell: Callable[[Any], str]
    suggest: Callable[..., Sequence[Any]]
    create: Callable[..., tuple[Any, Any]]
    supersede: Callable[..., Any]

    @property
    def change_kind(self) -> Change.Kind:
        """The kind of its records."""
        return self.memory.change_kind

    @property
    def model(self) -> type[Any]:
        """The table."""
        return self.memory.model

    @property
    def editable(self) -> tuple[str, ...]:
        """The fields that a person writes."""
        return self.memory.editable

    @property
    def derived(self) -> tuple[str, ...]:
        """What only search and comparison read of a row."""
        return self.memory.derived

    @property
    def made_at(self) -> str:
        """The field with the time it was stored."""
        return self.memory.made_at

    @property
    def name(self) -> str:
        """ "long_term" or "atomic"."""
        return str(self.memory.name.value)

    @property
    def base(self) -> str:
        """What the names of its pages' addresses begin with, in their namespace."""
        return f"admin:{self.model._meta.app_label}_{self.model._meta.model_name}"

    def search(self, memories: Any, text: str, *, by_index: bool | None = None) -> Any:
        """Narrow memories to those that hold what is looked for."""
        return self.memory.search(memories, text, by_index=by_index)

    def combine(self, kept: Any, merged: Any) -> Any:
        """Return what two texts say together."""
        return combine_texts(self.memory, kept, merged)

    def update(self, **arguments: Any) -> Any:
        """Change fields of a memory."""
        return update_memory(self.memory, **arguments)

    def merge(self, text: Any, **arguments: Any) -> Any:
        """Make one memory of two, with this text."""
        return merge_memories(self.memory, text=text, **arguments)

    def restore(self, **arguments: Any) -> Any:
        """Make a memory that is history active again."""
        return restore_memory(self.memory, **arguments)

    def accept(self, **arguments: Any) -> Any:
        """Accept a pending memory."""
        return accept_memory(self.memory, **arguments)

    def reject(self, **arguments: Any) -> Any:
        """Reject a pending memory."""
        return reject_memory(self.memory, **arguments)

    def mute(self, **arguments: Any) -> int:
        """Mute memories, or no longer; returns how many were otherwise."""
        return mute_memories(self.memory, **arguments)

    def forget(self, *, user: User, ids: Iterable[UUID], copies: bool, now: datetime) -> int:
        """Delete memories for good; returns how many of those asked for are gone."""
        return delete_memories(self.memory, user=user, ids=ids, copies=copies, now=now).deleted

    def forget_all(self, *, user: User, now: datetime) -> int:
        """Delete every memory of a person for good; returns how many."""
        return delete_all_memories(self.memory, user=user, now=now)


def _supersede_long_term(*, user: User, memory: LongTermMemory, text: Any, now: datetime) -> LongTermMemory:
    successor, action = create_memory(user=user, category=memory.category, key=memory.key, value=text, now=now)
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
    tell=lambda memory: f"{memory.key} {json_text(memory.value)}",
    suggest=lambda text, **how: retrieve_relevant_memories(message=text, **how),
    create=create_memory,
    supersede=_supersede_long_term,
)

ATOMIC = MemoryKind(
    memory=kinds.ATOMIC,
    text="content",
    choices=("status",),
    sorts={"created": "create_time", "updated": "updated_at", "said": "timestamp", "happened": "event_start"},
    tagged=True,
    tell=lambda memory: str(memory.content),
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
