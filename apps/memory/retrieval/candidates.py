"""Recall of long-term memories by keyword: candidates and the statistics of idf, in one round trip (K3, K4, K6).

The full-text arm answers first. Where it gives fewer rows than there are places, memories that contain a keyword
anywhere join: the index knows words, their beginnings and Chinese bigrams, so only there does "thon" find Python.
Should the full-text arm fail altogether, that substring arm alone answers, without statistics.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import structlog
from django.db import DatabaseError, connection, transaction

from apps.accounts.models import User
from apps.core.text.fold import normalize_key
from apps.core.text.index_terms import keyword_query, recall_query
from apps.core.text.matching import word_parts
from apps.memory.types import Candidate, CorpusStatistics, Recall

logger = structlog.get_logger(__name__)

_FIELDS = (
    *("id", "session_id", "message_id", "category", "key", "value", "confidence", "source"),
    *("created_at", "updated_at", "last_accessed", "access_count", "words"),
)
COLUMNS = ", ".join(f"memory.{name}" for name in _FIELDS)
"""What `read_candidate` reads, of a row called ``memory``."""

# `found` are the positions of the keywords that occur in a hit; a hit without any has only a part of one. Hits in which
# the same ones occur make up a `pattern`: those are few, so they are counted and weighed, not each hit. Where there are
# more hits than places, those with the highest sum of idf stay.
_INDEXED_RECALL = f"""
WITH keyword AS MATERIALIZED (
    SELECT query::tsquery AS query, needle, position
    FROM unnest(%(queries)s::text[], %(needles)s::text[]) WITH ORDINALITY AS given (query, needle, position)
),
indexed AS MATERIALIZED (
    SELECT id, category, last_accessed, ARRAY(SELECT position FROM keyword WHERE search_vector @@ query) AS found
    FROM long_term_memory
    WHERE user_id = %(user)s AND status = 'active' AND search_vector @@ %(recall)s::tsquery
),
contained AS (
    SELECT id, category, last_accessed,
           ARRAY(
               SELECT position FROM keyword
               WHERE strpos(normalized_key, needle) > 0 OR strpos(normalized_value, needle) > 0
           ) AS found
    FROM long_term_memory
    WHERE (SELECT count(*) FROM indexed) < %(limit)s
      AND user_id = %(user)s AND status = 'active' AND id NOT IN (SELECT id FROM indexed)
      AND (normalized_key LIKE ANY (%(patterns)s::text[]) OR normalized_value LIKE ANY (%(patterns)s::text[]))
),
hit AS MATERIALIZED (SELECT * FROM indexed UNION ALL SELECT * FROM contained),
corpus AS MATERIALIZED (
    SELECT count(*) AS memory_count FROM long_term_memory WHERE user_id = %(user)s AND status = 'active'
),
pattern AS MATERIALIZED (SELECT found, count(*) AS hits FROM hit GROUP BY found),
frequency AS MATERIALIZED (
    SELECT position, coalesce(sum(hits), 0)::bigint AS occurrences
    FROM keyword LEFT JOIN (SELECT unnest(found) AS position, hits FROM pattern) AS occurrence USING (position)
    GROUP BY position
),
statistics AS MATERIALIZED (
    SELECT memory_count,
           array_agg(occurrences ORDER BY position) AS frequencies,
           array_agg(ln(1 + (memory_count - occurrences + 0.5) / (occurrences + 0.5)) ORDER BY position) AS idfs
    FROM frequency, corpus
    GROUP BY memory_count
),
weighed AS MATERIALIZED (
    SELECT found, (SELECT coalesce(sum(idfs[position]), 0) FROM unnest(found) AS position) AS weight
    FROM pattern, statistics
),
chosen AS (
    SELECT id
    FROM hit JOIN weighed USING (found)
    ORDER BY (%(preferences_first)s AND category = 'preference') DESC, weight DESC, last_accessed DESC, id
    LIMIT %(limit)s
)
SELECT {COLUMNS}, memory_count, frequencies
FROM chosen JOIN long_term_memory AS memory USING (id), statistics
"""  # noqa: S608 - the only thing put in is the list of our own column names

_SUBSTRING_RECALL = f"""
SELECT {COLUMNS}
FROM long_term_memory AS memory
WHERE user_id = %(user)s AND status = 'active'
  AND (normalized_key LIKE ANY (%(patterns)s::text[]) OR normalized_value LIKE ANY (%(patterns)s::text[]))
ORDER BY (%(preferences_first)s AND category = 'preference') DESC,
         (SELECT count(*) FROM unnest(%(needles)s::text[]) AS needle
          WHERE strpos(normalized_key, needle) > 0 OR strpos(normalized_value, needle) > 0) DESC,
         last_accessed DESC, id
LIMIT %(limit)s
"""  # noqa: S608 - as above


def recall_candidates(
    user: User, *, keywords: Sequence[str], candidate_limit: int, preferences_first: bool = False
) -> Recall:
    """The user's active memories in which a keyword, or a part of one, occurs; at most `candidate_limit`, unordered.

    ``keywords`` are folded words (`extract_keywords`). With ``preferences_first`` preferences take the places first
    (K6). One statement, and a second one only if the first fails: then ``statistics`` is None.
    """
    if not keywords or candidate_limit < 1:
        return Recall()
    needles = [_to_needle(keyword) for keyword in keywords]
    parameters: dict[str, Any] = {
        "user": user.pk,
        "needles": needles,
        "patterns": [_contains(needle) for needle in needles],
        "limit": candidate_limit,
        "preferences_first": preferences_first,
    }
    try:
        # A statement that fails inside a transaction would spoil it; outside, a savepoint would cost two round trips.
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            rows = _fetch(
                _INDEXED_RECALL,
                parameters | {"queries": [keyword_query(word) for word in keywords], "recall": recall_query(keywords)},
            )
    except DatabaseError as error:
        # Neither the message nor the statement is logged: both may quote what the user wrote.
        logger.warning("full_text_recall_failed", user_id=user.pk, cause=type(error.__cause__ or error).__name__)
        parts = [_to_needle(part) for keyword in keywords for part in word_parts(keyword)]
        parameters["patterns"] += [_contains(part) for part in parts]
        return Recall(candidates=tuple(map(read_candidate, _fetch(_SUBSTRING_RECALL, parameters))))
    if not rows:
        return Recall(statistics=CorpusStatistics(memory_count=0, document_frequencies={}))
    *_, memory_count, frequencies = rows[0]
    return Recall(
        candidates=tuple(map(read_candidate, rows)),
        statistics=CorpusStatistics(
            memory_count=memory_count, document_frequencies=dict(zip(keywords, frequencies, strict=True))
        ),
    )


def _fetch(statement: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def read_candidate(row: Sequence[Any]) -> Candidate:
    """The candidate in a row that begins with `COLUMNS`."""
    fields = dict(zip(_FIELDS, row, strict=False))  # more may stand behind the fields
    return Candidate(**fields | {"value": json.loads(fields["value"])})


def _to_needle(word: str) -> str:
    """`word` as it stands in ``normalized_key``; never empty, as the empty text is in every memory."""
    return normalize_key(word) or word


def _contains(needle: str) -> str:
    """The LIKE pattern for texts that contain `needle`, wildcards taken literally."""
    escaped = needle.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
