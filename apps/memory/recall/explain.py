"""Explains retrieval results (M6): the same steps as in a turn, with the intermediate results that a turn discards.

All decisions are made by the functions that a turn calls; this module only reports their results. Counts no use.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar
from uuid import UUID

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.core.db import fetch_rows
from apps.core.text.fold import normalize_key
from apps.core.text.keywords import extract_keywords
from apps.core.text.search import recall_query
from apps.memory.recall.atomic import rank_recall, read_ranked
from apps.memory.recall.both import SPARES, RecalledMemories
from apps.memory.recall.columns import recall_atomic, recallable_parameters, recallable_sql
from apps.memory.recall.features import NO_SAMPLE, Sample
from apps.memory.recall.long_term import HasTopic, concerns_preference, recall_candidates
from apps.memory.recall.query import AtomicQuery
from apps.memory.recall.rounds import RecalledRound, recall_rounds
from apps.memory.recall.scoring import compute_idfs, match_keyword, rank_candidates, read_memory_text
from apps.memory.types import Candidate, Recall, ScoredAtomicMemory, ScoredMemory
from apps.memory.vectors.queries import QueryEmbedding

T = TypeVar("T")

COUNTED_HITS = 10_000  # how far the memories that hold a keyword are counted
EXPLAINED = 50  # how many atomic memories are explained, best first, at least


class Arm(StrEnum):
    """By what a long-term memory became a candidate (K3, K9)."""

    FULL_TEXT = "full_text"
    SUBSTRING = "substring"
    SEMANTIC = "semantic"


@dataclass(frozen=True, slots=True)
class KeywordWeight:
    """A keyword of the query: in how many active memories it occurs, and what that makes it weigh (K4)."""

    word: str
    of_topic: bool
    occurrences: int | None
    idf: float


@dataclass(frozen=True, slots=True)
class ExplainedMemory:
    """A scored long-term memory: which arms found it, and how each keyword matched it (K4)."""

    scored: ScoredMemory
    arms: Sequence[Arm]
    modes: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LongTermExplanation:
    """A recall of long-term memories. The first `limit` of `ranked` are what a turn gets.

    `milliseconds`: that the database took for what it is asked in a turn. `hits`: memories that the full-text index
    finds, at most one more than `COUNTED_HITS`; None when it could not be used. `unmatched`: candidates in which no
    keyword occurs after all. `below_floor`: the nearest by meaning that are not near enough, with their cosines.
    """

    milliseconds: float
    keywords: Sequence[KeywordWeight]
    memory_count: int | None
    hits: int | None
    preferences_first: bool
    floor: float
    limit: int
    candidate_limit: int
    ranked: Sequence[ExplainedMemory]
    unmatched: Sequence[Candidate]
    below_floor: Sequence[tuple[Candidate, float]]


@dataclass(frozen=True, slots=True)
class AtomicExplanation:
    """A recall of atomic memories: the first `limit` of those that stand out are what a turn gets.

    `milliseconds`: that the database took for it. `more`: memories that were ranked after these. `sample`: how near
    the person's memories are to the query in general.
    """

    milliseconds: float
    terms: Sequence[str]
    memory_count: int
    limit: int
    ranked: Sequence[ScoredAtomicMemory]
    more: int
    sample: Sample = NO_SAMPLE


@dataclass(frozen=True, slots=True)
class RecallExplanation:
    """Both kinds, and past rounds, which took `rounds_milliseconds`."""

    long_term: LongTermExplanation
    atomic: AtomicExplanation
    rounds: Sequence[RecalledRound] = ()
    rounds_milliseconds: float = 0.0

    @property
    def milliseconds(self) -> float:
        """How long the database took for what it is asked in a turn."""
        return self.long_term.milliseconds + self.atomic.milliseconds + self.rounds_milliseconds

    @property
    def recalled(self) -> RecalledMemories:
        """What a turn gets."""
        outstanding = [memory for memory in self.atomic.ranked if memory.stands_out]
        return RecalledMemories(
            long_term=[memory.scored for memory in self.long_term.ranked[: self.long_term.limit]],
            atomic=outstanding[: self.atomic.limit * SPARES],
            rounds=list(self.rounds),
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """What the database answered about one message of one person, with one vector, and in how many milliseconds.

    Under other settings most questions are the same: given to the next explanation, they are not asked again.
    """

    answers: dict[Hashable, tuple[Any, float]] = field(default_factory=dict)

    def once(self, question: Hashable, ask: Callable[[], T]) -> tuple[T, float]:
        """Return the answer and the milliseconds it took, asking only where `question` was not asked before."""
        if question not in self.answers:
            start = time.perf_counter()
            answer = ask()
            self.answers[question] = answer, (time.perf_counter() - start) * 1_000
        return self.answers[question]


_ARMS = """
SELECT id, search_vector @@ %(recall)s::tsquery,
       EXISTS (
           SELECT FROM unnest(%(needles)s::text[]) AS needle
           WHERE strpos(normalized_key, needle) > 0 OR strpos(normalized_value, needle) > 0
       )
