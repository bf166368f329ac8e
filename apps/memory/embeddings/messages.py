"""Vectors of messages (V1, V3): made outside of transactions, then stored in one."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

import numpy as np
from django.db import connection, transaction

from apps.conversations.models import Message, Role
from apps.core.llm.embedding.parts import split_text
from apps.core.llm.embedding.types import Embedder, Vector
from apps.core.text.client_blocks import cut_client_blocks
from apps.memory.embeddings.active import ModelInUse, list_models_in_use
from apps.memory.embeddings.indexing import list_indexed_messages
from apps.memory.embeddings.vectors import embed_parts, with_embedder
from apps.memory.models import ConversationEmbedding

# In the order in which sessions are deleted, and before their messages: nobody waits for each other for good.
LOCK_MESSAGES = """
SELECT message.id
FROM conversation AS message JOIN chat_session AS session ON session.id = message.session_id
WHERE message.id = ANY(%s)
ORDER BY session.id
FOR KEY SHARE OF session
"""
LOCK_MODELS = "SELECT id FROM embedding_model WHERE state <> 'retired' ORDER BY id FOR SHARE"

REFUSED = "text_refused"
"""The failure of a message whose text the model will not have."""


@dataclass(frozen=True, slots=True)
class PreparedEmbeddings:
    """Vectors of messages, not stored yet. `failures`: messages that got no vector, or not of every part, and why."""

    rows: Sequence[ConversationEmbedding] = ()
    failures: Mapping[UUID, str] = field(default_factory=dict)


class ModelsChanged(Exception):
    """`reembed` switched models between the making of vectors and their storing: make them again."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A message's text, or a part of it, that becomes one row."""

    message: Message
    index: int
    text: str
    digest: bytes

    @property
    def key(self) -> tuple[int, bytes]:
        return self.message.user_id, self.digest


def prepare_embeddings(messages: Iterable[Message]) -> PreparedEmbeddings:
    """Create the vectors of these messages, from any users, with every model in use.

    Calls the model: not to be used in a transaction. A text that the same person's messages had before takes the
    vector it got then. A text that the model refuses is a failure of its message and of no other. Raises
    `ModelUnavailable` when the active model cannot be asked.
    """
    listed = list(messages)
    prepared = PreparedEmbeddings()
    for model in list_models_in_use():
        made = with_embedder(model, partial(embed_messages, listed, model=model))
        if made is not None:
            failures = made.failures if model.active else {}
            prepared = PreparedEmbeddings(rows=[*prepared.rows, *made.rows], failures={**prepared.failures, **failures})
    return prepared


def embed_messages(messages: Sequence[Message], embedder: Embedder, *, model: ModelInUse) -> PreparedEmbeddings:
    """Make the vectors of these messages with one model, which is asked once for each text it has not seen."""
    parts = [
        _Part(message=message, index=index, text=text, digest=hashlib.sha256(text.encode()).digest())
        for message in messages
        for index, text in enumerate(split_text(_get_text(message), max_characters=embedder.max_characters))
    ]
    known = _find_vectors(model, parts)
    texts = list(dict.fromkeys(part.text for part in parts if part.key not in known))
    made = dict(zip(texts, embed_parts(embedder, texts), strict=True))
    vectors = {part: known[part.key] if part.key in known else made[part.text] for part in parts}
    return PreparedEmbeddings(
        rows=[_make_row(part, model=model, vector=vector) for part, vector in vectors.items() if vector is not None],
        failures={part.message.id: REFUSED for part, vector in vectors.items() if vector is None},
    )


@transaction.atomic
def store_embeddings(prepared: PreparedEmbeddings) -> int:
    """Store the vectors of those messages that still exist; returns how many rows.

    What is stored already stays as it is, so that a second run changes nothing. Raises `ModelsChanged` when the model
    that they are of is not in use any more.
    """
    if not prepared.rows:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(LOCK_MODELS)
        in_use = {model_id for (model_id,) in cursor.fetchall()}
        cursor.execute(LOCK_MESSAGES, [list({row.message_id for row in prepared.rows})])
        existing = {message_id for (message_id,) in cursor.fetchall()}
    rows = [row for row in prepared.rows if row.model_id in in_use]
    if not rows:
        raise ModelsChanged
    rows = [row for row in rows if row.message_id in existing]
    if not rows:
        return 0
    indexed = list_indexed_messages({(row.user_id, row.model_id) for row in rows})
    for row in rows:
        row.in_index = (row.user_id, row.model_id) in indexed
    ConversationEmbedding.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def forget_embeddings(*, message_ids: Collection[UUID]) -> None:
    """Delete the vectors of messages whose text was rewritten; a worker makes them again."""
    ConversationEmbedding.objects.filter(message__in=message_ids).delete()


def _get_text(message: Message) -> str:
    return cut_client_blocks(message.content) if message.role == Role.USER else message.content


def _find_vectors(model: ModelInUse, parts: Sequence[_Part]) -> dict[tuple[int, bytes], Vector]:
    """Return the vectors that texts of these parts have in the same person's other messages."""
    known = ConversationEmbedding.objects.filter(
        user__in={part.message.user_id for part in parts},
        model=model.id,
        digest__in={part.digest for part in parts},
    )
    wanted = {part.key for part in parts}
    rows = known.order_by("user", "digest").distinct("user", "digest").values_list("user_id", "digest", "embedding")
    return {
        (user_id, bytes(digest)): np.asarray(vector, dtype=np.float32)
        for user_id, digest, vector in rows
        if (user_id, bytes(digest)) in wanted
    }


def _make_row(part: _Part, *, model: ModelInUse, vector: Vector) -> ConversationEmbedding:
    message = part.message
    return ConversationEmbedding(
        chat_id=message.session_id,
        user_id=message.user_id,
        message_id=message.id,
        part=part.index,
        content=part.text,
        digest=part.digest,
        message_type=message.role,
        model_id=model.id,
        embedding=vector,
        created_at=message.create_time,
    )
