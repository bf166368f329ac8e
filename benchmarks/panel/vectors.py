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
INSERT INTO {embeddings} ({names}, embedding)
SELECT {sources}, l2_normalize(one.whole + other.part)
FROM numbered
JOIN pool AS one ON one.number = numbered.number %% %(pool)s
JOIN pool AS other ON other.number = numbered.number / %(pool)s %% %(pool)s
"""

_OF_MEMORY = {"user_id": "user_id", "model_id": "%(model)s", "memory_id": "id"}
_OF_MESSAGE = {
    "id": "gen_random_uuid()",
    "user_id": "user_id",
    "model_id": "%(model)s",
    "message_id": "id",
    "chat_id": "session_id",
    "part": "0",
    "content": "content",
    "digest": "sha256(convert_to(content, 'UTF8'))",
    "message_type": "role",
    "created_at": "create_time",
}


def fill_vectors(user: Any) -> None:
    """Give all of a person's messages and memories vectors of the active model."""
    (model,) = list_models_in_use()
    sentences = [say(number, THINGS[number % len(THINGS)]) for number in range(1, POOL + 1)]
    embedded = get_embedder(model.name).embed(sentences)
    found = [vector for vector in embedded if vector is not None]
    values = {"user": user.pk, "model": model.id, "pool": len(found)}
    targets = [(f"{kind}_embedding", f"{kind}_memory", _OF_MEMORY) for kind in ("long_term", "atomic")]
    targets.append(("conversation_embeddings", "conversation", _OF_MESSAGE))
    with connection.cursor() as cursor:
        cursor.execute(_POOL, [[to_sql(vector) for vector in found], [to_sql(MOVED * vector) for vector in found]])
        for embeddings, table, columns in targets:
            names, sources = ", ".join(columns), ", ".join(columns.values())
            cursor.execute(_VECTORS.format(embeddings=embeddings, names=names, sources=sources, table=table), values)
        cursor.execute("DROP TABLE pool")
