"""Why retrieval finds what it finds (M6): its own steps, with what a turn leaves behind on the way.

Everything is judged by the functions that a turn calls; what is added is only told of what they answer. Counts no use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.core.db import fetch_rows
from apps.core.text.bm25_terms import bm25_terms
from apps.core.text.fold import normalize_key
from apps.core.text.index_terms import recall_query
from apps.core.text.keywords import extract_keywords
from apps.memory.embeddings.queries import QueryEmbedding
from apps.memory.retrieval.atomic.candidates import recall_atomic
from apps.memory.retrieval.atomic.fusion import standardize
from apps.memory.retrieval.atomic.retrieve import rank_recall
from apps.memory.retrieval.candidates import recall_candidates
from apps.memory.retrieval.preference import concerns_preference
from apps.memory.retrieval.retrieve import HasTopic
from apps.memory.retrieval.scoring import compute_idfs, match_keyword, rank_candidates, read_memory_text
from apps.memory.types import Candidate, Recall, ScoredAtomicMemory, ScoredMemory


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

    `hits`: memories that the full-text index finds, None when it could not be used. `unmatched`: candidates in which no
    keyword occurs after all. `below_floor`: the nearest by meaning that are not near enough, with their cosines.
    """

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
class ExplainedAtomicMemory:
    """A scored atomic memory; `keyword`, `semantic`: how many standard deviations each arm puts it above the mean."""

    scored: ScoredAtomicMemory
    keyword: float
    semantic: float
    is_near_enough: bool


@dataclass(frozen=True, slots=True)
class AtomicExplanation:
    """A recall of atomic memories: the first `limit` of those that are near enough are what a turn gets."""

    terms: Sequence[str]
    memory_count: int
    floor: float
    limit: int
    ranked: Sequence[ExplainedAtomicMemory]


@dataclass(frozen=True, slots=True)
class RecallExplanation:
    """Both kinds."""

    long_term: LongTermExplanation
    atomic: AtomicExplanation


_ARMS = """
SELECT id, search_vector @@ %(recall)s::tsquery,
       EXISTS (
           SELECT FROM unnest(%(needles)s::text[]) AS needle
           WHERE strpos(normalized_key, needle) > 0 OR strpos(normalized_value, needle) > 0
       )
FROM long_term_memory WHERE user_id = %(user)s AND id = ANY (%(ids)s::uuid[])
"""

_HITS = """
SELECT count(*) FROM long_term_memory
WHERE user_id = %(user)s AND status = 'active' AND search_vector @@ %(recall)s::tsquery
"""


def explain_recall(
    *,
    user: User,
    message: str,
    settings: MemorySettings,
    query_embedding: QueryEmbedding | None,
    working_memory: HasTopic | None = None,
    now: datetime,
) -> RecallExplanation:
    """Explain what `recall_memories` gives for the same arguments. At most five queries."""
    floor = settings.semantic_min_similarity
    if floor is None:
        floor = query_embedding.min_similarity if query_embedding else 1.0
    return RecallExplanation(
        long_term=_explain_long_term(
            user,
            message=message,
            topic=(working_memory.current_topic if working_memory else None) or "",
            settings=settings,
            query_embedding=query_embedding if settings.semantic_candidates else None,
            floor=floor,
            now=now,
        ),
        atomic=_explain_atomic(user, message=message, settings=settings, query_embedding=query_embedding, floor=floor),
    )


def _explain_long_term(
    user: User,
    *,
    message: str,
    topic: str,
    settings: MemorySettings,
    query_embedding: QueryEmbedding | None,
    floor: float,
    now: datetime,
) -> LongTermExplanation:
    topic_keywords = extract_keywords(topic, limit=settings.max_keywords)
    keywords = list(dict.fromkeys([*extract_keywords(message, limit=settings.max_keywords), *topic_keywords]))
    preferences_first = concerns_preference(message)
    recall = recall_candidates(
        user,
        keywords=keywords,
        candidate_limit=settings.candidate_limit,
        preferences_first=preferences_first,
        query_embedding=query_embedding,
        min_similarity=floor,
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
    arms = _find_arms(user, recall, keywords=keywords, modes=modes)
    scored = {memory.candidate.id for memory in ranked}
    return LongTermExplanation(
        keywords=_weigh(keywords, topic_keywords=topic_keywords, recall=recall),
        memory_count=recall.statistics.memory_count if recall.statistics else None,
        hits=_count_hits(user, keywords=keywords) if recall.statistics else None,
        preferences_first=preferences_first,
        floor=floor,
        limit=settings.retrieval_limit,
        candidate_limit=settings.candidate_limit,
        ranked=[
            ExplainedMemory(
                scored=memory,
                arms=arms[memory.candidate.id],
                modes=modes[memory.candidate.id],
            )
            for memory in ranked
        ],
        unmatched=[candidate for candidate in recall.candidates if candidate.id not in scored],
        below_floor=_list_below_floor(
            user, query_embedding=query_embedding, floor=floor, candidate_limit=settings.candidate_limit
        ),
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


def _count_hits(user: User, *, keywords: Sequence[str]) -> int:
    if not keywords:
        return 0
    ((count,),) = fetch_rows(_HITS, {"user": user.pk, "recall": recall_query(keywords)})
    return int(count)


def _list_below_floor(
    user: User, *, query_embedding: QueryEmbedding | None, floor: float, candidate_limit: int
) -> list[tuple[Candidate, float]]:
    """The nearest memories that the floor keeps out, the nearest first."""
    if query_embedding is None:
        return []
    nearest = recall_candidates(
        user,
        keywords=[],
        candidate_limit=candidate_limit,
        query_embedding=query_embedding,
        min_similarity=-1.0,
    )
    below = [
        (candidate, nearest.similarities[candidate.id])
        for candidate in nearest.candidates
        if nearest.similarities[candidate.id] < floor
    ]
    return sorted(below, key=lambda found: -found[1])


def _explain_atomic(
    user: User, *, message: str, settings: MemorySettings, query_embedding: QueryEmbedding | None, floor: float
) -> AtomicExplanation:
    terms = bm25_terms(message)
    recall = recall_atomic(
        user,
        terms=terms,
        query_embedding=query_embedding,
        candidate_limit=max(settings.candidate_limit, settings.rag_top_n),
    )
    ranked = rank_recall(recall)
    similarities = {memory.candidate.id: memory.similarity for memory in recall.candidates}
    keyword = standardize([memory.keyword_score for memory in ranked])
    semantic = standardize([similarities[memory.candidate.id] for memory in ranked])
    return AtomicExplanation(
        terms=list(dict.fromkeys(terms)),
        memory_count=recall.corpus.memory_count,
        floor=floor,
        limit=settings.rag_top_n,
        ranked=[
            ExplainedAtomicMemory(
                scored=memory,
                keyword=by_keyword,
                semantic=by_meaning,
                is_near_enough=bool(memory.keyword_score or memory.semantic_score >= floor),
            )
            for memory, by_keyword, by_meaning in zip(ranked, keyword, semantic, strict=True)
        ],
    )
