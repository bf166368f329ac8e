"""Past rounds: what was said in other conversations that bears on a message, by the person or in reply to them (A5).

Memories are what a model made of the conversations; the words themselves are still there, embedded and indexed. What a
person just told is found here at once, and what no extraction kept is found at all. Messages of both sides are ranked
as the turns of a conversation are (`apps.memory.recall.features`), by those of its features that the indexes give.
"""

from __future__ import annotations

import math
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.accounts.models import User
from apps.accounts.spaces import seen_sql, sight_parameters
from apps.conversations.search import HIDDEN_SESSIONS
from apps.core.db import fetch_prepared, fetch_rows
from apps.core.text.search import SearchTerms, cut_excerpt, parse_question
from apps.core.text.sentences import cut_client_blocks
from apps.memory.recall.atomic import find_threshold, load_weights
from apps.memory.recall.columns import EF_SEARCH
from apps.memory.recall.features import NEAR_TURNS, NO_SAMPLE, WORDS_AS_EVIDENCE, Sample
from apps.memory.vectors.queries import QueryEmbedding

NEAREST = 40  # how many messages are taken by meaning; some of them may not be recalled
COMMON = 100  # A word in so many of the person's messages tells nothing, and is not looked for any further
SAMPLE = 100  # vectors from which the usual cosine is estimated where the index is read: the newest ones

# What whoever is in the index is taken to have: counting takes longer than searching, and more changes nothing.
MANY = 1_000

# So many times as many rounds as a prompt shows are read: some may not be recalled, or say what it says already.
SPARES = 3

ROUND_CHARACTERS = 600  # how much of each of a round's two texts is shown, around what matched

_MINE = f"""user_id = %(user)s AND model_id = %(model)s AND message_type IN ('user', 'assistant')
    AND chat_id NOT IN ({HIDDEN_SESSIONS})"""

# Once: as text it has a length of its own, and is read wherever it stands.
_QUERY = "query AS MATERIALIZED (SELECT %(vector)s::vector AS embedding)"

# Whoever has few messages gets all of their vectors compared.
_NEAR_EXACT = f"""
near AS MATERIALIZED (
    SELECT message_id, max(1 - (embedding <=> (SELECT embedding FROM query))) AS cosine
    FROM conversation_embeddings WHERE {_MINE} GROUP BY message_id
),
usual AS (SELECT count(*) AS vectors, avg(cosine) AS mean, var_pop(cosine) AS variance FROM near),
nearest AS (SELECT message_id FROM near ORDER BY cosine DESC LIMIT %(nearest)s)
"""  # noqa: S608 - our own names

# The settings apply to this statement; in a transaction to the rest of it. OFFSET 0 insists on the index of vectors:
# of a plan that is good for all, the planner thinks that they have few, and that sorting those is cheaper.
_NEAR_BY_INDEX = f"""
nearest AS MATERIALIZED (
    SELECT DISTINCT message_id FROM (
        SELECT message_id FROM (
            SELECT message_id, user_id, model_id, message_type, chat_id FROM conversation_embeddings
            WHERE in_index AND (
                SELECT set_config('hnsw.iterative_scan', 'strict_order', true) IS NOT NULL
                       AND set_config('hnsw.ef_search', '{EF_SEARCH // 4}', true) IS NOT NULL
            )
            ORDER BY embedding::halfvec(1536) <=> (SELECT embedding::halfvec(1536) FROM query) OFFSET 0
        ) AS closest WHERE {_MINE} LIMIT %(nearest)s
    ) AS closest
),
usual AS (
    SELECT {MANY} AS vectors, avg(cosine) AS mean, var_pop(cosine) AS variance
    FROM (
        SELECT 1 - (embedding <=> (SELECT embedding FROM query)) AS cosine FROM conversation_embeddings WHERE {_MINE}
        ORDER BY created_at DESC, id DESC LIMIT {SAMPLE}
    ) AS newest
),
near AS MATERIALIZED (
    SELECT message_id, max(1 - (embedding <=> (SELECT embedding FROM query))) AS cosine
    FROM conversation_embeddings
    WHERE {_MINE} AND message_id IN (SELECT message_id FROM nearest UNION SELECT message_id FROM worded)
    GROUP BY message_id
)
"""  # noqa: S608 - our own names

