"""Recall of both kinds and of past rounds by a person's settings: what turns get, and what searches find (T1)."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, zip_longest
from typing import Literal
from uuid import UUID

from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.accounts.types import MemorySettings
from apps.core.text.clean import readable_text
from apps.core.times import ANY_TIME, TimeRange
from apps.memory.recall.atomic import rank_atomic_memories, read_ranked, retrieve_atomic_memories
from apps.memory.recall.features import NO_SAMPLE
from apps.memory.recall.long_term import HasTopic, retrieve_relevant_memories
from apps.memory.recall.query import AtomicQuery
from apps.memory.recall.rounds import RecalledRound, recall_rounds
from apps.memory.types import ScoredAtomicMemory, ScoredMemory
from apps.memory.vectors.queries import QueryEmbedding, embed_query

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


def recall_long_term(
    user: User,
    message: str,
    settings: MemorySettings,
    limit: int | None = None,
    *,
    query_embedding: QueryEmbedding | None,
    working_memory: HasTopic | None = None,
    now: datetime | None = None,
) -> list[ScoredMemory]:
    """Retrieve long-term memories as the user's `settings` say; `limit` is `memory.retrieval_limit` unless said."""
    return retrieve_relevant_memories(
        user=user,
        message=message,
        limit=settings.retrieval_limit if limit is None else limit,
        working_memory=working_memory,
        candidate_limit=settings.candidate_limit,
        weights=settings.score_weights,
        half_life_days=settings.recency_half_life_days,
        max_keywords=settings.max_keywords,
        query_embedding=query_embedding if settings.semantic_candidates else None,
        min_similarity=settings.semantic_min_similarity,
        now=now,
    )


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
    where it needs them (`apps.memory.recall.query`). `long_term_limit` is `memory.retrieval_limit` unless said.
    `since` and `until` bound the times of atomic memories. `rounds_without`: past rounds too, without these messages;
    None for none. Reads only.
    """
    long_term = recall_long_term(
        user,
        message,
        settings,
        long_term_limit,
        query_embedding=query_embedding,
        working_memory=working_memory,
        now=now,
    )
    query = AtomicQuery(message, earlier=earlier, since=since, until=until, now=now, zone=settings.zone)
    ranking = rank_atomic_memories(user, query, query_embedding=query_embedding)
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


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A memory of either kind that a search found. `time`: of its turn, or when a long-term one was last changed."""

    id: uuid.UUID
    kind: Literal["long_term", "atomic"]
    text: str
    time: datetime


def get_relevant_memories(*, user: User, query: str, top_n: int | None = None) -> list[ScoredAtomicMemory]:
    """The user's atomic memories that a turn with the message `query` would get, best first (A4).

    `top_n` is `memory.rag_top_n` unless said.
    """
    settings = get_settings(user)
    return retrieve_atomic_memories(
        user=user,
        query=query,
        limit=settings.rag_top_n if top_n is None else top_n,
        query_embedding=embed_query(query),
        only_outstanding=True,
        zone=settings.zone,
        now=timezone.now(),
    )


def search_memories(*, user: User, keyword: str, time_range: TimeRange = ANY_TIME) -> list[FoundMemory]:
    """The user's active memories of both kinds that `keyword` finds within `time_range` (T1).

    As many of each kind as a turn gets, best first and by turns, as the scores of the two have different scales. Counts
    no use.
    """
    settings = get_settings(user)
    found = recall_memories(
        user=user,
        message=keyword,
        settings=settings,
        query_embedding=embed_query(keyword),
        long_term_limit=settings.candidate_limit,
        since=time_range.since,
        until=time_range.until,
        now=timezone.now(),
    )
    stated = [
        FoundMemory(
            id=item.candidate.id,
            kind="long_term",
            text=f"{item.candidate.key}: {readable_text(item.candidate.value)}",
            time=item.candidate.updated_at,
        )
        for item in found.long_term
        if time_range.holds(item.candidate.updated_at)
    ]
    happened = [
        FoundMemory(id=item.candidate.id, kind="atomic", text=item.candidate.content, time=item.candidate.timestamp)
        for item in found.atomic[: settings.rag_top_n]
    ]
    return list(_by_turns(stated[: settings.retrieval_limit], happened))


def _by_turns(*rankings: Iterable[FoundMemory]) -> Iterable[FoundMemory]:
    return (memory for memory in chain.from_iterable(zip_longest(*rankings)) if memory is not None)
