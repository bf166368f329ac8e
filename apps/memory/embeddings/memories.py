"""Vectors of long-term and atomic memories (K9, A4): one a memory and model.

The service that writes a memory also writes its vectors, with the embedder of this process: `write_embeddings`, in the
same transaction. What a model elsewhere has to make, and whatever is missing for another reason, `filling` adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from apps.accounts.models import User
from apps.conversations.queue import send_task
from apps.core.errors import ModelUnavailable
from apps.core.llm.embedding.client import get_embedder
from apps.core.llm.embedding.types import Vector
from apps.memory.embeddings.active import ModelInUse, list_models_in_use
from apps.memory.embeddings.indexing import is_indexed_sql
from apps.memory.embeddings.vectors import embed_whole, to_sql, with_embedder
from apps.memory.models import AtomicEmbedding, AtomicMemory, LongTermEmbedding, LongTermMemory
from apps.memory.text import phrase_memory
from apps.memory.types import MemoryKind

TASK = "apps.memory.tasks.embed_memories"


EMBEDDINGS: dict[MemoryKind, type[LongTermEmbedding] | type[AtomicEmbedding]] = {
    MemoryKind.LONG_TERM: LongTermEmbedding,
    MemoryKind.ATOMIC: AtomicEmbedding,
}
"""The table that holds the vectors of each kind."""

SOURCES: dict[MemoryKind, type[LongTermMemory] | type[AtomicMemory]] = {
    MemoryKind.LONG_TERM: LongTermMemory,
    MemoryKind.ATOMIC: AtomicMemory,
}
"""The table of the memories themselves."""

# The models are locked so that `reembed` cannot retire one in between; a retired one gets no more vectors.
STORE = """
WITH in_use AS (SELECT id FROM embedding_model WHERE id = ANY(%(models)s) AND state <> 'retired' FOR SHARE)
INSERT INTO {table} (user_id, memory_id, model_id, embedding, in_index)
SELECT %(user)s, memory_id, model_id, embedding::halfvec, {is_indexed}
FROM unnest(%(memories)s::uuid[], %(models)s::bigint[], %(vectors)s::text[]) AS new (memory_id, model_id, embedding)
WHERE model_id IN (SELECT id FROM in_use)
ON CONFLICT (memory_id, model_id) DO UPDATE SET embedding = EXCLUDED.embedding
"""


@dataclass(frozen=True, slots=True)
class MemoryVectors:
    """The vectors of some texts, in their order, by ID of the model in use; None where there is none (yet).

    The active model is the first.
    """

    by_model: Mapping[int, Sequence[Vector | None]]

    @property
    def active(self) -> Sequence[Vector | None]:
        """Those of the active model: what existing vectors may be compared with."""
        return next(iter(self.by_model.values()))

    @property
    def complete(self) -> bool:
        """Whether every text has a vector of every model."""
        return all(vector is not None for vectors in self.by_model.values() for vector in vectors)


def long_term_text(*, key: str, value: Any) -> str:
    """Return the text of a long-term memory that is embedded: its key as a question, and its value as the answer."""
    return phrase_memory(key=key, value=value)


def embed_memories(texts: Sequence[str], *, at_once: bool = False) -> MemoryVectors:
    """Make the vectors of memories' texts with every model in use; one vector a text, however long.

    With `at_once` only those that take no call, with embedders of this process; the others are None, and nothing
    fails: so it may be used in a transaction. Without it, models are called; raises `ModelUnavailable` when the active
    one cannot be asked.
    """
    embed = _embed_here if at_once else _embed
    return MemoryVectors(by_model={model.id: embed(model, texts) for model in list_models_in_use()})


def _embed(model: ModelInUse, texts: Sequence[str]) -> Sequence[Vector | None]:
    vectors = with_embedder(model, lambda embedder: embed_whole(embedder, texts))
    return [None] * len(texts) if vectors is None else vectors


def _embed_here(model: ModelInUse, texts: Sequence[str]) -> Sequence[Vector | None]:
    try:
        embedder = get_embedder(model.name)
    except ModelUnavailable:
        return [None] * len(texts)
    return embed_whole(embedder, texts) if embedder.local else [None] * len(texts)


def store_memory_embeddings(
    *, user: User, kind: MemoryKind, memory_ids: Sequence[UUID], vectors: MemoryVectors
) -> None:
    """Store the vectors of these memories, in the transaction that writes the memories' text.

    They take the place of what was stored for another text before, or of its being refused. Workers are woken for what
    has no vector yet.
    """
    found = [
        (memory_id, model_id, to_sql(vector))
        for model_id, row in vectors.by_model.items()
        for memory_id, vector in zip(memory_ids, row, strict=True)
        if vector is not None
    ]
    if not vectors.complete:
        EMBEDDINGS[kind].objects.filter(memory__in=memory_ids).delete()
        SOURCES[kind].objects.filter(id__in=memory_ids).update(embedding_refusals=None)
        ask_for_vectors()
    if found:
        memories, models, texts = zip(*found, strict=True)
        table = EMBEDDINGS[kind]._meta.db_table
        with connection.cursor() as cursor:
            cursor.execute(
                STORE.format(table=table, is_indexed=is_indexed_sql(table, user="%(user)s", model="new.model_id")),
                {"user": user.pk, "memories": list(memories), "models": list(models), "vectors": list(texts)},
            )


def ask_for_vectors() -> None:
    """Have workers make the vectors that memories lack, once the transaction commits."""
    transaction.on_commit(partial(send_task, TASK))


def write_embeddings(*, user: User, kind: MemoryKind, texts: Mapping[UUID, str]) -> None:
    """Make and store the vectors of memories that were just written, their text by ID, in the same transaction.

    Two queries and about 2 ms a text with the local embedder; what a model elsewhere is to make, workers add. Never
    fails because of a model.
    """
    if texts:
        vectors = embed_memories(list(texts.values()), at_once=True)
        store_memory_embeddings(user=user, kind=kind, memory_ids=list(texts), vectors=vectors)
