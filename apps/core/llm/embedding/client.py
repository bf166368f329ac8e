"""The embedder that the settings select, or that made the vectors there are."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

from apps.core.errors import ModelUnavailable
from apps.core.llm.embedding.types import Embedder

LOCAL = "local"
OPENAI_MODEL = "text-embedding-3-small"
"""What is asked where there is a key for OpenAI and nothing else is said (V2)."""


def get_embedder_name() -> str:
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
    """Return the embedder of that name; without one, the one that the environment selects.

    The same name and settings give the same object, which keeps what it loaded. Raises `ModelUnavailable` for a model
    on a server where neither a key nor an address is set.
    """
    return _make_embedder(
        name or get_embedder_name(),
        base_url=settings.EMBEDDING_BASE_URL.strip() or settings.OPENAI_BASE_URL.strip(),
        api_key=settings.OPENAI_API_KEY.strip(),
    )


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
    """Load the local embedder, if it is the one selected, so that no request waits for it (it takes a second)."""
    if get_embedder_name().startswith(f"{LOCAL}/"):
        get_embedder().embed(["."])
