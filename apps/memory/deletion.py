"""Deleting memories for good, with their history, and the copies their owner wants gone too (L6)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from apps.accounts.models import User
from apps.conversations.sessions import keep_sessions
from apps.memory.changes.records import forget_history, stop_recalling_sources
from apps.memory.copies import (
    IN_ATOMIC,
    IN_LONG_TERM,
    IN_TOPIC,
    IN_WORKING,
    MemoryCopy,
    get_traces,
    list_copies,
    list_copy_holders,
)
from apps.memory.keyed import Deleted
from apps.memory.kinds import ATOMIC, CURRENT, LONG_TERM, MemoryKind
from apps.memory.locking import lock_memories
from apps.memory.tombstones import add_tombstones, digest_key
from apps.memory.types import KindName
from apps.memory.working.sessions import forget_parts

_WITH_HISTORY = {
    # What a memory superseded, directly or not, is its history. Links end where the last item of a list was taken away,
    # so an active memory's history is also whatever else its key has left behind.
    KindName.LONG_TERM: """
WITH RECURSIVE asked AS (
    SELECT id, normalized_key, status FROM long_term_memory WHERE user_id = %(user)s AND id = ANY (%(ids)s)
),
doomed AS (
    SELECT id FROM asked
    UNION
    SELECT memory.id FROM long_term_memory AS memory JOIN asked USING (normalized_key)
    WHERE memory.user_id = %(user)s AND memory.status IN ('superseded', 'evicted') AND asked.status = 'active'
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
    found = list(kind.rows(user).filter(id__in=wanted)) if wanted else []
    doomed = [memory.id for memory in found]
    if copies and kind is LONG_TERM:
        doomed += _delete_copies(user, found, now=now)
    _delete(kind, user, _with_history(kind, user, doomed), now=now)
    known = {memory.id for memory in found}
    return Deleted(deleted=len(known), missing=tuple(asked for asked in wanted if asked not in known))


@transaction.atomic
def delete_all_memories(kind: MemoryKind, *, user: User, now: datetime) -> int:
    """Delete every memory of a kind, of any status, for good; returns how many. Working memory stays (L6)."""
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


def _with_history(kind: MemoryKind, user: User, ids: Sequence[UUID]) -> list[UUID]:
    if not ids:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_WITH_HISTORY[kind.name], {"user": user.pk, "ids": list(ids)})
        return [row[0] for row in cursor.fetchall()]


def _delete(kind: MemoryKind, user: User, ids: Sequence[UUID] | None, *, now: datetime) -> int:
    """Delete these memories (None: all) and leave tombstones of what they said."""
    if ids is not None and not ids:
        return 0
    mine = kind.model.objects.filter(user=user)
    doomed = mine if ids is None else mine.filter(id__in=ids)
    said = [field.name for field in kind.fields if field.text]
    texts = {row.pop("id"): row for row in doomed.values("id", *said)}
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
    return len(texts)