# OFFSET 0 insists on the index of words: with statistics that do not know of this person's rows yet, the planner would
# read all of them and take each apart into its words.
_WORDED = """
occurrence AS MATERIALIZED (
    SELECT found.id AS message_id, given.position::int AS position
    FROM unnest(%(words)s::text[]) WITH ORDINALITY AS given (query, position) CROSS JOIN LATERAL (
        SELECT id FROM (
            SELECT id, user_id, role FROM conversation
            WHERE message_words(user_id, content) @@ given.query::tsquery
            OFFSET 0
        ) AS message
        WHERE user_id = %(user)s AND role IN ('user', 'assistant')
        LIMIT %(common)s
    ) AS found
),
common AS MATERIALIZED (SELECT position FROM occurrence GROUP BY position HAVING count(*) >= %(common)s),
worded AS MATERIALIZED (
    SELECT message_id, position FROM occurrence WHERE position NOT IN (SELECT position FROM common)
)
"""

# OFFSET 0 insists on reading the hits alone: among few messages the planner would read those of everybody.
_WRITTEN = """
WITH {arms}
SELECT COALESCE(message.reply_to_id, message.id), message.session_id, message.position,
       right(message.content, 1) IN ('?', '？'), near.cosine, hit.positions,
       (SELECT array_agg(position) FROM common), usual.vectors, usual.mean, usual.variance
FROM (
    SELECT message_id, array_agg(position) FILTER (WHERE position > 0) AS positions FROM (
        SELECT message_id, position FROM worded UNION ALL SELECT message_id, 0 FROM nearest
    ) AS each GROUP BY message_id
) AS hit CROSS JOIN LATERAL (
    SELECT id, reply_to_id, session_id, position, content FROM conversation
    WHERE id = hit.message_id AND status = 'complete' OFFSET 0
) AS message
LEFT JOIN near USING (message_id) CROSS JOIN usual
"""

# Each has one good plan, whoever asks.
_FIND_EXACT = _WRITTEN.format(arms=",".join([_QUERY, _NEAR_EXACT, _WORDED]))
_FIND_BY_INDEX = _WRITTEN.format(arms=",".join([_QUERY, _WORDED, _NEAR_BY_INDEX]))

_HAS_INDEX = f"SELECT EXISTS (SELECT FROM conversation_embeddings WHERE {_MINE} AND in_index)"  # noqa: S608

# What is sensitive is recalled in no form before its owner said yes (D4).
_WAITS = "memory.status = 'pending' AND memory.sensitive <> '{}'"

# What is told here was said for good: not edited away, not forgotten, not temporary, not while remembering was paused,
# and every memory that it taught still holds and may be recalled.
_READ = f"""
SELECT message.id, message.session_id, message.create_time, message.content, reply.content
FROM conversation AS message
JOIN chat_session AS session ON session.id = message.session_id
LEFT JOIN conversation AS reply ON reply.reply_to_id = message.id AND reply.status = 'complete'
WHERE message.user_id = %(user)s AND message.id = ANY (%(ids)s) AND message.role = 'user'
  AND message.status = 'complete' AND message.recallable AND coalesce(reply.recallable, TRUE) AND NOT session.temporary
  AND message.paused_by = ''
  AND {seen_sql("session")}
  AND NOT EXISTS (
      SELECT FROM atomic_memory AS memory
      WHERE memory.message_id IN (message.id, reply.id)
        AND (memory.muted OR memory.status IN ('superseded', 'rejected') OR {_WAITS})
  )
  AND NOT EXISTS (
      SELECT FROM long_term_memory AS memory
      WHERE memory.message_id = message.id
        AND (memory.muted OR memory.status IN ('superseded', 'rejected') OR {_WAITS})
  )
"""  # noqa: S608 - our own names


