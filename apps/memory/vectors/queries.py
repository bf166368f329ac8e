"""Vectors of queries: embedded once, at once, or not at all (A4: past the deadline keywords alone answer)."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextvars import copy_context
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache, partial
from hashlib import sha256

import structlog

from apps.accounts.models import User
from apps.accounts.spaces import sight_parameters
from apps.conversations.search import READABLE
from apps.core.db import fetch_rows, release_connections
from apps.core.errors import JiyiError, ModelUnavailable
from apps.core.llm.client import get_embedder
from apps.core.llm.embedding import Embedder, Vector
from apps.core.text.sentences import drop_speakers
from apps.core.text.text_cache import register_cache
from apps.core.times import ANY_TIME, TimeRange
from apps.memory.vectors.embedders import ModelInUse, embed_whole, find_active_model, to_sql

DEADLINE_SECONDS = 0.3
# How long an answer that is too late for its turn is waited for: the same text may be asked for again.
PATIENCE_SECONDS = 5.0

THREADS = 4
REMEMBERED = 256  # queries whose vectors are kept: a retry, a second page, the playground ask for the same again

logger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class QueryEmbedding:
    """The vector of a query. Only vectors of the same model, `EmbeddingModel` number `model_id`, may be compared.

    `min_similarity`: the cosine below which two texts have nothing to do with each other for this embedder (K9).
    `focused_vector`: what memories and messages are ranked by (`Embedder.focus`).
    `earlier_vector`: of the lines before the query.
    """

    model_id: int
    vector: Vector
    min_similarity: float
    focused_vector: Vector | None = None
    earlier_vector: Vector | None = None

    @cached_property
    def sql(self) -> str:
        """The vector as pgvector reads it, written once for all the statements of a turn."""
        return to_sql(self.vector)

    @cached_property
    def focused_sql(self) -> str:
        """The focused vector as pgvector reads it."""
        return self.sql if self.focused_vector is None else to_sql(self.focused_vector)

    @cached_property
    def earlier_sql(self) -> str | None:
        """The vector of the lines before the query as pgvector reads it; None without any."""
        return None if self.earlier_vector is None else to_sql(self.earlier_vector)


def embed_query(text: str, *, earlier: str = "", deadline: float = DEADLINE_SECONDS) -> QueryEmbedding | None:
    """Return the vector of a query by the active model, or None: past `deadline` seconds, on a failure, and while
    nothing was ever embedded.

    One query to the database; safe in any thread. Never raises because of a model. A late answer is dropped.
    """
    return start_embedding(text, earlier=earlier, deadline=deadline)()


def start_embedding(
    text: str, *, earlier: str = "", deadline: float = DEADLINE_SECONDS
) -> Callable[[], QueryEmbedding | None]:
    """Begin to embed a query in a thread of its own; the function returned waits for what `embed_query` returns.

    `earlier`: the lines before it, where it needs them (`apps.memory.recall.query`). `deadline` counts from now:
    what is done in between costs the query nothing of it that it would have waited for.
    """
    model = find_active_model()
    if model is None or not text.strip():
        return lambda: None
    try:
        embedder = get_embedder(model.name)  # here, as the threads of the pool have no database
    except JiyiError as error:
        logger.warning("query_embedding_failed", model=model.name, reason=error.fields.get("reason"))
        return lambda: None
    pending = _get_pool().submit(copy_context().run, _embed_parts, embedder, text, earlier)
    return partial(_wait_for, pending, model=model, embedder=embedder, until=time.monotonic() + deadline)


def _embed_parts(embedder: Embedder, text: str, earlier: str) -> dict[str, Vector]:
    """The vectors of a query by the names that `QueryEmbedding` has for them, made in one call of the model.

    Who says a line of a dialogue is no meaning of it: the same name in every line would draw what begins with it.
    """
    parts = {"vector": drop_speakers(text)}
    if earlier.strip():
        parts["earlier_vector"] = earlier
    try:
        vectors = dict(zip(parts, _embed_all(embedder, list(parts.values())), strict=True))
    finally:
        release_connections()  # a new embedder is compared with what is stored, and this thread lives on
    return {**vectors, "focused_vector": embedder.focus(vectors["vector"])}


def _wait_for(
    pending: Future[dict[str, Vector]], *, model: ModelInUse, embedder: Embedder, until: float
) -> QueryEmbedding | None:
    try:
        vectors = pending.result(max(until - time.monotonic(), 0))
        return QueryEmbedding(model_id=model.id, min_similarity=embedder.min_similarity, **vectors)
    except FutureTimeoutError:
        pending.cancel()
        logger.info("query_embedding_late", model=model.name)
    except JiyiError as error:
        logger.warning("query_embedding_failed", model=model.name, reason=error.fields.get("reason"))
    return None


def embed_search(text: str, *, model: ModelInUse) -> Vector:
    """Return the vector of what a person searches for, who waits for it.

    Raises `ModelUnavailable` when the model cannot be asked or refuses the text.
    """
    (vector,) = _embed_all(get_embedder(model.name), [text])
    return vector


def embed_queries(texts: Sequence[str]) -> dict[str, QueryEmbedding]:
    """Return the vectors of texts that background work searches with, in one call of the active model.

    What the model refuses is left out; where it cannot be asked in `PATIENCE_SECONDS`, everything new is: keywords
    answer then. Never raises because of a model.
    """
    model = find_active_model()
    if model is None or not texts:
        return {}
    wanted = [text for text in dict.fromkeys(texts) if text.strip()]
    try:
        embedder = get_embedder(model.name)
        vectors = _embed(embedder, wanted)
    except JiyiError as error:
        logger.warning("query_embedding_failed", model=model.name, reason=error.fields.get("reason"))
        return {}
    found = zip(wanted, vectors, strict=True)
    return {
        text: QueryEmbedding(model.id, vector, embedder.min_similarity) for text, vector in found if vector is not None
    }


class _Remembered:
    """The vectors of the newest queries, by digests of their texts: no text outlives its request (R3)."""

    def __init__(self, size: int) -> None:
        self._vectors: OrderedDict[tuple[str, bytes], Vector] = OrderedDict()
        self._size = size
        self._lock = threading.Lock()

    def find(self, key: tuple[str, bytes]) -> Vector | None:
        with self._lock:
            if key in self._vectors:
                self._vectors.move_to_end(key)
            return self._vectors.get(key)

    def add(self, key: tuple[str, bytes], vector: Vector) -> None:
        with self._lock:
            self._vectors[key] = vector
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._vectors.clear()


_remembered = _Remembered(REMEMBERED)
register_cache(_remembered.clear)


def _embed(embedder: Embedder, texts: Sequence[str]) -> list[Vector | None]:
    """Return the vectors of texts, made for those that are not remembered; None for what the model refuses."""
    keys = [(embedder.name, sha256(text.encode()).digest()) for text in texts]
    vectors = [_remembered.find(key) for key in keys]
    missing = [number for number, vector in enumerate(vectors) if vector is None]
    made = embed_whole(embedder, [texts[number] for number in missing], seconds=PATIENCE_SECONDS) if missing else []
    for number, vector in zip(missing, made, strict=True):
        vectors[number] = vector
        if vector is not None:
            _remembered.add(keys[number], vector)
    return vectors


def _embed_all(embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
    vectors = [vector for vector in _embed(embedder, texts) if vector is not None]
    if len(vectors) < len(texts):
        raise ModelUnavailable("The embedding model refused this text.", fields={"reason": "refused"})
    return vectors


@lru_cache(maxsize=1)
def _get_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="query-embedding")


MATCH = """
SELECT id, chat_id, content, message_type, created_at, similarity
FROM match_conversations(%(vector)s::vector, %(count)s, %(filter)s::jsonb)
"""

# Of what is near, those messages that people can open: not summaries, nor what was edited away, nor what is temporary.
# A statement of its own: Citus joins no function that reads tables (docs/deployment.md).
READ_MESSAGES = f"""
SELECT entry.id, message.id, message.role, message.create_time
FROM conversation_embeddings AS entry JOIN conversation AS message ON message.id = entry.message_id
WHERE entry.id = ANY(%(ids)s) AND {READABLE}
"""  # noqa: S608 - our own names
SPARE = 2  # how many times as many are compared, as some of them are left out


@dataclass(frozen=True, slots=True)
class ConversationMatch:
    """A message near a query in meaning, or the nearest part of a long one; `similarity` is a cosine."""

    id: uuid.UUID
    chat_id: uuid.UUID
    content: str
    message_type: str
    created_at: datetime
    similarity: float


def search_conversations(
    *, user: User, query: str, top_k: int = 5, threshold: float = 0.7, chat_id: uuid.UUID | None = None
) -> list[ConversationMatch]:
    """Return the user's `top_k` messages and summaries nearest to `query`, most similar first (V5).

    Nothing below `threshold`; of one session only where `chat_id` names it. Raises `ModelUnavailable` when the query
    cannot be embedded.
    """
    more = {} if chat_id is None else {"chat_id": str(chat_id)}
    while (model := find_active_model()) is not None:
        vector = to_sql(embed_search(query, model=model))
        matches = _match(user, vector, model=model, threshold=threshold, count=top_k, **more)
        if find_active_model() == model:  # else `reembed` switched just now, and the vectors of this one are going
            return matches
    return []


def find_similar_messages(
    *, user: User, embedding: QueryEmbedding, threshold: float, limit: int, within: TimeRange = ANY_TIME
) -> list[ConversationMatch]:
    """Return the user's messages `within` nearest to a query that is embedded already, most similar first.

    Of what they and the assistant said and can still be read, archived sessions included. None where another model has
    become the active one since.
    """
    model = find_active_model()
    if model is None or model.id != embedding.model_id:
        return []
    more = {name: at.isoformat() for name, at in (("since", within.since), ("until", within.until)) if at}
    near = _match(user, embedding.sql, model=model, threshold=threshold, count=SPARE * limit, **more)
    rows = fetch_rows(READ_MESSAGES, {"user": user.pk, "ids": [match.id for match in near], **sight_parameters(user)})
    messages = {key: (message_id, role, at) for key, message_id, role, at in rows}
    readable = [(match, *messages[match.id]) for match in near if match.id in messages]
    return [
        replace(match, id=message_id, message_type=role, created_at=at)
        for match, message_id, role, at in readable[:limit]
    ]


def _match(
    user: User, vector: str, *, model: ModelInUse, threshold: float, count: int, **more: str
) -> list[ConversationMatch]:
    """Return what is nearest to a vector of this model; `more`: other keys of the filter of `match_conversations`."""
    conditions = {"user_id": user.pk, "threshold": threshold, "model": model.name, **more}
    if not user.sight.everything:
        conditions["space"] = user.sight.space and str(user.sight.space)
    rows = fetch_rows(MATCH, {"vector": vector, "count": count, "filter": json.dumps(conditions)})
    return [ConversationMatch(*row) for row in rows]
