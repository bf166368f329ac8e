"""What a person's settings make of a recall: both kinds of memory, as a turn and a search get them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.memory.embeddings.queries import QueryEmbedding
from apps.memory.retrieval.atomic.retrieve import retrieve_atomic_memories
from apps.memory.retrieval.retrieve import HasTopic, retrieve_relevant_memories
from apps.memory.types import ScoredAtomicMemory, ScoredMemory

SPARES = 2
"""So many times as many atomic memories as a prompt shows are recalled: some say what it says already."""


@dataclass(frozen=True, slots=True)
class RecalledMemories:
    """The memories of each kind, best first; of atomic ones `SPARES` times as many as the settings say.

    The two scores have different scales (K5, A4).
    """

    long_term: list[ScoredMemory]
    atomic: list[ScoredAtomicMemory]


def recall_memories(
    *,
    user: User,
    message: str,
    earlier: str = "",
    settings: MemorySettings,
    query_embedding: QueryEmbedding | None,
    working_memory: HasTopic | None = None,
    long_term_limit: int | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    now: datetime | None = None,
) -> RecalledMemories:
    """The active memories of both kinds that matter for `message`, as many as the user's `settings` say.

    `query_embedding` is the vector of the message; with None keywords alone answer. `earlier`: the lines before it,
    where it needs them (`apps.memory.retrieval.follow_up`). `long_term_limit` is
    `memory.retrieval_limit` unless said. `since` and `until` bound the times of atomic memories. Reads only.
    """
    return RecalledMemories(
        long_term=retrieve_relevant_memories(
            user=user,
            message=message,
            limit=settings.retrieval_limit if long_term_limit is None else long_term_limit,
            working_memory=working_memory,
            candidate_limit=settings.candidate_limit,
            weights=settings.score_weights,
            half_life_days=settings.recency_half_life_days,
            max_keywords=settings.max_keywords,
            query_embedding=query_embedding if settings.semantic_candidates else None,
            min_similarity=settings.semantic_min_similarity,
            now=now,
        ),
        atomic=retrieve_atomic_memories(
            user=user,
            query=message,
            earlier=earlier,
            limit=settings.rag_top_n * SPARES,
            query_embedding=query_embedding,
            min_similarity=settings.semantic_min_similarity,
            since=since,
            until=until,
            zone=settings.zone,
            now=now,
        ),
    )
