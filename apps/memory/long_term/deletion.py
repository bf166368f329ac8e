"""Deleting long-term memories for good, with their history, and the copies their owner wants gone too (L6)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from apps.accounts.models import User
from apps.conversations.sessions import keep_sessions
from apps.memory.atomic.services import forget_atomic_memories
from apps.memory.copies import MemoryCopy, list_copy_holders
from apps.memory.do_not_relearn import record_forgotten
from apps.memory.history.services import forget_history, stop_recalling_sources
from apps.memory.locking import lock_memories
from apps.memory.long_term.copies import ATOMIC, LONG_TERM, TOPIC, WORKING, get_traces, list_copies
from apps.memory.long_term.learnable import digest_key, digest_values
from apps.memory.long_term.types import Forgotten
from apps.memory.models import SEARCH_FIELDS, Change, LongTermMemory, Status
from apps.memory.working.services import forget_parts

# What a memory superseded, directly or not, is its history. Links end where the last item of a list was taken away, so
# an active memory's history is also whatever else its key has left behind.
_WITH_HISTORY = """
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
"""


@transaction.atomic
def forget_memories(*, user: User, ids: Iterable[UUID], now: datetime, copies: bool = False) -> Forgotten:
    """Delete memories of any status, for good, with their history; with `copies` also what `list_copies` names.

    `deleted` counts the memories asked for, not their history and copies; `missing` are IDs of none, or of another
    person's. What is gone is not learned again from what was said before `now`.
    """
    wanted = list(dict.fromkeys(ids))
    lock_memories(user)
    found = list(LongTermMemory.objects.filter(user=user, id__in=wanted).defer(*SEARCH_FIELDS))
    doomed = [memory.id for memory in found]
    if copies:
        keep_sessions(user)
        found_copies = list_copies(user, found)
        doomed += [copy.id for copy in found_copies if copy.kind == LONG_TERM]
        forget_atomic_memories(user=user, ids=[copy.id for copy in found_copies if copy.kind == ATOMIC], now=now)
        if traces := get_traces(found):
            for holder in list_copy_holders():
                holder.remove(user=user, traces=traces, now=now)
        _remove_from_working_memory(user, found_copies, now=now)
    _delete(user, _with_history(user, doomed), now=now)
    known = {memory.id for memory in found}
    return Forgotten(deleted=len(known), missing=tuple(asked for asked in wanted if asked not in known))


@transaction.atomic
def forget_all(*, user: User, now: datetime) -> int:
    """Delete every long-term memory of any status and return how many; working memory stays until its session ends."""
    lock_memories(user)
    return _delete(user, None, now=now)


def _remove_from_working_memory(user: User, copies: Iterable[MemoryCopy], *, now: datetime) -> None:
    # Last: whoever takes working memory too takes long-term memory and the session first, as turns and forms do.
    names: dict[UUID, set[str]] = defaultdict(set)
    topics: dict[UUID, set[str]] = defaultdict(set)
    for copy in copies:
        if copy.kind == WORKING:
            names[copy.id].add(copy.field)
        elif copy.kind == TOPIC:
            topics[copy.id].add(copy.text)
    for session_id in sorted(names.keys() | topics.keys()):
        forget_parts(user=user, session_id=session_id, names=names[session_id], topics=topics[session_id], now=now)


def _with_history(user: User, ids: Sequence[UUID]) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(_WITH_HISTORY, {"user": user.pk, "ids": list(ids)})
        return [row[0] for row in cursor.fetchall()]


def _delete(user: User, ids: Sequence[UUID] | None, *, now: datetime) -> int:
    """Delete these memories (None: all) and keep digests: of every value, and of each key that nothing is left of."""
    mine = LongTermMemory.objects.filter(user=user)
    doomed = mine if ids is None else mine.filter(id__in=ids)
    contents = list(doomed.values_list("id", "normalized_key", "value"))
    object_ids = [memory_id for memory_id, _key, _value in contents]
    stop_recalling_sources(user, doomed)
    doomed.delete()
    forget_history(user=user, kind=Change.Kind.LONG_TERM, object_ids=object_ids, now=now)
    keys = {key for _id, key, _value in contents}
    left = mine.filter(normalized_key__in=keys, status__in=(Status.ACTIVE, Status.PENDING))
    gone = keys - set(left.values_list("normalized_key", flat=True))
    digests = {digest_key(user, key) for key in gone}
    digests |= {digest for _id, _key, value in contents for digest in digest_values(user, value)}
    record_forgotten(user=user, digests=digests, now=now)
    return len(contents)
