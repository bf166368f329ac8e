"""Atomic memories to find, and vectors that are where a test wants them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from apps.accounts.models import User
from apps.core.llm.embedding import DIMENSIONS, Vector
from apps.memory.lifecycle import create_atomic_memories
from apps.memory.models import AtomicEmbedding, AtomicMemory
from apps.memory.types import AtomicDraft
from apps.memory.vectors.embedders import list_models_in_use
from apps.memory.vectors.queries import QueryEmbedding
from tests.memory.recall.conftest import NOW

Remember = Callable[..., AtomicMemory]


def vector(*numbers: float) -> Vector:
    """A unit vector that starts in the direction of these numbers."""
    padded = np.zeros(DIMENSIONS, dtype=np.float32)
    padded[: len(numbers)] = numbers
    return padded / np.linalg.norm(padded)


def asked(*numbers: float, min_similarity: float = 0.5) -> QueryEmbedding:
    """A query that was embedded as this vector."""
    model = list_models_in_use()[0]
    return QueryEmbedding(model_id=model.id, vector=vector(*numbers), min_similarity=min_similarity)


@pytest.fixture
def remember(user: User) -> Remember:
    """Store one memory of `user`, or of the ``owner`` given, through the service; ``at`` sets its vector by hand."""

    def store(
        content: str, *, owner: User | None = None, at: Sequence[float] | None = None, **fields: Any
    ) -> AtomicMemory:
        draft = AtomicDraft(content=content, **{"timestamp": NOW, **fields})
        (memory,) = create_atomic_memories(user=owner or user, drafts=[draft], now=NOW)
        if at is not None:
            AtomicEmbedding.objects.filter(memory=memory).update(embedding=vector(*at))
        return memory

    return store
