"""Recall of atomic memories: the best by BM25 and the nearest by vector, in one round trip (A4).

Every number is the user's own: lengths and document frequencies are those of their active memories.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from apps.accounts.models import User
from apps.memory.embeddings.queries import QueryEmbedding
from apps.memory.retrieval.atomic.bm25 import K1, B
from apps.memory.retrieval.atomic.types import AtomicCorpus, AtomicRecall, RecalledAtomic, TermMatch
from apps.memory.retrieval.nearest import (
    QUERY,
    NearestStatement,
    corpus_sql,
    gate_sql,
    nearest_parameters,
    nearest_sql,
)
from apps.memory.types import AtomicCandidate

_FIELDS = (
    *("id", "session_id", "message_id", "content", "tags", "timestamp", "event_start", "event_end"),
    *("create_time", "updated_at"),
)
_COLUMNS = ", ".join(f"memory.{name}" for name in _FIELDS)

_IN_RANGE = """memory.timestamp >= coalesce(%(since)s::timestamptz, '-infinity')
      AND memory.timestamp <= coalesce(%(until)s::timestamptz, 'infinity')"""


# The keyword arm scores as `compute_bm25` does, to know which rows to fetch; a test holds the two together.
def _write_recall(exact: bool) -> str:
    size = "count(*) AS memory_count, avg(term_count)::float8 AS average_length"
    nearest = nearest_sql(embeddings="atomic_embedding", memories="atomic_memory", where=_IN_RANGE, exact=exact)
    return f"""
WITH {QUERY},
corpus AS MATERIALIZED ({corpus_sql("atomic_memory", columns=size, exact=exact)}
),
occurrence AS MATERIALIZED (
    SELECT memory.id, memory.timestamp, memory.term_count, term, count(*) AS frequency
    FROM atomic_memory AS memory, unnest(memory.terms) AS term
    WHERE memory.user_id = %(user)s AND memory.status = 'active' AND memory.terms && %(terms)s::text[]
      AND (%(with_muted)s OR NOT memory.muted)
      AND term = ANY (%(terms)s::text[]) AND {gate_sql(exact=exact)}
    GROUP BY memory.id, term
),
frequency AS (
    SELECT term, count(*) AS document_frequency FROM occurrence GROUP BY term
),
document AS MATERIALIZED (
    SELECT term, document_frequency,
           ln(1 + (memory_count - document_frequency + 0.5) / (document_frequency + 0.5)) AS idf
    FROM frequency, corpus
),
keyword_hit AS MATERIALIZED (
    SELECT memory.id, array_agg(frequency) AS frequencies, array_agg(document_frequency) AS document_frequencies,
           sum(
               idf * frequency * (%(k1)s + 1)
               / (frequency + %(k1)s * (1 - %(b)s + %(b)s * term_count / average_length))
           ) AS score
    FROM occurrence AS memory JOIN document USING (term), corpus
    WHERE {_IN_RANGE}
    GROUP BY memory.id, memory.timestamp
),
best AS (
    SELECT id FROM keyword_hit ORDER BY score DESC, id LIMIT %(limit)s
),
nearest AS MATERIALIZED ({nearest}
)
SELECT {_COLUMNS}, memory.term_count, keyword_hit.frequencies, keyword_hit.document_frequencies,
       coalesce(nearest.similarity, 1 - (vector.embedding <=> (SELECT embedding FROM query))),
       average_length, memory_count
FROM corpus LEFT JOIN (
    (SELECT id FROM best UNION SELECT id FROM nearest) AS chosen
    JOIN atomic_memory AS memory USING (id)
    LEFT JOIN keyword_hit USING (id)
    LEFT JOIN nearest USING (id)
    LEFT JOIN atomic_embedding AS vector ON vector.memory_id = memory.id AND vector.model_id = %(model)s
) ON TRUE
"""  # noqa: S608 - the only things put in are our own column names and conditions


_RECALL = NearestStatement(_write_recall)


def recall_atomic(
    user: User,
    *,
    terms: Sequence[str],
    query_embedding: QueryEmbedding | None,
    candidate_limit: int,
    since: datetime | None = None,
    until: datetime | None = None,
    with_muted: bool = False,
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
        **nearest_parameters(query_embedding, limit=candidate_limit),
        "with_muted": with_muted,
        "since": since,
        "until": until,
    }
    rows = _RECALL.fetch(parameters)
    *_, average_length, memory_count = rows[0]
    if rows[0][0] is None:
        return AtomicRecall()
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
