"""Finding the long-term memories that matter for a message: keywords and meaning → candidates → score → rank (K1–K9).

Of the keywords (K3, K4, K6) the full-text arm answers first. Where it gives fewer rows than there are places, memories
that contain a keyword anywhere join: the index knows words, their beginnings and Chinese bigrams, so only there does
"thon" find Python. Should the full-text arm fail altogether, that substring arm alone answers, without statistics. By
meaning, those whose key and value are near to the query join (K9). docs/retrieval.md tells how.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import structlog
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.types import ScoreWeights
from apps.core.text.fold import fold, normalize_key
from apps.core.text.keywords import extract_keywords, stem, word_parts
from apps.core.text.search import keyword_query, recall_query
from apps.core.text.segment import is_cjk
from apps.memory.recall.columns import (
    QUERY,
    NearestStatement,
    corpus_sql,
    gate_sql,
    nearest_parameters,
    nearest_sql,
    recallable_parameters,
    recallable_sql,
)
from apps.memory.recall.scoring import rank_candidates
from apps.memory.types import Candidate, CorpusStatistics, Recall, ScoredMemory
from apps.memory.vectors.queries import QueryEmbedding

_ENGLISH = re.compile(r"(?<![^\W_])[a-z]+(?![^\W_])", re.ASCII)
_CUES_FILE = Path(__file__).with_name("preference_cues.txt")


def concerns_preference(message: str) -> bool:
    """Whether `message` states a preference or asks about one, such as 我喜欢的颜色是什么 or "I prefer tea"."""
    chinese, english_stems = _load_cues()
    folded = fold(message)
    return any(cue in folded for cue in chinese) or any(
        stem(word) in english_stems for word in _ENGLISH.findall(folded)
    )


@cache
def _load_cues() -> tuple[frozenset[str], frozenset[str]]:
    lines = _CUES_FILE.read_text("utf-8").splitlines()
    cues = {cue for line in lines if not line.startswith("#") for cue in line.split()}
    chinese = frozenset(filter(is_cjk, cues))
    return chinese, frozenset(map(stem, cues - chinese))


logger = structlog.get_logger(__name__)

_FIELDS = (
    *("id", "category", "key", "value", "confidence", "updated_at", "last_accessed", "access_count", "words"),
    *("message_id", "valid_until"),
)
_COLUMNS = ", ".join(f"memory.{name}" for name in _FIELDS)

# In a space its own entry of a key stands, and not the one that is everywhere (P2).
_FOUND = """(
    (
        SELECT id, max(similarity) AS similarity
        FROM (SELECT id, NULL::float8 AS similarity FROM chosen UNION ALL SELECT id, similarity FROM near) AS arm
        GROUP BY id
    ) AS found JOIN long_term_memory AS memory USING (id)
) ON memory.space_id IS NOT NULL OR NOT EXISTS (
    SELECT FROM long_term_memory AS own
    WHERE own.user_id = memory.user_id AND own.normalized_key = memory.normalized_key AND own.status = 'active'
      AND own.space_id = %(space)s
)"""

_RECALLABLE = recallable_sql("long_term_memory")


def _write_near(*, exact: bool) -> str:
    return f"""{QUERY},
corpus AS MATERIALIZED ({corpus_sql("long_term_memory", columns="count(*) AS memory_count", exact=exact)}
),
near AS MATERIALIZED (
    SELECT id, similarity
    FROM ({nearest_sql(embeddings="long_term_embedding", memories="long_term_memory", exact=exact)}
    ) AS nearest
    WHERE similarity >= %(min_similarity)s
)"""  # noqa: S608 - the only things put in are our own names


# `found` are the positions of the keywords that occur in a hit; a hit without any has only a part of one. Hits in which
# the same ones occur make up a `pattern`: those are few, so they are counted and weighed, not each hit. Where there are
# more hits than places, those with the highest sum of idf stay.
def _write_indexed_recall(exact: bool) -> str:
    return f"""
