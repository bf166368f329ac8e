"""Which embedding models the stored vectors are of: the active one, which search uses, and one being built (V2)."""

from __future__ import annotations

from dataclasses import dataclass

from apps.core.db import fetch_prepared
from apps.core.llm.embedding.client import get_embedder_name
from apps.memory.models import EmbeddingModel


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
    return [_read(row) for row in EmbeddingModel.objects.filter(state__in=states).order_by("state")]


def _read(row: EmbeddingModel) -> ModelInUse:
    return ModelInUse(id=row.pk, name=row.name, active=row.state == EmbeddingModel.State.ACTIVE)
