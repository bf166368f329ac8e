"""What a search by vector should find: every vector of a person compared, without an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection

from apps.accounts.models import User
from apps.memory.embeddings.queries import QueryEmbedding

_SAME = 1e-5
"""Two cosines this near each other are the same: they were added up in another order."""

# An order by something else than the distance cannot use the index.
_NEAREST = """
SELECT 1 - (vector.embedding <=> %(vector)s::halfvec) AS similarity
FROM atomic_embedding AS vector JOIN atomic_memory AS memory ON memory.id = vector.memory_id
WHERE vector.user_id = %(user)s AND vector.model_id = %(model)s AND memory.status = 'active' AND NOT memory.muted
ORDER BY similarity DESC
LIMIT %(limit)s
"""


def find_nearest(user: User, embedding: QueryEmbedding, *, limit: int) -> list[float]:
    """Return the cosines of the person's active memories that are nearest to a query, the nearest first."""
    parameters: dict[str, Any] = {"vector": embedding.sql, "user": user.pk, "model": embedding.model_id, "limit": limit}
    with connection.cursor() as cursor:
        cursor.execute(_NEAREST, parameters)
        return [similarity for (similarity,) in cursor.fetchall()]


def compute_vector_recall(found: Sequence[float], exact: Sequence[float]) -> float:
    """Return the share of the nearest memories that were found, by their cosines with the query.

    A memory as near as the farthest of the nearest ones counts as one of them. 1 where there is nothing to find.
    """
    if not exact:
        return 1.0
    right = sum(similarity >= min(exact) - _SAME for similarity in found)
    return min(right, len(exact)) / len(exact)
