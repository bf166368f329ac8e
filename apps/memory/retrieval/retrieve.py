"""Retrieval of long-term memories from end to end: keywords and meaning → candidates → score → rank (K1–K9)."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.types import ScoreWeights
from apps.core.text.keywords import extract_keywords
from apps.memory.embeddings.queries import QueryEmbedding
from apps.memory.retrieval.candidates import recall_candidates
from apps.memory.retrieval.preference import concerns_preference
from apps.memory.retrieval.scoring import rank_candidates
from apps.memory.types import ScoredMemory

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
    with_muted: bool = False,
    now: datetime | None = None,
) -> list[ScoredMemory]:
    """The user's `limit` most relevant active memories for `message`, best first; [] when none matches (K8).

    The topic of ``working_memory`` adds its keywords to the query and lifts the memories that share one (K7).
    ``max_keywords`` bounds the keywords of the message and those of the topic, each for itself; ``half_life_days`` is
    that of recency (K5). With ``query_embedding``, the vector of the message, memories as near to it as
    ``min_similarity`` (by default the embedder's own floor) are candidates too (K9). Muted ones only ``with_muted``
    (L10). Reads only: use is counted by
    whoever puts a memory into a prompt (L4).
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
        with_muted=with_muted,
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
