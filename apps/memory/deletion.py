"""Deleting memories for good, with their history, and the copies their owner wants gone too (L6)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from apps.accounts.models import User
from apps.accounts.spaces import changed_from
from apps.conversations.sessions import keep_sessions
from apps.core.db import fetch_rows
from apps.core.text.clean import json_text
from apps.core.text.fold import normalize_value
from apps.core.text.grounding import Traces
from apps.memory.changes.records import forget_history, stop_recalling_sources
from apps.memory.keyed import Deleted, list_items, list_leaves
from apps.memory.kinds import ATOMIC, CURRENT, LONG_TERM, MemoryKind
from apps.memory.locking import lock_memories
from apps.memory.models import (
    SEARCH_FIELDS,
    AtomicMemory,
    LongTermMemory,
    Status,
    WorkingMemory,
    WorkingMemoryRevision,
)
from apps.memory.tombstones import add_tombstones, digest_key
from apps.memory.types import KindName
from apps.memory.working import forget_parts

_WITH_HISTORY = {
    # What a memory superseded, directly or not, is its history. Links end where the last item of a list was taken away,
    # so an active memory's history is also whatever else its key has left behind.
    KindName.LONG_TERM: """
WITH RECURSIVE asked AS (
    SELECT id, normalized_key, status, space_id FROM long_term_memory WHERE user_id = %(user)s AND id = ANY (%(ids)s)
),
doomed AS (
    SELECT id FROM asked
    UNION
    SELECT memory.id FROM long_term_memory AS memory JOIN asked USING (normalized_key)
    WHERE memory.user_id = %(user)s AND memory.status IN ('superseded', 'evicted') AND asked.status = 'active'
      AND memory.space_id IS NOT DISTINCT FROM asked.space_id
    UNION
    SELECT memory.id FROM long_term_memory AS memory JOIN doomed ON memory.superseded_by_id = doomed.id
    WHERE memory.user_id = %(user)s
)
SELECT id FROM doomed
""",
    # With the ended memory of which one is what was left: that says it, too.
    KindName.ATOMIC: """
