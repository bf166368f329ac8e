"""Semantic search in what was said (V5), through the SQL function that anybody with the database can use (V4)."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from apps.accounts.models import User
from apps.core.db import fetch_rows
from apps.memory.vectors.embedders import find_active_model, to_sql
from apps.memory.vectors.queries import QueryEmbedding, embed_search

MATCH = """
SELECT id, chat_id, content, message_type, created_at, similarity
FROM match_conversations(%s::vector, %s, %s::jsonb)
"""

# Of the nearest, those that people can open: not summaries, nor what was edited away, nor what is temporary.
SIMILAR = """
SELECT message.id, message.session_id, message.role, near.content, message.create_time, near.similarity
FROM match_conversations(
    %(vector)s::vector, %(count)s, jsonb_build_object(
        'user_id', %(user)s, 'threshold', %(threshold)s::double precision,
        'model', (SELECT name FROM embedding_model WHERE id = %(model)s AND state = 'active')
    )
) AS near
JOIN conversation_embeddings AS entry ON entry.id = near.id
JOIN conversation AS message ON message.id = entry.message_id
JOIN chat_session AS session ON session.id = message.session_id
WHERE message.role IN ('user', 'assistant') AND message.status <> 'replaced' AND NOT session.temporary
ORDER BY near.similarity DESC, near.id
LIMIT %(limit)s
"""
SPARE = 2
"""How many times as many are compared, as some of them are left out."""


@dataclass(frozen=True, slots=True)
class SimilarMessage:
    """A message near a query in meaning. `passage`: its text, or the nearest part of a long one."""

    id: uuid.UUID
    session_id: uuid.UUID
    role: str
    passage: str
    create_time: datetime
    similarity: float


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
    while (model := find_active_model()) is not None:
        conditions: dict[str, object] = {"user_id": user.pk, "threshold": threshold, "model": model.name}
        if chat_id is not None:
            conditions["chat_id"] = str(chat_id)
        vector = embed_search(query, model=model)
        with connection.cursor() as cursor:
            cursor.execute(MATCH, [to_sql(vector), top_k, json.dumps(conditions)])
            matches = [ConversationMatch(*row) for row in cursor.fetchall()]
        if find_active_model() == model:  # else `reembed` switched just now, and the vectors of this one are going
            return matches
    return []


def find_similar_messages(
    *, user: User, embedding: QueryEmbedding, threshold: float, limit: int
) -> list[SimilarMessage]:
    """Return the user's messages nearest to a query that is embedded already, most similar first.

    Of what they and the assistant said and can still be read, archived sessions included. None where another model has
    become the active one since.
    """
    values = {
        "user": user.pk,
        "vector": embedding.sql,
        "threshold": threshold,
        "model": embedding.model_id,
        "count": SPARE * limit,
        "limit": limit,
    }
    active = find_active_model()
    if active is None or active.id != embedding.model_id:
        return []
    return [SimilarMessage(*row) for row in fetch_rows(SIMILAR, values)]
