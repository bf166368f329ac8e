"""Atomic memories as they were at a time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.accounts.models import User
from apps.core.text.bm25_terms import bm25_terms
from apps.core.text.fold import fold_for_search
from apps.memory.atomic.selectors import list_atomic_memories
from apps.memory.history.as_of import PastKind, PastObjects, read_past
from apps.memory.history.types import Snapshot
from apps.memory.judging.exact import normalize_content
from apps.memory.models import AtomicMemory, Change

_STEM_BEGINS = 3
"""Letters that a word and its stem have in common."""

_TIMES = ("timestamp", "event_start", "event_end")


def read_past_atomic_memories(user: User, *, at: datetime) -> PastObjects:
    """Return the person's atomic memories of every status as they were at a time, newest first."""
    return read_past(list_atomic_memories(user), user=user, kind=Change.Kind.ATOMIC, made_at="create_time", at=at)


def put_back(memory: AtomicMemory, state: Snapshot) -> None:
    """Give a row, which is not to be saved, the fields that it had."""
    memory.content, memory.tags, memory.status = state["content"], list(state["tags"]), state["status"]
    for name in _TIMES:
        setattr(memory, name, _read(state[name]))
    memory.superseded_by_id = UUID(state["superseded_by"]) if state["superseded_by"] else None
    memory.muted = state.get("muted", False)


def is_wanted(state: Snapshot, wanted: Mapping[str, Any]) -> bool:
    """Whether what a memory was is among what a list is narrowed to: the cleaned values of `AtomicMemoryFilter`."""
    muted, since, until = wanted.get("muted"), wanted.get("since"), wanted.get("until")
    text, tags = wanted.get("search") or "", wanted.get("tags") or ""
    said_at = _read(state["timestamp"])
    assert said_at is not None
    return (
        state["status"] in wanted["status"]
        and (muted is None or state.get("muted", False) == muted)
        and (since is None or said_at >= since)
        and (until is None or said_at <= until)
        and {tag.strip() for tag in tags.split(",") if tag.strip()} <= set(state["tags"])
        and (not text.strip() or holds_text(state, text))
    )


def holds_text(state: Snapshot, text: str) -> bool:
    """Whether a memory held what `search_content` would have found it by."""
    folded = fold_for_search(state["content"])
    if fold_for_search(text).strip() in folded:
        return True
    terms = set(bm25_terms(text))
    if not terms:
        return normalize_content(text) in normalize_content(state["content"])
    if not all(term[:_STEM_BEGINS] in folded for term in terms):
        return False  # without cutting the text into words, which takes a hundred times as long
    return terms <= set(bm25_terms(state["content"]))


def _read(time: str | None) -> datetime | None:
    return datetime.fromisoformat(time) if time else None


PAST = PastKind(read=read_past_atomic_memories, is_wanted=is_wanted, put_back=put_back, steady=("session_id",))