# Of what a model looks for itself, too, nothing is told that was forgotten, was said while remembering was paused, or
# from which a muted memory came.
_WITHHELD = f"""
SELECT message.id
FROM conversation AS message
LEFT JOIN conversation AS asked ON asked.id = message.reply_to_id
WHERE message.user_id = %(user)s AND message.id = ANY (%(ids)s) AND (
    NOT message.recallable OR NOT coalesce(asked.recallable, TRUE) OR message.paused_by <> ''
    OR EXISTS (SELECT FROM atomic_memory AS memory WHERE (memory.muted OR {_WAITS})
               AND memory.message_id IN (message.id, message.reply_to_id))
    OR EXISTS (SELECT FROM long_term_memory AS memory WHERE (memory.muted OR {_WAITS})
               AND memory.message_id IN (message.id, message.reply_to_id))
)
"""  # noqa: S608 - our own names


@dataclass(frozen=True, slots=True)
class RecalledRound:
    """A past round: what the person `said`, and the `reply`, "" where none is stored; both whole (`cut_round`).

    `score`: that of the better of its two messages as a turn. `keyword_score`: the share of the message's keywords in
    it or around it, weighed by rarity, 0..1; `semantic_score`: the cosine, 0 where it is not known.
    """

    message_id: uuid.UUID
    session_id: uuid.UUID
    create_time: datetime
    said: str
    reply: str
    score: float
    keyword_score: float
    semantic_score: float


@dataclass(frozen=True, slots=True)
class _Hit:
    """A message that was found. `round_id`: the message that it is, or that it answers; `words`: which keywords it has,
    counted from 1.
    """

    round_id: uuid.UUID
    session_id: uuid.UUID
    position: int
    asks: bool
    cosine: float | None
    words: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Scored:
    """What speaks for a message: its `score` as a turn, and `evidence`, the unit of `find_threshold`."""

    hit: _Hit
    score: float
    evidence: float
    words: float


