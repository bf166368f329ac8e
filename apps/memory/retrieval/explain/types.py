"""What an explanation of a retrieval tells (M6)."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from apps.memory.retrieval.atomic.types import NO_SAMPLE, Sample
from apps.memory.retrieval.recall import SPARES, RecalledMemories
from apps.memory.retrieval.rounds import RecalledRound
from apps.memory.types import Candidate, ScoredAtomicMemory, ScoredMemory

T = TypeVar("T")

COUNTED_HITS = 10_000
"""How far the memories that hold a keyword are counted."""

EXPLAINED = 50
"""How many atomic memories are explained, best first, at least."""


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
