"""Vectors of messages (V1, V3): made outside of transactions, then stored in one; and how long they are kept (R1).

What retention deletes is not made again: work embeds a message once, and `reembed` only what has a vector. The messages
stay, and so do the vectors of summaries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

import numpy as np
from django.db import connection, transaction
from django.db.models import QuerySet

from apps.accounts.models import Setting, User
from apps.accounts.selectors import get_settings
from apps.accounts.types import PREFIX
from apps.conversations.models import Message, Role
from apps.core.llm.embedding import Embedder, Vector, split_text
from apps.core.text.sentences import cut_client_blocks
from apps.memory.models import ConversationEmbedding
from apps.memory.vectors.embedders import (
    ModelInUse,
    embed_parts,
    list_indexed_messages,
    list_models_in_use,
    with_embedder,
)

# In the order in which sessions are deleted, and before their messages: nobody waits for each other for good.
LOCK_MESSAGES = """
SELECT message.id
FROM conversation AS message JOIN chat_session AS session ON session.id = message.session_id
WHERE message.id = ANY(%s)
ORDER BY session.id
FOR KEY SHARE OF session
"""
LOCK_MODELS = "SELECT id FROM embedding_model WHERE state <> 'retired' ORDER BY id FOR SHARE"

REFUSED = "text_refused"  # the failure of a message whose text the model will not have


@dataclass(frozen=True, slots=True)
class PreparedEmbeddings:
    """Vectors of messages, not stored yet. `failures`: messages that got no vector, or not of every part, and why."""

    rows: Sequence[ConversationEmbedding] = ()
    failures: Mapping[UUID, str] = field(default_factory=dict)


class ModelsChanged(Exception):
    """`reembed` switched models between the making of vectors and their storing: make them again."""


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
    rows = [
        ConversationEmbedding(
            chat_id=message.session_id,
            user_id=message.user_id,
            message_id=message.id,
            part=index,
            content=text,
            digest=hashlib.sha256(text.encode()).digest(),
            message_type=message.role,
            model_id=model.id,
            created_at=message.create_time,
        )
        for message in messages
        for index, text in enumerate(split_text(_get_text(message), max_characters=embedder.max_characters))
    ]
    known = _find_vectors(model, rows)
    texts = list(dict.fromkeys(row.content for row in rows if _key(row) not in known))
    made = dict(zip(texts, embed_parts(embedder, texts), strict=True))
    for row in rows:
        row.embedding = known[_key(row)] if _key(row) in known else made[row.content]
    return PreparedEmbeddings(
        rows=[row for row in rows if row.embedding is not None],
        failures={row.message_id: REFUSED for row in rows if row.embedding is None},
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


def delete_embeddings(*, message_ids: Collection[UUID]) -> None:
    """Delete the vectors of messages whose text was rewritten; a worker makes them again."""
    ConversationEmbedding.objects.filter(message__in=message_ids).delete()


def _get_text(message: Message) -> str:
    return cut_client_blocks(message.content) if message.role == Role.USER else message.content


def _key(row: ConversationEmbedding) -> tuple[int, bytes]:
    return row.user_id, bytes(row.digest)


def _find_vectors(model: ModelInUse, rows: Sequence[ConversationEmbedding]) -> dict[tuple[int, bytes], Vector]:
    """Return the vectors that these texts have in the same person's other messages."""
    wanted = set(map(_key, rows))
    people, digests = {user_id for user_id, _digest in wanted}, {digest for _user_id, digest in wanted}
    known = ConversationEmbedding.objects.filter(user__in=people, model=model.id, digest__in=digests)
    found = known.order_by("user", "digest").distinct("user", "digest").values_list("user_id", "digest", "embedding")
    return {
        (user_id, bytes(digest)): np.asarray(vector, dtype=np.float32)
        for user_id, digest, vector in found
        if (user_id, bytes(digest)) in wanted
    }


DELETED_AT_ONCE = 1_000
KEY = f"{PREFIX}embedding_retention_days"


@dataclass(frozen=True, slots=True)
class Retention:
    """Of whose messages the vectors go that were said before when."""

    user: User
    before: datetime


def list_retentions(*, now: datetime) -> Iterator[Retention]:
    """Yield what everybody's setting, or the global one, comes to at this moment."""
    everybody = get_settings(None).embedding_retention_days
    own = dict(Setting.objects.filter(key=KEY, user__isnull=False).values_list("user_id", "value"))
    for user in User.objects.order_by("id").iterator():
        yield Retention(user=user, before=now - timedelta(days=own.get(user.pk, everybody)))


def count_expired(retention: Retention) -> int:
    """Return how many vectors `delete_expired` would delete."""
    return _expired(retention).count()


def delete_expired(retention: Retention) -> int:
    """Delete a person's vectors that are too old, a batch at a time so that nobody waits; returns how many."""
    deleted = 0
    while ids := list(_expired(retention).values_list("id", flat=True)[:DELETED_AT_ONCE]):
        deleted += ConversationEmbedding.objects.filter(id__in=ids).delete()[0]
    return deleted


def apply_retention(*, now: datetime) -> int:
    """Delete everybody's vectors that are too old; returns how many."""
    return sum(delete_expired(retention) for retention in list_retentions(now=now))


def _expired(retention: Retention) -> QuerySet[ConversationEmbedding]:
    return ConversationEmbedding.objects.filter(
        user=retention.user, created_at__lt=retention.before, message_type__in=(Role.USER, Role.ASSISTANT)
    )