def recall_rounds(
    *,
    user: User,
    message: str,
    limit: int,
    query_embedding: QueryEmbedding | None,
    memories: Sample = NO_SAMPLE,
    without: Collection[uuid.UUID] = (),
) -> list[RecalledRound]:
    """Return at most `SPARES` × `limit` past rounds that stand out for `message`, best first (A5).

    By words and meaning, as memories are; `memories` is how near those are to it, which tells chance from more where
    little was said yet. `without`: messages that the prompt has already. Two statements, or three for whoever has so
    many messages that their vectors are in the index. Nothing is counted.
    """
    words = _write_words(user, parse_question(message))
    if limit < 1 or not (words or query_embedding):
        return []
    parameters = {
        "user": user.pk,
        "model": query_embedding.model_id if query_embedding else None,
        "vector": query_embedding.focused_sql if query_embedding else None,
        "words": words,
        "nearest": NEAREST,
        "common": COMMON,
        **sight_parameters(user),
    }
    ((by_index,),) = fetch_prepared(_HAS_INDEX, parameters) if query_embedding else ((False,),)
    rows = fetch_prepared(_FIND_BY_INDEX if by_index else _FIND_EXACT, parameters)
    if not rows:
        return []
    *_, common, vectors, mean, variance = rows[0]
    hits = [
        _Hit(round_id, session_id, position, asks, cosine, frozenset(found or ()))
        for round_id, session_id, position, asks, cosine, found, *_ in rows
    ]
    usual = Sample(vectors, mean or 0.0, variance or 0.0).merge(memories)
    keywords = set(range(1, len(words) + 1)).difference(common or ())
    scored = _score(hits, shares=_share_words(hits, keywords), usual=usual)
    # A round has two messages, and it is rounds that stand out from each other.
    threshold, known = find_threshold(max(vectors // 2, memories.count)), set(without)
    best = dict[uuid.UUID, _Scored]()
    for one in sorted(scored, key=lambda one: -one.score):
        if one.evidence >= threshold and one.hit.round_id not in known:
            best.setdefault(one.hit.round_id, one)
    return _read(user, list(best.values())[: limit * SPARES * 2])[: limit * SPARES]


def find_withheld(user: User, message_ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Return those of the messages that no model is told (L6, L10), replies to such messages included. One query."""
    if not message_ids:
        return set()
    return {message_id for (message_id,) in fetch_rows(_WITHHELD, {"user": user.pk, "ids": list(message_ids)})}


def cut_round(said: str, reply: str, *, message: str) -> tuple[str, str]:
    """Return as much of a round's two texts as a prompt shows, from around the keywords of `message`."""
    return (
        _cut(cut_client_blocks(said), ROUND_CHARACTERS, message=message),
        _cut(reply, ROUND_CHARACTERS, message=message),
    )


def _cut(text: str, length: int, *, message: str) -> str:
    needles = parse_question(message).needles if len(text) > length else ()
    return cut_excerpt(text, needles, length=length)[0]


def _write_words(user: User, terms: SearchTerms) -> list[str]:
    """Each keyword as a tsquery of the index, which begins every word with its owner's number."""
    words = [f"'{user.pk}:{word[:64]}'" for word in terms.words]
    for spellings in terms.parts:
        either = [" & ".join(f"'{user.pk}:{pair}'" for pair in _pair(spelling)) for spelling in spellings]
        words.append(" | ".join(f"({pairs})" for pairs in either))
    return words


def _pair(run: str) -> Sequence[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def _share_words(hits: Sequence[_Hit], keywords: Collection[int]) -> dict[int, float]:
    """How much of the message each keyword makes up, 0..1: the more the fewer messages have it."""
    frequencies = Counter(word for hit in hits for word in hit.words)
    weights = {word: math.log1p(COMMON / max(frequencies[word], 1)) for word in keywords}
    total = sum(weights.values()) or 1.0
    return {word: weight / total for word, weight in weights.items()}


def _score(hits: Sequence[_Hit], *, shares: Mapping[int, float], usual: Sample) -> list[_Scored]:
    """Score each message as `compute_features` and `compute_evidence` do turns.

    Of the turns around it those are known that have a word of the query.
    """
    weights = load_weights().turn
    place = {(hit.session_id, hit.position): hit for hit in hits if hit.words}

    def cover(hit: _Hit, distances: Iterable[int]) -> float:
        around = (place.get((hit.session_id, hit.position + distance)) for distance in distances)
        words = frozenset[int]().union(*(other.words for other in around if other))
        return sum(shares[word] for word in words)

    scored = []
    for hit in hits:
        meaning, words = usual.standardize(hit.cosine), cover(hit, range(-NEAR_TURNS, NEAR_TURNS + 1))
        before = place.get((hit.session_id, hit.position - 1))
        parts = {
            "meaning": meaning,
            "words_near": words,
            "question": float(hit.asks),
            "answer": cover(before, [0]) if before and before.asks else 0.0,
        }
        score = sum(weights[name] * value for name, value in parts.items())
        scored.append(_Scored(hit, score, evidence=meaning + WORDS_AS_EVIDENCE * words, words=words))
    return scored


def _read(user: User, scored: Sequence[_Scored]) -> list[RecalledRound]:
    """The rounds of these messages in their order, without what may not be recalled."""
    if not scored:
        return []
    parameters = {"user": user.pk, "ids": [one.hit.round_id for one in scored], **sight_parameters(user)}
    found = {message_id: row for message_id, *row in fetch_prepared(_READ, parameters)}
    return [
        RecalledRound(
            message_id=one.hit.round_id,
            session_id=session_id,
            create_time=create_time,
            said=content,
            reply=reply or "",
            score=one.score,
            keyword_score=one.words,
            semantic_score=one.hit.cosine or 0.0,
        )
        for one in scored
        if one.hit.round_id in found
        for session_id, create_time, content, reply in [found[one.hit.round_id]]
    ]
