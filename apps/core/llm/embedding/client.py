"""The embedder that was chosen in the panel or by the environment, or that made the vectors there are."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

from apps.core.errors import ModelUnavailable
from apps.core.llm.embedding.types import Embedder
from apps.core.llm.endpoints import CONNECTED_EMBEDDER, DEFAULT, find_endpoints

LOCAL = "local"
OPENAI_MODEL = "text-embedding-3-small"
"""What is asked where there is a key for OpenAI and nothing else is said (V2)."""


def get_embedder_name() -> str:
    """Return the name of the chosen embedder: the connected one, else the environment's. One query; loads nothing."""
    found = find_endpoints("embedding")
    return found[DEFAULT].name if DEFAULT in found else get_environment_embedder_name()


def get_environment_embedder_name() -> str:
    """Return the name of the embedder that the environment selects (SPEC, environment); loads nothing."""
    name: str = settings.EMBEDDING_MODEL.strip()
    elsewhere = settings.EMBEDDING_BASE_URL.strip() or settings.OPENAI_BASE_URL.strip()
    if not name and settings.OPENAI_API_KEY.strip() and not elsewhere:
        return OPENAI_MODEL
    if not name or name == LOCAL:
        from apps.core.llm.embedding.local import LOCAL_NAME

        return LOCAL_NAME
    return name


def get_embedder(name: str | None = None) -> Embedder:
    """Return the embedder of that name; without one, the chosen one. One query, unless it is a local one by name.

    The same name and settings give the same object, which keeps what it loaded. Raises `ModelUnavailable` for a model
    that is not connected, where the environment has neither a key nor an address.
    """
    if name is None or not name.startswith(f"{LOCAL}/"):
        found = find_endpoints("embedding", name or "")
        endpoint = found.get(name or DEFAULT)
        if endpoint is not None:
            return _connect_embedder(
                endpoint.name, asks_for=endpoint.model, base_url=endpoint.base_url, api_key=endpoint.api_key
            )
    return _make_embedder(
        name or get_environment_embedder_name(),
        base_url=settings.EMBEDDING_BASE_URL.strip() or settings.OPENAI_BASE_URL.strip(),
        api_key=settings.OPENAI_API_KEY.strip(),
    )


@lru_cache(maxsize=8)
def _connect_embedder(name: str, *, asks_for: str, base_url: str, api_key: str) -> Embedder:
    from apps.core.llm.embedding.openai import OpenAIEmbedder

    return OpenAIEmbedder(model=name, asks_for=asks_for, base_url=base_url, api_key=api_key, blame=CONNECTED_EMBEDDER)


@lru_cache(maxsize=8)
def _make_embedder(name: str, *, base_url: str, api_key: str) -> Embedder:
    # Imported here as each takes long to import, and a process needs one of them at most.
    if name.startswith(f"{LOCAL}/"):
        from apps.core.llm.embedding.local import LOCAL_NAME, LocalEmbedder

        if name != LOCAL_NAME:
            message = f'There is no local embedder "{name}"; "{LOCAL}" is {LOCAL_NAME}. Check EMBEDDING_MODEL.'
            raise ModelUnavailable(message, fields={"reason": "no_model"})
        return LocalEmbedder()
    if not base_url and not api_key:
        message = f'The embedding model "{name}" needs OPENAI_API_KEY or EMBEDDING_BASE_URL.'
        raise ModelUnavailable(message, fields={"reason": "no_model"})
    from apps.core.llm.embedding.openai import OpenAIEmbedder

    return OpenAIEmbedder(model=name, base_url=base_url, api_key=api_key)


def warm_up() -> None:
    """Load the local embedder, if the environment selects it, so that no request waits for it (it takes a second)."""
    name = get_environment_embedder_name()
    if name.startswith(f"{LOCAL}/"):
        get_embedder(name).embed(["."])
