"""The models that a client may name."""

from __future__ import annotations

from apps.chat.selectors import list_models as list_choices
from apps.core.db import in_database
from apps.core.errors import ModelUnavailable
from apps.core.llm.client import FROM_ENVIRONMENT, get_chat_model
from apps.core.llm.embedding.client import get_embedder_name
from apps.core.llm.types import ChatModel

DEFAULT_MODEL = "jiyi"
"""A name that stands for the default model, whatever it is."""


async def list_models() -> list[str]:
    """Return the names: the default model's first, then what one may choose, what its server has, the embedding model.

    A server that lists none is no reason to list nothing.
    """
    model, choices, embedder = await in_database(_read_names)
    configured = model.name
    found: list[str] = []
    if hasattr(model, "list_models"):
        try:
            found = await model.list_models()
        except ModelUnavailable:
            if not configured:
                raise
    return list(dict.fromkeys(filter(None, [configured, *choices, *found, DEFAULT_MODEL, embedder])))


def _read_names() -> tuple[ChatModel, list[str], str]:
    choices = [choice.name for choice in list_choices() if choice.name != FROM_ENVIRONMENT]
    return get_chat_model(), choices, get_embedder_name()
