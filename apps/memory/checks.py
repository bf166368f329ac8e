"""System checks of the embedding model: what is configured, and what the stored vectors are of (V2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import DEFAULT_DB_ALIAS, DatabaseError

from apps.core.llm.client import get_embedder_name
from apps.memory.models import EmbeddingModel
from apps.memory.vectors.embedders import find_active_model


@register("environment")
def check_embedding_model(**_options: Any) -> list[CheckMessage]:
    """Warn of an address that no model is asked at."""
    if settings.EMBEDDING_BASE_URL.strip() and not settings.EMBEDDING_MODEL.strip():
        message = "EMBEDDING_BASE_URL is set without EMBEDDING_MODEL, so the local embedding model is used."
        return [Warning(message, hint="Set EMBEDDING_MODEL to a model of that server.", id="memory.W001")]
    return []


@register(Tags.database)
def check_active_model(databases: Sequence[str] | None = None, **_options: Any) -> list[CheckMessage]:
    """Warn when the vectors that search uses are of another model than the configured one."""
    if DEFAULT_DB_ALIAS not in (databases or ()):
        return []
    try:
        active = find_active_model()
        building = EmbeddingModel.objects.filter(state=EmbeddingModel.State.BUILDING)
        is_chosen = building.filter(name=get_embedder_name()).exists()
    except DatabaseError:  # before the first migration
        return []
    if active is None or is_chosen or active.name == get_embedder_name():  # workers make a chosen one the active one
        return []
    message = f"EMBEDDING_MODEL selects {get_embedder_name()}, but the stored vectors are of {active.name}."
    hint = f"Search uses {active.name} until you run `manage.py reembed`."
    return [Warning(message, hint=hint, id="memory.W002")]
