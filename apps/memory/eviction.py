"""Long-term memories that go by themselves (L5): those over a person's limit, and those too uncertain to keep.

Both are off unless a setting turns them on. What goes becomes `evicted`, with an audit record each: it is not retrieved
any more, and can be brought back.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from apps.accounts.selectors import get_own_values, get_settings
from apps.memory.kinds import LONG_TERM
from apps.memory.locking import lock_all_memories
from apps.memory.models import Change

USERS_AT_ONCE = 100

_FIND_USERS = """
SELECT user_id
FROM long_term_memory
LEFT JOIN unnest(%(users)s::bigint[], %(thresholds)s::integer[], %(floors)s::float8[])
    AS own (user_id, threshold, floor) USING (user_id)
WHERE status = 'active'
GROUP BY user_id, own.threshold, own.floor
HAVING count(*) > COALESCE(own.threshold, %(threshold)s::integer)
    OR min(confidence) < COALESCE(own.floor, %(floor)s::float8)
ORDER BY user_id
"""


def _write_snapshot() -> str:
    """`LONG_TERM.snapshot` of a row, as the database writes it."""
    tracked = [(field, f"memory.{LONG_TERM.column(field.name).column}") for field in LONG_TERM.fields if field.tracked]
    always = ", ".join(f"'{field.name}', {column}" for field, column in tracked if not field.if_set)
    if_set = [
        f"CASE WHEN {column} THEN jsonb_build_object('{field.name}', {column}) ELSE '{{}}' END"
        for field, column in tracked
        if field.if_set
    ]
    return " || ".join([f"jsonb_build_object({always})", *if_set])


_EVICT = f"""
WITH ranked AS (
    SELECT memory.id, confidence, COALESCE(own.threshold, %(threshold)s::integer) AS threshold,
           COALESCE(own.floor, %(floor)s::float8) AS floor,
           row_number() OVER (
               PARTITION BY user_id ORDER BY confidence DESC, last_accessed DESC, created_at DESC, memory.id DESC
           ) AS place
    FROM long_term_memory AS memory
    LEFT JOIN unnest(%(users)s::bigint[], %(thresholds)s::integer[], %(floors)s::float8[])
        AS own (user_id, threshold, floor) USING (user_id)
    WHERE status = 'active' AND user_id = ANY (%(over)s)
), evicted AS (
    UPDATE long_term_memory AS memory SET status = 'evicted', updated_at = %(now)s
    FROM ranked WHERE memory.id = ranked.id AND (place > threshold OR ranked.confidence < floor)
    RETURNING memory.id, user_id, {_write_snapshot()} AS after
)
INSERT INTO memory_change (user_id, origin, action, kind, object_id, before, after, operation, created_at)
SELECT user_id, %(origin)s, %(action)s, %(kind)s, id, after || '{{"status": "active"}}', after, gen_random_uuid(),
       %(now)s
FROM evicted
"""  # noqa: S608 - the only things put in are our own names


def evict_memories(*, now: datetime) -> int:
    """Evict what passes `memory.eviction_threshold` or is below `memory.confidence_floor`; returns how many.

    Of too many the least certain go first, and of equally certain ones those not used the longest. Two statements for
    each hundred people who have too much, whatever the number of memories.
    """
    limits = _read_limits()
    if limits is None:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_FIND_USERS, limits)
        over = [user_id for (user_id,) in cursor.fetchall()]
    return sum(
        _evict(over[start : start + USERS_AT_ONCE], limits, now=now) for start in range(0, len(over), USERS_AT_ONCE)
    )


@transaction.atomic
def _evict(users: Sequence[int], limits: dict[str, Any], *, now: datetime) -> int:
    lock_all_memories(users)
    values = {
        **limits,
        "over": list(users),
        "now": now,
        "origin": Change.Origin.LIFE_CYCLE,
        "action": Change.Action.EVICT,
        "kind": Change.Kind.LONG_TERM,
    }
    with connection.cursor() as cursor:
        cursor.execute(_EVICT, values)
        return int(cursor.rowcount)


def _read_limits() -> dict[str, Any] | None:
    """Return the limits of everybody and of those who set their own; None where nobody has any."""
    settings = get_settings(None)
    thresholds, floors = get_own_values("eviction_threshold"), get_own_values("confidence_floor")
    if settings.eviction_threshold is None and settings.confidence_floor is None and not thresholds and not floors:
        return None
    users = sorted(thresholds.keys() | floors.keys())
    return {
        "threshold": settings.eviction_threshold,
        "floor": settings.confidence_floor,
        "users": users,
        "thresholds": [thresholds.get(user) for user in users],
        "floors": [floors.get(user) for user in users],
    }
