"""Semantic search in what was said (V5), through the SQL function that anybody with the database can use (V4)."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from apps.accounts.models import User
from apps.memory.embeddings.active import find_active_model
from apps.memory.embeddings.queries import embed_search
from apps.memory.embeddings.vectors import to_sql

MATCH = """
SELECT id, chat_id, content, message_type, created_at, similarity
FROM match_conversations(%s::vector, %s, %s::jsonb)
"""


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