WITH RECURSIVE doomed AS (
    SELECT id, left_of_id FROM atomic_memory WHERE user_id = %(user)s AND id = ANY (%(ids)s)
    UNION
    SELECT memory.id, memory.left_of_id
    FROM atomic_memory AS memory JOIN doomed ON memory.superseded_by_id = doomed.id OR memory.id = doomed.left_of_id
    WHERE memory.user_id = %(user)s
)
SELECT id FROM doomed
""",
}


@transaction.atomic
def delete_memories(
    kind: MemoryKind, *, user: User, ids: Iterable[UUID], now: datetime, copies: bool = False
) -> Deleted:
    """Delete memories of any status, for good, with their history.

    `copies`: of long-term memories also what `list_copies` names. `deleted` counts the memories asked for, not their
    history and copies; `missing` are IDs of none, or of another person's. What is gone is not learned again from what
    was said before `now`.
    """
    wanted = list(dict.fromkeys(ids))
    lock_memories(user)
    found = list(kind.changeable(user).filter(id__in=wanted)) if wanted else []
    doomed = [memory.id for memory in found]
    if copies and kind is LONG_TERM:
        doomed += _delete_copies(user, found, now=now)
    _delete(kind, user, with_history(kind, user, doomed), now=now)
    known = {memory.id for memory in found}
    return Deleted(deleted=len(known), missing=tuple(asked for asked in wanted if asked not in known))


@transaction.atomic
def delete_all_memories(kind: MemoryKind, *, user: User, now: datetime) -> int:
    """Delete every memory of a kind, of any status, for good; returns how many. Working memory stays (L6).

    Of who is bound to a space, those that are there.
    """
    lock_memories(user)
    return _delete(kind, user, None, now=now)


def _delete_copies(user: User, memories: Sequence[Any], *, now: datetime) -> list[UUID]:
    """Delete what says the same elsewhere; returns the long-term memories among it, which go with these."""
    keep_sessions(user)
    copies = list_copies(user, memories)
    delete_memories(ATOMIC, user=user, ids=[copy.id for copy in copies if copy.kind == IN_ATOMIC], now=now)
    if traces := get_traces(memories):
        for holder in list_copy_holders():
            holder.remove(user=user, traces=traces, now=now)
    # Last: whoever takes working memory too takes long-term memory and the session first, as turns and forms do.
    _remove_from_working_memory(user, copies, now=now)
    return [copy.id for copy in copies if copy.kind == IN_LONG_TERM]


def _remove_from_working_memory(user: User, copies: Iterable[MemoryCopy], *, now: datetime) -> None:
    names: dict[UUID, set[str]] = defaultdict(set)
    topics: dict[UUID, set[str]] = defaultdict(set)
    for copy in copies:
        if copy.kind == IN_WORKING:
            names[copy.id].add(copy.field)
        elif copy.kind == IN_TOPIC:
            topics[copy.id].add(copy.text)
    for session_id in sorted(names.keys() | topics.keys()):
        forget_parts(user=user, session_id=session_id, names=names[session_id], topics=topics[session_id], now=now)


def with_history(kind: MemoryKind, user: User, ids: Sequence[UUID]) -> list[UUID]:
    """Return these memories and what is their history: what they superseded, and what is left of their keys."""
    if not ids:
        return []
    return [row_id for (row_id,) in fetch_rows(_WITH_HISTORY[kind.name], {"user": user.pk, "ids": list(ids)})]


def _delete(kind: MemoryKind, user: User, ids: Sequence[UUID] | None, *, now: datetime) -> int:
    """Delete these memories (None: all) and leave tombstones of what they said."""
    if ids is not None and not ids:
        return 0
    mine = kind.model.objects.filter(user=user)
    doomed = mine.filter(changed_from(user)) if ids is None else mine.filter(id__in=ids)
    texts = {row.pop("id"): row for row in doomed.values("id", *kind.texts)}
    stop_recalling_sources(user, doomed)
    doomed.delete()
    forget_history(user=user, kind=kind.change_kind, object_ids=list(texts), now=now)
    digests = {digest for values in texts.values() for digest in kind.digests(user, values, parts=True)}
    if kind is LONG_TERM:
        # A key of which something is left may be learned anew: only its values were deleted.
        keys = {kind.identify(values) for values in texts.values()}
        left = mine.filter(normalized_key__in=keys, status__in=CURRENT).values_list("normalized_key", flat=True)
        digests -= {digest_key(user, key) for key in left}
    add_tombstones(user=user, digests=digests, now=now)
    _forget_proposals(kind, user, texts, now=now)
    return len(texts)


def _forget_proposals(kind: MemoryKind, user: User, texts: Mapping[UUID, Mapping[str, Any]], *, now: datetime) -> None:
    """Take deleted memories out of what is proposed about them, and delete what only repeats one of them."""
    gone = set(map(str, texts))
    said = {normalize_value(kind.say(values)) for values in texts.values()}
    repeating = []
    for row in AtomicMemory.objects.filter(user=user, proposal__isnull=False):
        proposal = row.proposal or {}
        named = proposal["targets"]
        left = [target for target in named if target["id"] not in gone]
        if row.status == Status.PENDING and row.normalized_content in said:
            repeating.append(row.id)
        elif len(left) < len(named):
            row.proposal = {**proposal, "targets": left}
            row.save(update_fields=["proposal"])
    _delete(ATOMIC, user, repeating, now=now)


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


@dataclass(frozen=True, slots=True)
class CopyHolder:
    """One kind of running text in which copies stand; both are called with a `user` and `traces`, keyword-only.

    `find`: what of a person's holds them, with a fixed number of queries. `remove`: remove all that `find` would name,
    and every earlier state of it, in the caller's transaction; with `now`, too.
    """

    find: Callable[..., Iterable[MemoryCopy]]
    remove: Callable[..., None]


_holders: dict[str, CopyHolder] = {}


def register_copy_holder(name: str, holder: CopyHolder) -> None:
    """Let copies in a kind of text be listed and removed with a memory; said in an app's `ready`."""
    _holders[name] = holder


def list_copy_holders() -> Sequence[CopyHolder]:
    """Return all of them, in the order of their names: whoever removes copies locks in the same order."""
    return [_holders[name] for name in sorted(_holders)]


IN_LONG_TERM, IN_ATOMIC, IN_WORKING, IN_TOPIC = "long_term", "atomic", "working", "topic"

_MIN_CONTAINED_CHARACTERS = 2  # A shorter value is found as a whole text only: 是 is a part of too many


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
    return Traces({text for memory in memories for text in list_leaves(memory.value)})


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
                if any(_stands_in(leaf, values, traces) for leaf in list_leaves(value)):
                    named.add((session_id, name))
                    yield MemoryCopy(kind=IN_WORKING, id=session_id, field=name, text=text)


def _stands_in(text: str, values: set[str], traces: Traces) -> bool:
    return normalize_value(text) in values or traces.stand_in(text)
