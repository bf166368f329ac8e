"""Which vectors the vector indexes have: those of people with many memories (A4), or many messages (V4).

Whoever has few gets all of their vectors compared, which is exact and as quick; in the index their rows would only cost
time and memory. Once somebody has many, theirs are put into it here, in portions, and from then on whoever writes adds
what is new. Until all of theirs are in it, theirs are compared as before: no search finds less meanwhile. When they
have few again, because the vectors of old messages were deleted, theirs are taken out.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection

from apps.memory.models import AtomicEmbedding, ConversationEmbedding, LongTermEmbedding

INDEX_FROM: dict[type[LongTermEmbedding] | type[AtomicEmbedding] | type[ConversationEmbedding], int] = {
    LongTermEmbedding: 4_000,
    AtomicEmbedding: 4_000,
    ConversationEmbedding: 2_000,
}
"""Vectors of one person and model from which on they are put into the index of their table.

What search compares one by one goes a little higher: `EXACT_SCAN_LIMIT` for memories, `jiyi.exact_rows` for messages.
"""

BATCH = 200

_ARE_INDEXED = """
SELECT user_id, model_id FROM unnest(%(users)s::bigint[], %(models)s::bigint[]) AS of (user_id, model_id)
WHERE {is_indexed}
"""

# Out again only at half of what puts them in, or somebody in between would come and go.
_MISPLACED = """
SELECT user_id, model_id, count(*) >= %(many)s FROM {table} GROUP BY user_id, model_id
HAVING count(*) >= %(many)s AND NOT bool_and(in_index) OR count(*) < %(many)s / 2 AND bool_or(in_index)
"""

# Materialized: a plan that reads the portion again for each row would skip what it has locked, and take more.
_MOVE = """
WITH portion AS MATERIALIZED (
    SELECT id FROM {table} WHERE user_id = %(user)s AND model_id = %(model)s AND in_index = NOT %(into)s
    LIMIT %(batch)s FOR UPDATE SKIP LOCKED
)
UPDATE {table} SET in_index = %(into)s WHERE id IN (SELECT id FROM portion)
"""


def is_indexed_sql(table: str, *, user: str, model: str) -> str:
    """The condition that the index has this person's vectors of this model: what they write now belongs there too."""
    return f"""EXISTS (
        SELECT FROM {table} AS known WHERE known.user_id = {user} AND known.model_id = {model} AND known.in_index
    )"""


def list_indexed_messages(people: Collection[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return those (user, model) whose vectors of messages are in the index."""
    table = ConversationEmbedding._meta.db_table
    statement = _ARE_INDEXED.format(is_indexed=is_indexed_sql(table, user="of.user_id", model="of.model_id"))
    users, models = zip(*people, strict=True)
    with connection.cursor() as cursor:
        cursor.execute(statement, {"users": list(users), "models": list(models)})
        return set(cursor.fetchall())


def index_large_collections() -> int:
    """Put the vectors of people with many into the index, and take out those of people with few again.

    Returns how many were moved. A portion is one transaction, so a run that is stopped continues with the next.
    """
    moved = 0
    with connection.cursor() as cursor:
        for embedding, many in INDEX_FROM.items():
            table = embedding._meta.db_table
            cursor.execute(_MISPLACED.format(table=table), {"many": many})
            for user, model, into in cursor.fetchall():
                portion = BATCH
                while portion == BATCH:
                    values = {"user": user, "model": model, "into": into, "batch": BATCH}
                    cursor.execute(_MOVE.format(table=table), values)
                    portion = cursor.rowcount
                    moved += portion
    return moved
