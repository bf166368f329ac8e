"""From texts to the vectors of a model in use, and from vectors to SQL."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TypeVar

import numpy as np

from apps.core.errors import ModelUnavailable
from apps.core.llm.embedding.client import get_embedder
from apps.core.llm.embedding.parts import split_text
from apps.core.llm.embedding.types import Embedder, Vector, fit
from apps.memory.embeddings.active import ModelInUse

T = TypeVar("T")

logger = logging.getLogger(__name__)


def with_embedder(model: ModelInUse, use: Callable[[Embedder], T]) -> T | None:
    """Return what `use` makes of the model's embedder; None where the model is being built and cannot be asked.

    `reembed` makes up for that. Raises `ModelUnavailable` when it is the active model that cannot be asked.
    """
    try:
        return use(get_embedder(model.name))
    except ModelUnavailable as error:
        if model.active:
            raise
        logger.warning("The embedding model being built does not answer (%s).", error.fields.get("reason"))
        return None


def embed_whole(embedder: Embedder, texts: Sequence[str], *, seconds: float | None = None) -> list[Vector | None]:
    """Return one vector for each text, however long: of one in parts the mean of theirs. None where one is refused."""
    parts = [split_text(text, max_characters=embedder.max_characters) for text in texts]
    vectors = iter(embedder.embed([part for row in parts for part in row], seconds=seconds))
    return [_mean(list(islice(vectors, len(row)))) for row in parts]


def _mean(vectors: Sequence[Vector | None]) -> Vector | None:
    found = [vector for vector in vectors if vector is not None]
    if not found or len(found) < len(vectors):
        return None
    return found[0] if len(found) == 1 else fit([np.sum(found, axis=0)])[0]


def to_sql(vector: Vector) -> str:
    """Return the vector as pgvector reads it from text."""
    # One format for all numbers: it takes half the time of a format for each.
    return "[" + ",".join(["%.8g"] * len(vector)) % tuple(vector.tolist()) + "]"