FROM long_term_memory WHERE user_id = %(user)s AND id = ANY (%(ids)s::uuid[])
"""

_HITS = f"""
SELECT count(*) FROM (
    SELECT FROM long_term_memory
    WHERE user_id = %(user)s AND status = 'active' AND search_vector @@ %(recall)s::tsquery
      AND {recallable_sql("long_term_memory")}
    LIMIT %(most)s
) AS hit
"""  # noqa: S608 - our own condition


def explain_recall(
    *,
    user: User,
    message: str,
    earlier: str = "",
    settings: MemorySettings,
    query_embedding: QueryEmbedding | None,
    working_memory: HasTopic | None = None,
    asked: Asked | None = None,
    rounds_without: Collection[UUID] = (),
    now: datetime,
) -> RecallExplanation:
    """Explain what `recall_memories` gives for the same arguments. At most nine queries.

    `asked`: what an explanation of the same message under other settings has found out already.
    """
    known = asked or Asked()
    floor = settings.semantic_min_similarity
    if floor is None:
        floor = query_embedding.min_similarity if query_embedding else 1.0
    long_term = _explain_long_term(
        user,
        message=message,
        topic=(working_memory.current_topic if working_memory else None) or "",
        settings=settings,
        query_embedding=query_embedding if settings.semantic_candidates else None,
        floor=floor,
        known=known,
        now=now,
    )
    atomic = _explain_atomic(
        user,
        query=AtomicQuery(message, earlier=earlier, now=now, zone=settings.zone),
        settings=settings,
        query_embedding=query_embedding,
        known=known,
    )
    rounds, milliseconds = known.once(
        ("rounds", settings.rounds_top_n, frozenset(rounds_without)),
        lambda: recall_rounds(
            user=user,
            message=message,
            limit=settings.rounds_top_n,
            query_embedding=query_embedding,
            memories=atomic.sample,
            without=rounds_without,
        ),
    )
    return RecallExplanation(long_term=long_term, atomic=atomic, rounds=rounds, rounds_milliseconds=milliseconds)


def _explain_long_term(
    user: User,
    *,
    message: str,
    topic: str,
    settings: MemorySettings,
    query_embedding: QueryEmbedding | None,
    floor: float,
    known: Asked,
    now: datetime,
) -> LongTermExplanation:
    topic_keywords = extract_keywords(topic, limit=settings.max_keywords)
    keywords = list(dict.fromkeys([*extract_keywords(message, limit=settings.max_keywords), *topic_keywords]))
    preferences_first = concerns_preference(message)
    limit = settings.candidate_limit
    question = (tuple(keywords), limit, query_embedding is None, floor)
    recall, milliseconds = known.once(
        ("long_term", question),
        lambda: recall_candidates(
            user,
            keywords=keywords,
            candidate_limit=limit,
            preferences_first=preferences_first,
            query_embedding=query_embedding,
            min_similarity=floor,
            now=now,
        ),
    )
    ranked = rank_candidates(
        recall,
        keywords=keywords,
        topic_keywords=topic_keywords,
        weights=settings.score_weights,
        half_life_days=settings.recency_half_life_days,
        now=now,
    )
    modes = {candidate.id: _match(candidate, keywords=keywords) for candidate in recall.candidates}
    arms, _ = known.once(("arms", question), lambda: _find_arms(user, recall, keywords=keywords, modes=modes))
    hits = None
    if recall.statistics is not None:
        hits, _ = known.once(("hits", tuple(keywords)), lambda: _count_hits(user, keywords=keywords, now=now))
    nearest, _ = known.once(
        ("nearest", limit, query_embedding is None), lambda: _list_nearest(user, query_embedding, limit=limit, now=now)
    )
    scored = {memory.candidate.id for memory in ranked}
    return LongTermExplanation(
        milliseconds=milliseconds,
        keywords=_weigh(keywords, topic_keywords=topic_keywords, recall=recall),
        memory_count=recall.statistics.memory_count if recall.statistics else None,
        hits=hits,
        preferences_first=preferences_first,
        floor=floor,
        limit=settings.retrieval_limit,
        candidate_limit=limit,
        ranked=[
            ExplainedMemory(scored=memory, arms=arms[memory.candidate.id], modes=modes[memory.candidate.id])
            for memory in ranked
        ],
        unmatched=[candidate for candidate in recall.candidates if candidate.id not in scored],
        below_floor=[(candidate, similarity) for candidate, similarity in nearest if similarity < floor],
    )


def _weigh(keywords: Sequence[str], *, topic_keywords: Sequence[str], recall: Recall) -> list[KeywordWeight]:
    idfs = compute_idfs(keywords, statistics=recall.statistics)
    counts = recall.statistics.document_frequencies if recall.statistics else {}
    return [
        KeywordWeight(word=word, of_topic=word in topic_keywords, occurrences=counts.get(word), idf=idfs[word])
        for word in keywords
    ]


def _match(candidate: Candidate, *, keywords: Sequence[str]) -> dict[str, float]:
    text = read_memory_text(candidate)
    return {keyword: match_keyword(keyword, text=text) for keyword in keywords}


def _find_arms(
    user: User, recall: Recall, *, keywords: Sequence[str], modes: Mapping[UUID, Mapping[str, float]]
) -> dict[UUID, list[Arm]]:
    arms: dict[UUID, list[Arm]] = {candidate.id: [] for candidate in recall.candidates}
    if arms and recall.statistics is not None:
        parameters = {
            "user": user.pk,
            "ids": list(arms),
            "recall": recall_query(keywords) or None,
            "needles": [normalize_key(keyword) or keyword for keyword in keywords],
        }
        for found, indexed, contained in fetch_rows(_ARMS, parameters):
            if indexed or contained:
                arms[found].append(Arm.FULL_TEXT if indexed else Arm.SUBSTRING)
    elif recall.statistics is None:  # the index could not be read, so it cannot be asked either
        for found, matched in modes.items():
            if any(matched.values()):
                arms[found].append(Arm.SUBSTRING)
    for near in recall.similarities:
        arms[near].append(Arm.SEMANTIC)
    return arms


def _count_hits(user: User, *, keywords: Sequence[str], now: datetime) -> int:
    if not keywords:
        return 0
    parameters = {"user": user.pk, "recall": recall_query(keywords), "most": COUNTED_HITS + 1}
    ((count,),) = fetch_rows(_HITS, parameters | recallable_parameters(user, with_withheld=False, now=now))
    return int(count)


def _list_nearest(
    user: User, query_embedding: QueryEmbedding | None, *, limit: int, now: datetime
) -> list[tuple[Candidate, float]]:
    """The memories nearest in meaning, near enough or not, with their cosines, the nearest first."""
    if query_embedding is None:
        return []
    recall = recall_candidates(
        user, keywords=[], candidate_limit=limit, query_embedding=query_embedding, min_similarity=-1.0, now=now
    )
    found = [(candidate, recall.similarities[candidate.id]) for candidate in recall.candidates]
    return sorted(found, key=lambda each: -each[1])


def _explain_atomic(
    user: User, *, query: AtomicQuery, settings: MemorySettings, query_embedding: QueryEmbedding | None, known: Asked
) -> AtomicExplanation:
    terms = query.terms
    recall, milliseconds = known.once(
        ("atomic",), lambda: recall_atomic(user, terms=terms, query_embedding=query_embedding, now=query.now)
    )
    limit = settings.rag_top_n
    if recall is None:
        return AtomicExplanation(milliseconds=milliseconds, terms=terms, memory_count=0, limit=limit, ranked=[], more=0)
    ranking = rank_recall(recall, query)
    shown = max(EXPLAINED, limit * SPARES)
    first = ranking.order[:shown].tolist()
    scored, _ = known.once(("atomic texts", tuple(first)), lambda: read_ranked(user, ranking, first))
    return AtomicExplanation(
        milliseconds=milliseconds,
        terms=terms,
        memory_count=recall.memory_count,
        limit=limit,
        ranked=scored,
        more=max(len(recall.rows) - shown, 0),
        sample=ranking.sample,
    )
