"""Recall of atomic memories: the best by BM25 and the nearest by vector, in one round trip (A4).

Every number is the user's own: lengths and document frequencies are those of their active memories.

A vector index filters after it has searched, so with one alone a person with few of all the rows would find nothing
(DESIGN, known traps). Up to `EXACT_SCAN_LIMIT` memories all of the person's vectors are compared, which is exact;
beyond, the index is read on until enough of the rows it gives are theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from apps.accounts.models import User
from apps.memory.embeddings.queries import QueryEmbedding
from apps.memory.embeddings.vectors import to_sql
from apps.memory.retrieval.atomic.bm25 import K1, B
from apps.memory.retrieval.atomic.types import AtomicCorpus, AtomicRecall, RecalledAtomic, TermMatch
from apps.memory.types import AtomicCandidate

EXACT_SCAN_LIMIT = 10_000
"""Active memories of one person up to which all their vectors are compared (docs/retrieval.md has the measurement)."""

_FIELDS = (
    *("id", "session_id", "message_id", "content", "tags", "timestamp", "event_start", "event_end"),
    *("create_time", "updated_at"),
)
_COLUMNS = ", ".join(f"memory.{name}" for name in _FIELDS)

_IN_RANGE = """memory.timestamp >= coalesce(%(since)s::timestamptz, '-infinity')
      AND memory.timestamp <= coalesce(%(until)s::timestamptz, 'infinity')"""

# The keyword arm scores as `compute_bm25` does, to know which rows to fetch; a test holds the two together. The index
# arm switches on iterative scans for this statement in its gate, which is evaluated before the index is opened.
_RECALL = f"""
WITH corpus AS MATERIALIZED (
    SELECT count(*) AS memory_count, avg(term_count)::float8 AS average_length
    FROM atomic_memory WHERE user_id = %(user)s AND status = 'active'
),
occurrence AS MATERIALIZED (
    SELECT memory.id, memory.timestamp, memory.term_count, term, count(*) AS frequency
    FROM atomic_memory AS memory, unnest(memory.terms) AS term
    WHERE memory.user_id = %(user)s AND memory.status = 'active' AND memory.terms && %(terms)s::text[]
      AND term = ANY (%(terms)s::text[])
    GROUP BY memory.id, term
),
document AS (
    SELECT term, count(*) AS document_frequency FROM occurrence GROUP BY term
),
keyword_hit AS MATERIALIZED (
    SELECT memory.id, array_agg(frequency) AS frequencies, array_agg(document_frequency) AS document_frequencies,
           sum(
               ln(1 + (memory_count - document_frequency + 0.5) / (document_frequency + 0.5))
               * frequency * (%(k1)s + 1)
               / (frequency + %(k1)s * (1 - %(b)s + %(b)s * term_count / average_length))
           ) AS score
    FROM occurrence AS memory JOIN document USING (term), corpus
    WHERE {_IN_RANGE}
    GROUP BY memory.id, memory.timestamp
),
best AS (
    SELECT id FROM keyword_hit ORDER BY score DESC, id LIMIT %(limit)s
),
nearest AS MATERIALIZED (
    (
        SELECT memory.id, 1 - (vector.embedding <=> %(vector)s::vector) AS similarity
        FROM atomic_embedding AS vector JOIN atomic_memory AS memory ON memory.id = vector.memory_id
        WHERE (SELECT memory_count <= %(exact_limit)s FROM corpus)
          AND vector.user_id = %(user)s AND vector.model_id = %(model)s AND memory.status = 'active' AND {_IN_RANGE}
        ORDER BY vector.embedding <=> %(vector)s::vector
        LIMIT %(limit)s
    )
    UNION ALL
    (
        SELECT memory.id, 1 - (vector.embedding <=> %(vector)s::vector) AS similarity
        FROM atomic_embedding AS vector JOIN atomic_memory AS memory ON memory.id = vector.memory_id
        WHERE (
              SELECT memory_count > %(exact_limit)s
                     AND set_config('hnsw.iterative_scan', 'strict_order', true) IS NOT NULL
              FROM corpus
          )
          AND vector.user_id = %(user)s AND vector.model_id = %(model)s AND memory.status = 'active' AND {_IN_RANGE}
        ORDER BY vector.embedding::halfvec(1536) <=> %(vector)s::vector::halfvec(1536)
        LIMIT %(limit)s
    )
)
SELECT {_COLUMNS}, memory.term_count, keyword_hit.frequencies, keyword_hit.document_frequencies,
       coalesce(nearest.similarity, 1 - (vector.embedding <=> %(vector)s::vector)), memory_count, average_length
FROM (SELECT id FROM best UNION SELECT id FROM nearest) AS chosen
JOIN atomic_memory AS memory USING (id)
LEFT JOIN keyword_hit USING (id)
LEFT JOIN nearest USING (id)
LEFT JOIN atomic_embedding AS vector ON vector.memory_id = memory.id AND vector.model_id = %(model)s,
corpus
"""  # noqa: S608 - the only things put in are our own column names and conditions


def recall_atomic(
    user: User,
    *,
    terms: Sequence[str],
    query_embedding: QueryEmbedding | None,
    candidate_limit: int,
    since: datetime | None = None,
    until: datetime | None = None,
) -> AtomicRecall:
    """The user's active memories that are best by BM25, and those nearest to the query: at most `candidate_limit` each.

    ``terms``: those of the query (`bm25_terms`). Whichever arm chose a candidate, it comes with what both need to score
    it. ``since``, ``until``: bounds of a memory's time, included. One statement; none when neither arm has anything.
    """
    if candidate_limit < 1 or not (terms or query_embedding):
        return AtomicRecall()
    parameters: dict[str, Any] = {
        "user": user.pk,
        "terms": list(dict.fromkeys(terms)),
        "k1": K1,
        "b": B,
        "vector": to_sql(query_embedding.vector) if query_embedding else None,
        "model": query_embedding.model_id if query_embedding else None,
        "exact_limit": EXACT_SCAN_LIMIT,
        "limit": candidate_limit,
        "since": since,
        "until": until,
    }
    with connection.cursor() as cursor:
        cursor.execute(_RECALL, parameters)
        rows = cursor.fetchall()
    if not rows:
        return AtomicRecall()
    *_, memory_count, average_length = rows[0]
    return AtomicRecall(
        candidates=[_read(row) for row in rows],
        corpus=AtomicCorpus(memory_count=memory_count, average_length=average_length),
    )


def _read(row: Sequence[Any]) -> RecalledAtomic:
    length, frequencies, document_frequencies, similarity = row[len(_FIELDS) : len(_FIELDS) + 4]
    return RecalledAtomic(
        candidate=AtomicCandidate(*row[: len(_FIELDS)]),
        length=length,
        matches=[TermMatch(*pair) for pair in zip(frequencies or (), document_frequencies or (), strict=True)],
        similarity=similarity,
    )
