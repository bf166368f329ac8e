"""The models that a client may name."""

from __future__ import annotations

from django.conf import settings

from apps.core.errors import ModelUnavailable
from apps.core.llm.client import get_chat_model
from apps.core.llm.embedding.client import get_embedder_name

DEFAULT_MODEL = "jiyi"
"""A name that stands for the configured model, whatever it is."""


def name_default_models() -> frozenset[str]:
    """Return the names that stand for the configured model: without a server every name does."""
    return frozenset({"", DEFAULT_MODEL, get_chat_model().name})


async def list_models() -> list[str]:
    """Return the names: the configured model's first, that of the embedding model last.

    A server that lists none is no reason to list nothing.
    """
    model = get_chat_model()
    configured = settings.CHAT_MODEL.strip() or model.name
    found: list[str] = []
    if hasattr(model, "list_models"):
        try:
            found = await model.list_models()
        except ModelUnavailable:
            if not configured:
                raise
    return list(dict.fromkeys(filter(None, [configured, *found, DEFAULT_MODEL, get_embedder_name()])))
