"""Values between recall and ranking of atomic memories. No Django."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.memory.types import AtomicCandidate


@dataclass(frozen=True, slots=True)
class TermMatch:
    """A term of the query in a memory: how often it occurs there, and in how many of the user's active memories."""

    frequency: int
    document_frequency: int


@dataclass(frozen=True, slots=True)
class AtomicCorpus:
    """The user's active memories: how many there are, and their mean number of terms."""

    memory_count: int
    average_length: float


@dataclass(frozen=True, slots=True)
class RecalledAtomic:
    """A candidate with what it is ranked by. `length` in terms; `similarity` (cosine) is None without a vector."""

    candidate: AtomicCandidate
    length: int
    matches: Sequence[TermMatch]
    similarity: float | None


@dataclass(frozen=True, slots=True)
class AtomicRecall:
    """The candidates of both arms. Without any, the corpus does not matter."""

    candidates: Sequence[RecalledAtomic] = ()
    corpus: AtomicCorpus = AtomicCorpus(memory_count=0, average_length=0.0)
