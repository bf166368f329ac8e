"""Long-term memories as they were at a time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.accounts.models import User
from apps.core.text.fold import fold_for_search, normalize_key
from apps.core.text.index_terms import index_terms
from apps.core.text.keywords import extract_keywords
from apps.memory.history.as_of import PastKind, PastObjects, read_past
from apps.memory.history.types import Snapshot
from apps.memory.long_term.selectors import MAX_SEARCH_KEYWORDS, list_memories
from apps.memory.models import Change, LongTermMemory
from apps.memory.text import join_text

_FIELDS = ("category", "key", "value", "confidence", "source", "status", "mode")


def read_past_memories(user: User, *, at: datetime) -> PastObjects:
    """Return the person's long-term memories of every status as they were at a time, newest first."""
    return read_past(list_memories(user), user=user, kind=Change.Kind.LONG_TERM, made_at="created_at", at=at)


def put_back(memory: LongTermMemory, state: Snapshot) -> None:
    """Give a row, which is not to be saved, the fields that it had."""
    for name in _FIELDS:
        setattr(memory, name, state[name])
    memory.superseded_by_id = UUID(state["superseded_by"]) if state["superseded_by"] else None
    memory.muted = state.get("muted", False)


def is_wanted(state: Snapshot, wanted: Mapping[str, Any]) -> bool:
    """Whether what a memory was is among what a list is narrowed to: the cleaned values of `LongTermMemoryFilter`."""
    muted, text = wanted.get("muted"), wanted.get("search")
    return (
        state["status"] in wanted["status"]
        and all(not wanted.get(name) or state[name] == wanted[name] for name in ("category", "source"))
        and (muted is None or state.get("muted", False) == muted)
        and (not text or not text.strip() or holds_text(state, text))
    )


def holds_text(state: Snapshot, text: str) -> bool:
    """Whether a memory held what `search_text` would have found it by."""
    said = join_text(key=state["key"], value=state["value"])
    folded = fold_for_search(said)
    if fold_for_search(text).strip() in folded:
        return True
    keywords = extract_keywords(text, limit=MAX_SEARCH_KEYWORDS)
    if not keywords:
        return normalize_key(text) in normalize_key(said)
    if not all(keyword in folded for keyword in keywords):
        return False  # without cutting the text into words, which takes a hundred times as long
    terms = index_terms(said)
    return all(any(term.startswith(keyword) for term in terms) for keyword in keywords)


PAST = PastKind(read=read_past_memories, is_wanted=is_wanted, put_back=put_back)
