"""Recall of long-term memories by meaning: those whose key and value are near to the query (K9)."""

from __future__ import annotations

from django.db import connection

from apps.accounts.models import User
from apps.memory.embeddings.queries import QueryEmbedding
from apps.memory.retrieval.candidates import COLUMNS, read_candidate
from apps.memory.retrieval.nearest import QUERY, nearest_parameters, nearest_sql
from apps.memory.types import Neighbour

_NEIGHBOURS = f"""
WITH {QUERY},
corpus AS MATERIALIZED (
    SELECT count(*) AS memory_count FROM long_term_memory WHERE user_id = %(user)s AND status = 'active'
),
nearest AS MATERIALIZED (
    {nearest_sql(embeddings="long_term_embedding", memories="long_term_memory")}
)
SELECT {COLUMNS}, similarity
FROM nearest JOIN long_term_memory AS memory USING (id)
WHERE similarity >= %(min_similarity)s
"""  # noqa: S608 - the only things put in are our own names


def recall_neighbours(
    user: User, *, query_embedding: QueryEmbedding, min_similarity: float, limit: int
) -> list[Neighbour]:
    """The nearest `limit` of the user's active memories, of at least `min_similarity` (a cosine) each, unordered.

    One statement.
    """
    parameters = nearest_parameters(query_embedding, limit=limit)
    with connection.cursor() as cursor:
        cursor.execute(_NEIGHBOURS, parameters | {"user": user.pk, "min_similarity": min_similarity})
        return [Neighbour(candidate=read_candidate(row), similarity=row[-1]) for row in cursor.fetchall()]
