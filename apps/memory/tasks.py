"""Periodic work on memories. Each task is one call of a service."""

from __future__ import annotations

import structlog
from celery import shared_task
from django.utils import timezone

from apps.core.errors import ModelUnavailable
from apps.memory import archive, lifecycle
from apps.memory.vectors import messages as retention
from apps.memory.vectors.embedders import index_large_collections as put_into_index
from apps.memory.vectors.memories import fill_missing
from apps.memory.vectors.reembedding import continue_reembedding

logger = structlog.get_logger(__name__)

SECONDS_AT_ONCE = 20.0  # how long changing the embedding model keeps a worker before what waits gets its turn


@shared_task
def expire_working_memory() -> int:
    """Delete working memory that idled too long, archived before where its owner wants that (W4)."""
    return archive.expire_working_memory(now=timezone.now())


@shared_task
def embed_memories() -> int:
    """Make the vectors that memories lack (V2)."""
    return fill_missing()


@shared_task
def change_embedding_model() -> bool:
    """Go on with the change to another embedding model that was decided in the panel (V2); again while some is left."""
    try:
        is_left = continue_reembedding(seconds=SECONDS_AT_ONCE)
    except ModelUnavailable as error:
        logger.warning("embedding_model_not_changed", reason=error.fields.get("reason"), detail=error.message)
        return False
    if is_left:
        change_embedding_model.delay()
    return is_left


@shared_task
def index_large_collections() -> int:
    """Put the vectors of people with many memories or messages into the vector index (A4, V4)."""
    return put_into_index()


@shared_task
def apply_retention() -> int:
    """Delete embeddings of messages that are older than their owners keep them (R1)."""
    return retention.apply_retention(now=timezone.now())


@shared_task
def evict_memories() -> int:
    """Evict long-term memories over their owners' limits (L5)."""
    return lifecycle.evict_memories(now=timezone.now())