WITH {_write_near(exact=exact)},
keyword AS MATERIALIZED (
    SELECT query::tsquery AS query, needle, position
    FROM unnest(%(queries)s::text[], %(needles)s::text[]) WITH ORDINALITY AS given (query, needle, position)
),
indexed AS MATERIALIZED (
    SELECT id, category, last_accessed, ARRAY(SELECT position FROM keyword WHERE search_vector @@ query) AS found
    FROM long_term_memory
    WHERE user_id = %(user)s AND status = 'active' AND search_vector @@ %(recall)s::tsquery
      AND {_RECALLABLE}
      AND {gate_sql(exact=exact)}
),
contained AS (
    SELECT id, category, last_accessed,
           ARRAY(
               SELECT position FROM keyword
               WHERE strpos(normalized_key, needle) > 0 OR strpos(normalized_value, needle) > 0
           ) AS found
    FROM long_term_memory
    WHERE (SELECT count(*) FROM indexed) < %(limit)s
      AND user_id = %(user)s AND status = 'active' AND id NOT IN (SELECT id FROM indexed) AND {gate_sql(exact=exact)}
      AND {_RECALLABLE}
      AND (normalized_key LIKE ANY (%(patterns)s::text[]) OR normalized_value LIKE ANY (%(patterns)s::text[]))
),
hit AS MATERIALIZED (SELECT * FROM indexed UNION ALL SELECT * FROM contained),
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
    SELECT found, (SELECT coalesce(sum(idfs[position]), 0) FROM unnest(found) AS position)::float8 AS weight
    FROM pattern, statistics
),
chosen AS (
    SELECT id
    FROM hit JOIN weighed USING (found)
    ORDER BY (%(preferences_first)s AND category = 'preference') DESC, weight DESC, last_accessed DESC, id
    LIMIT %(limit)s
)
SELECT {_COLUMNS}, similarity, frequencies, corpus.memory_count
FROM corpus LEFT JOIN statistics ON TRUE LEFT JOIN {_FOUND}
"""  # noqa: S608 - the only things put in are our own names


def _write_substring_recall(exact: bool) -> str:
    return f"""
WITH {_write_near(exact=exact)},
chosen AS (
    SELECT id
    FROM long_term_memory
    WHERE user_id = %(user)s AND status = 'active' AND {_RECALLABLE} AND {gate_sql(exact=exact)}
      AND (normalized_key LIKE ANY (%(patterns)s::text[]) OR normalized_value LIKE ANY (%(patterns)s::text[]))
    ORDER BY (%(preferences_first)s AND category = 'preference') DESC,
             (SELECT count(*) FROM unnest(%(needles)s::text[]) AS needle
              WHERE strpos(normalized_key, needle) > 0 OR strpos(normalized_value, needle) > 0) DESC,
             last_accessed DESC, id
    LIMIT %(limit)s
)
SELECT {_COLUMNS}, similarity, NULL, memory_count
FROM corpus LEFT JOIN {_FOUND}
"""  # noqa: S608 - as above


_INDEXED_RECALL = NearestStatement(_write_indexed_recall, embeddings="long_term_embedding")
_SUBSTRING_RECALL = NearestStatement(_write_substring_recall, embeddings="long_term_embedding")


def recall_candidates(
    user: User,
    *,
    keywords: Sequence[str],
    candidate_limit: int,
    preferences_first: bool = False,
    query_embedding: QueryEmbedding | None = None,
    min_similarity: float = 1.0,
    with_withheld: bool = False,
    now: datetime | None = None,
) -> Recall:
    """The user's active memories that may be relevant, unordered: at most `candidate_limit` by each arm.

    By keyword those in which one of ``keywords``, folded words (`extract_keywords`), or a part of one occurs; with
    ``preferences_first`` preferences take the places first (K6). By meaning the nearest to ``query_embedding``, of at
    least ``min_similarity`` (a cosine) each. One statement, and a second one only if the first fails: then
    ``statistics`` is None. No statement when neither arm has anything. ``with_withheld``: those too that no reply is to
    recall (L10, D3).
    """
    if candidate_limit < 1 or not (keywords or query_embedding):
        return Recall()
    needles = [_to_needle(keyword) for keyword in keywords]
    parameters: dict[str, Any] = {
        "user": user.pk,
        "needles": needles,
        "patterns": [_contain_pattern(needle) for needle in needles],
        "preferences_first": preferences_first,
        "min_similarity": min_similarity,
        **recallable_parameters(user, with_withheld=with_withheld, now=now or timezone.now()),
        **nearest_parameters(query_embedding, limit=candidate_limit),
    }
    try:
        # A statement that fails inside a transaction would spoil it; outside, a savepoint would cost two round trips.
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            queries = [keyword_query(word) for word in keywords]
            rows = _INDEXED_RECALL.fetch(parameters | {"queries": queries, "recall": recall_query(keywords) or None})
    except DatabaseError as error:
        # Neither the message nor the statement is logged: both may quote what the user wrote.
        logger.warning("full_text_recall_failed", user_id=user.pk, cause=type(error.__cause__ or error).__name__)
        parts = [_to_needle(part) for keyword in keywords for part in word_parts(keyword)]
        parameters["patterns"] += [_contain_pattern(part) for part in parts]
        rows, statistics = _SUBSTRING_RECALL.fetch(parameters), None
    else:
        *_, frequencies, memory_count = rows[0]
        statistics = CorpusStatistics(
            memory_count=memory_count, document_frequencies=dict(zip(keywords, frequencies or (), strict=False))
        )
    candidates = tuple(_read_candidate(row) for row in rows if row[0] is not None)
    similarities = {row[0]: row[-3] for row in rows if row[-3] is not None}
    return Recall(candidates=candidates, statistics=statistics, similarities=similarities)


def _read_candidate(row: Sequence[Any]) -> Candidate:
    fields = dict(zip(_FIELDS, row, strict=False))  # more stands behind the fields
    return Candidate(**fields | {"value": json.loads(fields["value"])})


def _to_needle(word: str) -> str:
    """`word` as it stands in ``normalized_key``; never empty, as the empty text is in every memory."""
    return normalize_key(word) or word


def _contain_pattern(needle: str) -> str:
    """The LIKE pattern for texts that contain `needle`, wildcards taken literally."""
    escaped = needle.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


DEFAULT_WEIGHTS = ScoreWeights()


class HasTopic(Protocol):
    """The part of a session's working memory that retrieval reads."""

    @property
    def current_topic(self) -> str | None:
        """What the conversation is about, if anything."""


