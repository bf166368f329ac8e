"""The embedding models that stored vectors are of (V2), from texts to their vectors, and from vectors to SQL."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np
from pgvector import HalfVector

from apps.core.db import fetch_prepared
from apps.core.errors import ModelUnavailable
from apps.core.llm.client import get_embedder, get_embedder_name
from apps.core.llm.embedding import Embedder, Vector, average, split_text
from apps.memory.models import AtomicEmbedding, ConversationEmbedding, EmbeddingModel, LongTermEmbedding


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """A model that new vectors are made with. `id` is that of its `EmbeddingModel`; `name` names its embedder."""

    id: int
    name: str
    active: bool


def find_active_model() -> ModelInUse | None:
    """Return the model whose vectors search compares; None while nothing was ever embedded. One query."""
    rows = fetch_prepared("SELECT id, name FROM embedding_model WHERE state = %(active)s", {"active": "active"})
    return ModelInUse(id=rows[0][0], name=rows[0][1], active=True) if rows else None


def list_models_in_use() -> list[ModelInUse]:
    """Return the models that every new vector is made with: the active one, then the one that `reembed` builds.

    The first call ever makes the configured model the active one. One query from then on.
    """
    models = _list_models()
    if not models:
        # Two processes may get here at once: one of them inserts, the other waits and finds what it inserted.
        first = EmbeddingModel(name=get_embedder_name(), state=EmbeddingModel.State.ACTIVE)
        EmbeddingModel.objects.bulk_create([first], ignore_conflicts=True)
        models = _list_models()
    return models


def _list_models() -> list[ModelInUse]:
    states = (EmbeddingModel.State.ACTIVE, EmbeddingModel.State.BUILDING)
    return [_to_model(row) for row in EmbeddingModel.objects.filter(state__in=states).order_by("state")]


def _to_model(row: EmbeddingModel) -> ModelInUse:
    return ModelInUse(id=row.pk, name=row.name, active=row.state == EmbeddingModel.State.ACTIVE)


T = TypeVar("T")

_checked: set[tuple[str, int | None]] = set()  # embedders whose dimensions are those of their stored vectors

_ENDING_ZEROS = 8
"""So many numbers at the end of all vectors may be zero by chance: what is stored is padded with zeros."""

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
    vectors = iter(embed_parts(embedder, [part for row in parts for part in row], seconds=seconds))
    return [average(list(islice(vectors, len(row)))) for row in parts]


def embed_parts(embedder: Embedder, texts: Sequence[str], *, seconds: float | None = None) -> list[Vector | None]:
    """Return what the embedder does for texts that it reads as a whole.

    Raises `ModelUnavailable` where the stored vectors of its name have other dimensions: they could not be compared.
    One query the first time in a process, none for a local one.
    """
    vectors = embedder.embed(texts, seconds=seconds)
    known = (embedder.name, embedder.dimensions)
    if embedder.local or embedder.dimensions is None or known in _checked:
        return vectors
    stored = _count_dimensions(embedder.name)
    if stored is not None and not stored <= embedder.dimensions <= stored + _ENDING_ZEROS:
        message = (
            f'The embedding model "{embedder.name}" answers with {embedder.dimensions} dimensions, and its stored '
            f"vectors have {stored}. It is another model now: connect it under another name, then re-embed."
        )
        raise ModelUnavailable(message, fields={"reason": "bad_answer"})
    _checked.add(known)
    return vectors


def _count_dimensions(name: str) -> int | None:
    """How many numbers the stored vectors of a model have, not counting the zeros at their end; None without any."""
    tables = (ConversationEmbedding, AtomicEmbedding, LongTermEmbedding)
    for table in tables:
        found = list(table.objects.filter(model__name=name).values_list("embedding", flat=True)[:20])
        if found:
            rows = (vector.to_numpy() if isinstance(vector, HalfVector) else np.asarray(vector) for vector in found)
            return max(int(np.flatnonzero(row)[-1]) + 1 for row in rows)
    return None


def to_sql(vector: Vector) -> str:
    """Return the vector as pgvector reads it from text."""
    # One format for all numbers: it takes half the time of a format for each. Vectors of fewer dimensions end in zeros.
    used = int(np.flatnonzero(vector)[-1]) + 1 if vector.any() else 0
    numbers = ["%.8g"] * used + ["0"] * (len(vector) - used)
    return "[" + ",".join(numbers) % tuple(vector[:used].tolist()) + "]"
