"""Fitting what a message says to the lists already remembered: "no longer hotpot" takes 吃火锅 out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from apps.core.llm.offline.knowledge import get_meaning
from apps.core.llm.offline.prompt import Memory
from apps.core.llm.offline.statements import Entry, is_name_of
from apps.core.text.fold import normalize_value

_OPPOSITE = {"likes": "dislikes", "dislikes": "likes"}


def reconcile(entries: Iterable[Entry], memories: Sequence[Memory]) -> list[Entry]:
    """`entries`, with removals pointed at the remembered items they mean, and removals that an addition implies.

    Liking takes the thing off the dislikes and the other way round; a pet or child that gets a name replaces the
    nameless one.
    """
    lists = [memory for memory in memories if isinstance(memory.value, list)]
    return [fitted for entry in entries for fitted in _fit(entry, lists)]


def _fit(entry: Entry, lists: Sequence[Memory]) -> Iterator[Entry]:
    if entry.mode == "remove":
        found = [fitted for memory in lists for fitted in _remove_from(memory, entry, _is_meant)]
        yield from found or [entry]
        return
    if entry.mode == "add" and entry.source == "user_stated":
        concept = get_meaning(entry.key).concept
        for memory in lists:
            kept = get_meaning(memory.key).concept
            if kept == _OPPOSITE.get(concept):
                yield from _remove_from(memory, entry, _is_meant)
            elif kept == concept in ("pets", "children"):
                yield from _remove_from(memory, entry, is_name_of)
    yield entry


def _remove_from(memory: Memory, entry: Entry, matches: Callable[[str, str], bool]) -> Iterator[Entry]:
    items = [item for item in memory.items if any(matches(item, value) for value in entry.value)]
    if items:
        yield replace(entry, key=memory.key, value=items, mode="remove")


def _is_meant(item: str, value: str) -> bool:
    return normalize_value(item).endswith(normalize_value(value))
