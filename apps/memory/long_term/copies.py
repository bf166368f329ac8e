"""Where else a memory's text lives (L6): other long-term memories, and what live sessions keep in mind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from apps.accounts.models import User
from apps.core.text.fold import normalize_value
from apps.core.text.json_text import json_text
from apps.memory.long_term.changes import list_items
from apps.memory.long_term.types import MemoryCopy
from apps.memory.models import SEARCH_FIELDS, LongTermMemory, WorkingMemory

LONG_TERM, WORKING = "long_term", "working"

_MIN_CONTAINED_CHARACTERS = 2
"""A shorter value is found as a whole text only: 是 is a part of too many."""


def list_copies(user: User, memories: Iterable[LongTermMemory]) -> list[MemoryCopy]:
    """Return the other places in which the values of `memories` stand, of this person only; two queries.

    Long-term: memories of any status with the same value, whatever their key. Working: context variables, forms too, in
    which a text is one of the values or contains it.
    """
    memories = list(memories)
    values = {form for memory in memories for form in _forms(memory.value)}
    if not values:
        return []
    return [*_list_long_term(user, memories), *_list_working(user, values)]


def _forms(value: Any) -> set[str]:
    return {
        form for part in (value, *list_items(value)) if not isinstance(part, bool) and (form := normalize_value(part))
    }


def _list_long_term(user: User, memories: Sequence[LongTermMemory]) -> Iterator[MemoryCopy]:
    values = [memory.normalized_value for memory in memories if not isinstance(memory.value, bool)]
    rows = LongTermMemory.objects.filter(user=user, normalized_value__in=values)
    rows = rows.exclude(id__in=[memory.id for memory in memories]).defer(*SEARCH_FIELDS)
    for row in rows.order_by("-created_at", "-id"):
        yield MemoryCopy(kind=LONG_TERM, id=row.id, field=row.key, text=json_text(row.value))


def _list_working(user: User, values: set[str]) -> Iterator[MemoryCopy]:
    rows = WorkingMemory.objects.filter(user=user).order_by("-updated_at", "session_id")
    for session_id, variables in rows.values_list("session_id", "context_variables"):
        for name, value in variables.items():
            if any(_holds(text, values) for text in _texts(value)):
                yield MemoryCopy(kind=WORKING, id=session_id, field=name, text=json_text(value))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for item in value.values():
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)
        case None | bool():
            return
        case _:
            yield normalize_value(value)


def _holds(text: str, values: set[str]) -> bool:
    return text in values or any(len(value) >= _MIN_CONTAINED_CHARACTERS and value in text for value in values)
