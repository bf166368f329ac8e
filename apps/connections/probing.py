"""Asking a server what it has and whether a model answers, before anybody relies on it. Stores nothing."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings

from apps.core.errors import ModelUnavailable
from apps.core.llm.client import CONNECTED, CONNECTED_EMBEDDER
from apps.core.llm.types import ModelRequest, PromptMessage

if TYPE_CHECKING:
    from apps.core.llm.openai import OpenAIChatModel

# Somebody sits in front of it; a local model may have to be loaded first.
SECONDS = 40.0

GREETING = "Reply with the single word: OK"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of asking a model. `reply`: a chat model's first words; `failure`: why there is none, or None."""

    seconds: float
    reply: str = ""
    failure: ModelUnavailable | None = None


def list_served(*, base_url: str, api_key: str) -> list[str]:
    """Return the names of the models that the server lists, in its order. Raises `ModelUnavailable`."""
    return asyncio.run(_make_client(base_url=base_url, api_key=api_key).list_models())


def try_chat_model(*, base_url: str, api_key: str, model: str) -> Outcome:
    """Ask a chat model for one word, with room for as many tokens of thought as a turn has."""
    client = _make_client(base_url=base_url, api_key=api_key, model=model)
    request = ModelRequest(messages=(PromptMessage("user", GREETING),), max_tokens=settings.CHAT_MAX_TOKENS)
    start = time.perf_counter()
    try:
        reply = asyncio.run(client.complete(request))
    except ModelUnavailable as failure:
        return Outcome(time.perf_counter() - start, failure=failure)
    reply = " ".join(reply.split())[:80]
    silence = None if reply else ModelUnavailable("The model gave no reply.", fields={"reason": "bad_answer"})
    return Outcome(time.perf_counter() - start, reply=reply, failure=silence)


def try_embedding_model(*, base_url: str, api_key: str, model: str) -> Outcome:
    """Ask an embedding model for one vector."""
    from apps.core.llm.embedding_openai import OpenAIEmbedder
    from apps.core.llm.openai import Retries

    embedder = OpenAIEmbedder(
        model=model,
        base_url=base_url,
        api_key=api_key,
        blame=CONNECTED_EMBEDDER,
        retries=Retries(count=0),
        seconds=SECONDS,
    )
    start = time.perf_counter()
    try:
        embedder.embed([GREETING])
    except ModelUnavailable as failure:
        return Outcome(time.perf_counter() - start, failure=failure)
    finally:
        embedder.close()
    return Outcome(time.perf_counter() - start)


def _make_client(*, base_url: str, api_key: str, model: str = "") -> OpenAIChatModel:
    # Imported here as OpenAI's library takes long to import, and most processes never test a model.
    from apps.core.llm.openai import OpenAIChatModel, Retries, Timeouts

    return OpenAIChatModel(
        base_url=base_url,
        api_key=api_key,
        model=model,
        blame=CONNECTED,
        timeouts=Timeouts(connect=5.0, first_event=SECONDS, between_events=SECONDS, total=SECONDS),
        retries=Retries(count=0),
    )
