"""Asking a server what it has and whether a model answers, before anybody relies on it. Stores nothing."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from apps.core.errors import ModelUnavailable
from apps.core.llm.embedding.openai import OpenAIEmbedder
from apps.core.llm.endpoints import CONNECTED, CONNECTED_EMBEDDER
from apps.core.llm.openai import OpenAIChatModel, Retries, Timeouts
from apps.core.llm.types import ModelRequest, PromptMessage

PATIENCE = Timeouts(connect=5.0, first_event=30.0, between_events=15.0, total=40.0)
"""Somebody sits in front of it; a local model may have to be loaded first."""

ONCE = Retries(count=0)
GREETING = "Reply with the single word: OK"
MAX_TOKENS = 300
"""Enough for a model that thinks before it says one word."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of asking a model. `reply`: a chat model's first words; `failure`: why there is none, or None."""

    seconds: float
    reply: str = ""
    failure: ModelUnavailable | None = None


def list_served(*, base_url: str, api_key: str) -> list[str]:
    """Return the names of the models that the server lists, in its order. Raises `ModelUnavailable`."""
    model = OpenAIChatModel(base_url=base_url, api_key=api_key, blame=CONNECTED, timeouts=PATIENCE, retries=ONCE)
    return asyncio.run(model.list_models())


def try_chat_model(*, base_url: str, api_key: str, model: str) -> Outcome:
    """Ask a chat model for one word."""
    client = OpenAIChatModel(
        base_url=base_url, api_key=api_key, model=model, blame=CONNECTED, timeouts=PATIENCE, retries=ONCE
    )
    request = ModelRequest(messages=(PromptMessage("user", GREETING),), max_tokens=MAX_TOKENS)
    start = time.perf_counter()
    try:
        reply = asyncio.run(client.complete(request))
    except ModelUnavailable as failure:
        return Outcome(time.perf_counter() - start, failure=failure)
    return Outcome(time.perf_counter() - start, reply=" ".join(reply.split())[:80])


def try_embedding_model(*, base_url: str, api_key: str, model: str) -> Outcome:
    """Ask an embedding model for one vector."""
    embedder = OpenAIEmbedder(
        model=model,
        base_url=base_url,
        api_key=api_key,
        blame=CONNECTED_EMBEDDER,
        retries=ONCE,
        seconds=PATIENCE.total,
    )
    start = time.perf_counter()
    try:
        embedder.embed([GREETING])
    except ModelUnavailable as failure:
        return Outcome(time.perf_counter() - start, failure=failure)
    return Outcome(time.perf_counter() - start)
