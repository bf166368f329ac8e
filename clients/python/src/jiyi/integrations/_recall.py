"""What the adapters have in common: recalling memories of both kinds, and messages that the server takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

from jiyi._wording import to_readable
from jiyi.resources.conversations import PastMessage
from jiyi.types import ScoredAtomic, ScoredMemory

MAX_CONTENT = 32_000
"""Characters that a message may have."""
MAX_RECORDED = 1_000
"""Messages that one recording may have."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory as other libraries see one: a text, and what is known about it."""

    id: str
    text: str
    metadata: dict[str, Any]


def merge(long_term: Iterable[ScoredMemory], atomic: Iterable[ScoredAtomic], *, limit: int) -> list[Recalled]:
    """Return the best of both kinds in turn: their scores cannot be compared, their ranks can."""
    pairs = zip_longest(map(_read_long_term, long_term), map(_read_atomic, atomic))
    return [*islice((memory for pair in pairs for memory in pair if memory is not None), limit)]


def cut(text: str) -> str:
    """Return as much of a text as a message may have."""
    return text[:MAX_CONTENT]


def in_portions(messages: list[PastMessage]) -> Iterator[list[PastMessage]]:
    """Yield messages in portions that the server takes at once."""
    for start in range(0, len(messages), MAX_RECORDED):
        yield messages[start : start + MAX_RECORDED]


def _read_long_term(found: ScoredMemory) -> Recalled:
    memory = found.memory
    return Recalled(
        id=memory.id,
        text=f"{memory.key}: {to_readable(memory.value)}",
        metadata={
            "kind": "long_term",
            "score": found.score,
            "category": memory.category,
            "confidence": memory.confidence,
            "created_at": memory.created_at.isoformat(),
        },
    )


def _read_atomic(found: ScoredAtomic) -> Recalled:
    memory = found.memory
    return Recalled(
        id=memory.id,
        text=memory.content,
        metadata={
            "kind": "atomic",
            "score": found.score,
            "tags": memory.tags,
            "created_at": memory.timestamp.isoformat(),
        },
    )
