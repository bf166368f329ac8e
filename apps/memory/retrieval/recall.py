"""What a person's settings make of a recall: memories of both kinds and past rounds, as turns and searches get them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from apps.accounts.models import User
from apps.accounts.types import MemorySettings
from apps.memory.embeddings.queries import QueryEmbedding
from apps.memory.retrieval.atomic.query import AtomicQuery
from apps.memory.retrieval.atomic.retrieve import rank_atomic_memories, read_ranked
from apps.memory.retrieval.atomic.types import NO_SAMPLE
from apps.memory.retrieval.retrieve import HasTopic, retrieve_relevant_memories
from apps.memory.retrieval.rounds import RecalledRound, recall_rounds
from apps.memory.types import ScoredAtomicMemory, ScoredMemory

# Some of the atomic memories say what the prompt says already.
SPARES = 2


@dataclass(frozen=True, slots=True)
class RecalledMemories:
    """What bears on a message, best first; of atomic memories and rounds some to spare.

    The scores of the three have different scales (K5, A4, A5).
    """

    long_term: list[ScoredMemory]
    atomic: list[ScoredAtomicMemory]
    rounds: list[RecalledRound] = field(default_factory=list)


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
    rounds_without: Collection[UUID] | None = None,
    now: datetime | None = None,
) -> RecalledMemories:
    """The active memories of both kinds that matter for `message`, as many as the user's `settings` say.

    `query_embedding` is the vector of the message; with None keywords alone answer. `earlier`: the lines before it,
    where it needs them (`apps.memory.retrieval.follow_up`). `long_term_limit` is `memory.retrieval_limit` unless said.
    `since` and `until` bound the times of atomic memories. `rounds_without`: past rounds too, without these messages;
    None for none. Reads only.
    """
    long_term = retrieve_relevant_memories(
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
    )
    ranking = rank_atomic_memories(
        user=user,
        query=AtomicQuery(message, earlier=earlier),
        query_embedding=query_embedding,
        since=since,
        until=until,
        zone=settings.zone,
        now=now,
    )
    atomic, usual = list[ScoredAtomicMemory](), NO_SAMPLE
    if ranking is not None:
        atomic = read_ranked(user, ranking, ranking.outstanding[: settings.rag_top_n * SPARES])
        usual = ranking.sample
    rounds = list[RecalledRound]()
    if rounds_without is not None:
        rounds = recall_rounds(
            user=user,
            message=message,
            limit=settings.rounds_top_n,
            query_embedding=query_embedding,
            memories=usual,
            without=rounds_without,
        )
    return RecalledMemories(long_term=long_term, atomic=atomic, rounds=rounds)