def retrieve_relevant_memories(
    *,
    user: User,
    message: str,
    limit: int,
    working_memory: HasTopic | None = None,
    candidate_limit: int = 50,
    weights: ScoreWeights = DEFAULT_WEIGHTS,
    half_life_days: float = 7.0,
    max_keywords: int = 10,
    query_embedding: QueryEmbedding | None = None,
    min_similarity: float | None = None,
    with_withheld: bool = False,
    now: datetime | None = None,
) -> list[ScoredMemory]:
    """The user's `limit` most relevant active memories for `message`, best first; [] when none matches (K8).

    The topic of ``working_memory`` adds its keywords to the query and lifts the memories that share one (K7).
    ``max_keywords`` bounds the keywords of the message and those of the topic, each for itself; ``half_life_days`` is
    that of recency (K5). With ``query_embedding``, the vector of the message, memories as near to it as
    ``min_similarity`` (by default the embedder's own floor) are candidates too (K9). What is muted or over at
    ``now`` only ``with_withheld`` (L10, D3). Reads only: use is counted by whoever puts a memory into a prompt (L4).
    """
    topic = working_memory.current_topic if working_memory else None
    topic_keywords = extract_keywords(topic or "", limit=max_keywords)
    keywords = list(dict.fromkeys([*extract_keywords(message, limit=max_keywords), *topic_keywords]))
    floor = min_similarity
    if floor is None:
        floor = query_embedding.min_similarity if query_embedding else 1.0
    recall = recall_candidates(
        user,
        keywords=keywords,
        candidate_limit=candidate_limit,
        preferences_first=concerns_preference(message),
        query_embedding=query_embedding,
        min_similarity=floor,
        with_withheld=with_withheld,
        now=now,
    )
    ranked = rank_candidates(
        recall,
        keywords=keywords,
        topic_keywords=topic_keywords,
        weights=weights,
        half_life_days=half_life_days,
        now=now or timezone.now(),
    )
    return ranked[:limit]
