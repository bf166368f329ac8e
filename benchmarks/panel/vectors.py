"""Vectors for messages and memories: those of a few hundred sentences, each moved a little towards another one."""

from __future__ import annotations

from typing import Any

from django.db import connection

from apps.core.llm.embedding.client import get_embedder
from apps.memory.embeddings.active import list_models_in_use
from apps.memory.embeddings.vectors import to_sql
from benchmarks.panel.texts import THINGS, say

POOL = 320
"""Sentences. Every pair of them gives a vector, so that with 100,000 hardly two are the same."""

MOVED = 0.3
"""How far towards the other: as far apart as sentences about one thing."""

_POOL = """
CREATE TEMPORARY TABLE pool AS
SELECT position - 1 AS number, whole::vector AS whole, part::vector AS part
FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS given (whole, part, position)
"""

_VECTORS = """
WITH numbered AS (
    SELECT *, row_number() OVER (ORDER BY id) - 1 AS number FROM {table} WHERE user_id = %(user)s
)
INSERT INTO {embeddings}
SELECT {columns}, l2_normalize(one.whole + other.part)
FROM numbered
JOIN pool AS one ON one.number = numbered.number %% %(pool)s
JOIN pool AS other ON other.number = numbered.number / %(pool)s %% %(pool)s
"""


def fill_vectors(user: Any) -> None:
    """Give all of a person's messages and memories vectors of the active model."""
    (model,) = list_models_in_use()
    embedded = get_embedder(model.name).embed([say(number, THINGS[number % len(THINGS)]) for number in range(1, POOL + 1)])
    found = [vector for vector in embedded if vector is not None]
    values = {"user": user.pk, "model": model.id, "pool": len(found)}
    targets = [
        (f"{kind}_embedding (user_id, model_id, memory_id, embedding)", f"{kind}_memory", "user_id, %(model)s, id")
        for kind in ("long_term", "atomic")
    ]
    said = ("content", "message_type", "created_at", "digest")
    targets.append(
        (
            f"conversation_embeddings (id, user_id, model_id, message_id, chat_id, part, {', '.join(said)}, embedding)",
            "conversation",
            "gen_random_uuid(), user_id, %(model)s, id, session_id, 0, content, role, create_time, "
            "sha256(convert_to(content, 'UTF8'))",
        )
    )
    with connection.cursor() as cursor:
        cursor.execute(_POOL, [[to_sql(vector) for vector in found], [to_sql(MOVED * vector) for vector in found]])
        for embeddings, table, columns in targets:
            cursor.execute(_VECTORS.format(embeddings=embeddings, table=table, columns=columns), values)
        cursor.execute("DROP TABLE pool")
