"""Other places in which a memory's text stands (L6): other memories, live sessions, and texts of other apps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, Protocol
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from apps.accounts.models import User
from apps.core.text.clean import json_text
from apps.core.text.fold import normalize_value
from apps.core.text.grounding import Traces
from apps.memory.keyed import list_items
from apps.memory.models import SEARCH_FIELDS, AtomicMemory, LongTermMemory, WorkingMemory, WorkingMemoryRevision


@dataclass(frozen=True, slots=True)
class MemoryCopy:
    """Another place that holds a memory's text (L6).

    `kind` "long_term": `id` is another memory, `field` its key. "atomic": an atomic memory, "content". "working": the
    session, and the context variable. "topic": the session, "current_topic". "profile": the profile, and the section.
    "summary": the summary of a session ("title" or "snippet") or the message that is one of a conversation ("content").
    "title": a session whose title nobody typed, "title".
    "context": the shared context, and "title", "content" or "entry". `text` is what stands there; of a longer text only
    what would be removed.
    """

    kind: str
    id: UUID
    field: str
    text: str


class FindCopies(Protocol):
    """Return what of a person's holds a value; a fixed number of queries."""

    def __call__(self, *, user: User, traces: Traces) -> Iterable[MemoryCopy]: ...


class RemoveCopies(Protocol):
    """Remove all that `find` would name, and every earlier state of it, in the caller's transaction."""

    def __call__(self, *, user: User, traces: Traces, now: datetime) -> None: ...


@dataclass(frozen=True, slots=True)
class CopyHolder:
    """One kind of running text in which copies stand."""

    find: FindCopies
    remove: RemoveCopies


_holders: dict[str, CopyHolder] = {}


def register_copy_holder(name: str, holder: CopyHolder) -> None:
    """Let copies in a kind of text be listed and removed with a memory; said in an app's `ready`."""
    _holders[name] = holder


def list_copy_holders() -> Sequence[CopyHolder]:
    """Return all of them, in the order of their names: whoever removes copies locks in the same order."""
    return [_holders[name] for name in sorted(_holders)]


IN_LONG_TERM, IN_ATOMIC, IN_WORKING, IN_TOPIC = "long_term", "atomic", "working", "topic"

_MIN_CONTAINED_CHARACTERS = 2
"""A shorter value is found as a whole text only: 是 is a part of too many."""


def list_copies(user: User, memories: Iterable[LongTermMemory]) -> list[MemoryCopy]:
    """Return the other places in which the values of `memories` stand, of this person only.

    Long-term: memories of any status with the same value, whatever their key. Atomic: memories of any status whose
    content is one of the values or holds it as words of its own: "cat" is not in "education". Working and topic: the
    same of context variables, forms too, and of topics. Then what was registered (`register_copy_holder`). A fixed
    number of queries.
    """
    memories = list(memories)
    values = {form for memory in memories for form in _forms(memory.value)}
    if not values:
        return []
    traces = get_traces(memories)
    own = [*_list_long_term(user, memories), *_list_atomic(user, values, traces), *_list_working(user, values, traces)]
    return [*own, *(copy for holder in list_copy_holders() for copy in holder.find(user=user, traces=traces))]


def get_traces(memories: Iterable[LongTermMemory]) -> Traces:
    """Return the values of memories as they are looked for in running text: each text and number in them."""
    return Traces({text for memory in memories for text in _leaves(memory.value)})


def _leaves(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for item in value.values():
                yield from _leaves(item)
        case list():
            for item in value:
                yield from _leaves(item)
        case None | bool():
            return
        case float() if value.is_integer():
            yield str(int(value))
        case _:
            yield str(value)


def _forms(value: Any) -> set[str]:
    return {
        form for part in (value, *list_items(value)) if not isinstance(part, bool) and (form := normalize_value(part))
    }


def _list_long_term(user: User, memories: Sequence[LongTermMemory]) -> Iterator[MemoryCopy]:
    values = [memory.normalized_value for memory in memories if not isinstance(memory.value, bool)]
    rows = LongTermMemory.objects.filter(user=user, normalized_value__in=values)
    rows = rows.exclude(id__in=[memory.id for memory in memories]).defer(*SEARCH_FIELDS)
    for row in rows.order_by("-created_at", "-id"):
        yield MemoryCopy(kind=IN_LONG_TERM, id=row.id, field=row.key, text=json_text(row.value))


def _list_atomic(user: User, values: set[str], traces: Traces) -> Iterator[MemoryCopy]:
    holds = Q(normalized_content__in=values)
    for value in values:
        if len(value) >= _MIN_CONTAINED_CHARACTERS:
            holds |= Q(normalized_content__contains=value)
    rows = AtomicMemory.objects.filter(holds, user=user).order_by("-create_time", "-id")
    for memory_id, content, normalized in rows.values_list("id", "content", "normalized_content"):
        if normalized in values or traces.stand_in(content):
            yield MemoryCopy(kind=IN_ATOMIC, id=memory_id, field="content", text=content)


def _list_working(user: User, values: set[str], traces: Traces) -> Iterator[MemoryCopy]:
    """Name each variable and each topic once for its session, in the working memory it has or what that was before."""
    live = WorkingMemory.objects.filter(user=user).order_by("-updated_at", "session_id")
    earlier = WorkingMemoryRevision.objects.filter(user=user).order_by("-id")
    fields = ("session_id", "current_topic", "context_variables")
    states = chain(*(rows.values_list(*fields).iterator() for rows in (live, earlier)))
    named = set()
    topics: set[tuple[UUID, str | None]] = set()
    looked_at: dict[tuple[UUID, str], str] = {}
    with transaction.atomic(savepoint=False):  # to be read in portions
        for session_id, topic, variables in states:
            if topic and (session_id, topic) not in topics and _stands_in(topic, values, traces):
                yield MemoryCopy(kind=IN_TOPIC, id=session_id, field="current_topic", text=topic)
            topics.add((session_id, topic))
            for name, value in variables.items():
                text = json_text(value)
                # A revision repeats what it leaves alone: of thousands, few say something else.
                if (session_id, name) in named or looked_at.get((session_id, name)) == text:
                    continue
                looked_at[session_id, name] = text
                if any(_stands_in(leaf, values, traces) for leaf in _leaves(value)):
                    named.add((session_id, name))
                    yield MemoryCopy(kind=IN_WORKING, id=session_id, field=name, text=text)


def _stands_in(text: str, values: set[str], traces: Traces) -> bool:
    return normalize_value(text) in values or traces.stand_in(text)
