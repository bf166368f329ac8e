"""Values that memory passes around: what retrieval finds and how it judged it. No Django."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class KindName(StrEnum):
    """The name of a kind of memory that is judged and has vectors (`apps.memory.kinds`)."""

    LONG_TERM = "long_term"
    ATOMIC = "atomic"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An active long-term memory that may be relevant, with the fields of L1 that retrieval or its reader needs.

    ``words``: the words of key and value, as they were stored with the memory (`apps.memory.keyed.list_words`).
    """

    id: uuid.UUID
    category: str
    key: str
    value: Any
    confidence: float
    updated_at: datetime
    last_accessed: datetime
    access_count: int
    words: Sequence[str]
    message_id: uuid.UUID | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """What idf needs to know of the user's active memories (K4).

    ``memory_count``: how many there are. ``document_frequencies``: per keyword, in how many of them it occurs.
    """

    memory_count: int
    document_frequencies: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Recall:
    """The candidates for a query. ``statistics`` is None when the fallback alone answered: every idf is then 1 (K4).

    ``similarities``: the cosines, by ID, of those candidates that are near to the query in meaning (K9).
    """

    candidates: tuple[Candidate, ...] = ()
    statistics: CorpusStatistics | None = None
    similarities: Mapping[uuid.UUID, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoredMemory:
    """A candidate with its score and every component of it (K5); all of them 0..1 but the boosts and the score.

    ``semantic_score`` is the cosine of a neighbour, 0 for a candidate that is none (K9).
    """

    candidate: Candidate
    score: float
    keyword_score: float
    semantic_score: float
    category_boost: float
    recency_score: float
    frequency_score: float
    confidence: float
    topic_boost: float


@dataclass(frozen=True, slots=True)
class AtomicCandidate:
    """An active atomic memory that may be relevant, with the fields of A1 that its reader needs."""

    id: uuid.UUID
    session_id: uuid.UUID | None
    message_id: uuid.UUID | None
    content: str
    tags: Sequence[str]
    timestamp: datetime
    event_start: datetime | None
    event_end: datetime | None
    valid_until: datetime | None
    create_time: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ScoredAtomicMemory:
    """A candidate with its score, comparable within one answer only, and what went into it (A4).

    ``score`` is the sum of ``parts``, the points that each feature gives or takes away. ``keyword_score`` is BM25: 0
    when no term of the query occurs, else above it without an upper bound. ``semantic_score`` is the cosine to the
    query, 0 when that is not known. ``stands_out``: whether it stands out from the person's other memories for this
    query; a turn shows no others.
    """

    candidate: AtomicCandidate
    score: float
    keyword_score: float
    semantic_score: float
    stands_out: bool
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class AtomicDraft:
    """An atomic memory to be stored (A1). `timestamp`: when its turn was, now if None. `proposal`: of a pending one.

    `session_id` and `message_id`, where given, are known to be the person's own.
    """

    content: str
    tags: Sequence[str] = ()
    timestamp: datetime | None = None
    event_start: datetime | None = None
    event_end: datetime | None = None
    session_id: uuid.UUID | None = None
    message_id: uuid.UUID | None = None
    status: str = "active"
    valid_until: datetime | None = None
    sensitive: Sequence[str] = ()
    proposal: Mapping[str, Any] | None = None
