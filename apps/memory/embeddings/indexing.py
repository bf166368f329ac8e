"""Which vectors the vector index has: those of people with many memories (A4).

Whoever has few gets all of their vectors compared, which is exact and as quick; in the index their rows would only cost
time and memory. Once somebody has many, theirs are put into it here, in portions, and from then on whoever writes adds
what is new. Until all of theirs are in it, theirs are compared as before: no search finds less meanwhile.
"""

from __future__ import annotations

from django.db import connection

from apps.memory.embeddings.memories import EMBEDDINGS

INDEX_FROM = 4_000
"""Vectors of one person and model from which on they are put into the index; `EXACT_SCAN_LIMIT` is a little higher."""

BATCH = 200

_LARGE = """
SELECT user_id, model_id FROM {table} GROUP BY user_id, model_id
HAVING count(*) >= %(many)s AND count(*) > count(*) FILTER (WHERE in_index)
"""

_PUT = """
UPDATE {table} SET in_index = true
WHERE id IN (
    SELECT id FROM {table} WHERE user_id = %(user)s AND model_id = %(model)s AND NOT in_index
    LIMIT %(batch)s FOR UPDATE SKIP LOCKED
)
"""


def index_large_collections() -> int:
    """Put the vectors of people with many memories into the index; returns how many were put there.

    A portion is one transaction, so a run that is stopped continues with the next.
    """
    put = 0
    with connection.cursor() as cursor:
        for model in EMBEDDINGS.values():
            table = model._meta.db_table
            cursor.execute(_LARGE.format(table=table), {"many": INDEX_FROM})
            for user, model_id in cursor.fetchall():
                portion = BATCH
                while portion == BATCH:
                    cursor.execute(_PUT.format(table=table), {"user": user, "model": model_id, "batch": BATCH})
                    portion = cursor.rowcount
                    put += portion
    return put
