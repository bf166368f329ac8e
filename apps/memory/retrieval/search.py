"""What a person or a tool asks the memories for, by name (SPEC: services; T1)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, zip_longest
from typing import Literal

from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.core.text.json_text import readable_text
from apps.memory.embeddings.queries import embed_query
from apps.memory.retrieval.atomic import retrieve_atomic_memories
from apps.memory.retrieval.recall import recall_memories
from apps.memory.types import ScoredAtomicMemory


@dataclass(frozen=True, slots=True)
class TimeRange:
    """From when to when, both included; None leaves that end open."""

    since: datetime | None = None
    until: datetime | None = None

    def holds(self, time: datetime) -> bool:
        """Whether the time is within the range."""
        return (self.since is None or self.since <= time) and (self.until is None or time <= self.until)


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


def search_memories(*, user: User, keyword: str, time_range: TimeRange = TimeRange()) -> list[FoundMemory]:
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
