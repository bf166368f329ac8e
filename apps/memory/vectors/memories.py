"""Vectors of long-term and atomic memories (K9, A4), one a memory and model: writing, adding what is missing, counting.

The service that writes a memory also writes its vectors, with the embedder of this process: `write_embeddings`, in the
same transaction. What a model elsewhere has to make, and whatever is missing for another reason, `fill_missing` adds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Count, DateTimeField, Exists, OuterRef, Q, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Now
from django.utils import timezone
from pgvector import HalfVector

from apps.accounts.models import User
from apps.conversations.queue import send_task
from apps.core.db import execute_many
from apps.core.errors import ModelUnavailable
from apps.core.llm.client import get_embedder, is_local
from apps.core.llm.embedding import Embedder, Vector
from apps.costs.budgets import list_paused
from apps.memory.kinds import CURRENT, KINDS, MemoryKind
from apps.memory.locking import lock_memories
from apps.memory.models import ConversationEmbedding, EmbeddingModel
from apps.memory.types import KindName
from apps.memory.vectors.embedders import (
    ModelInUse,
    embed_whole,
    is_indexed_sql,
    list_models_in_use,
    record_embedding,
    with_embedder,
)

TASK = "apps.memory.tasks.embed_memories"


# The model is locked so that `reembed` cannot retire one in between; a retired one gets no more vectors.
STORE = """
WITH in_use AS (SELECT id FROM embedding_model WHERE id = %(model)s AND state <> 'retired' FOR SHARE)
INSERT INTO {table} (user_id, memory_id, model_id, embedding, in_index)
SELECT %(user)s, %(memory)s, id, %(vector)s::halfvec, {is_indexed} FROM in_use
ON CONFLICT (memory_id, model_id) DO UPDATE SET embedding = EXCLUDED.embedding
"""


# The vectors of some texts, in their order, by ID of the model in use, the active one first; None where there is none
# (yet).
MemoryVectors = Mapping[int, Sequence[Vector | None]]


def embed_memories(texts: Sequence[str], *, at_once: bool = False) -> MemoryVectors:
    """Make the vectors of memories' texts with every model in use; one vector a text, however long.

    With `at_once` only those that take no call, with embedders of this process; the others are None, and nothing
    fails: so it may be used in a transaction. Without it, models are called; raises `ModelUnavailable` when the active
    one cannot be asked.
    """
    embed = _embed_here if at_once else _embed
    return {model.id: embed(model, texts) for model in list_models_in_use()}


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
        {"user": user.pk, "memory": memory_id, "model": model_id, "vector": HalfVector(vector)}
        for model_id, row in vectors.items()
        for memory_id, vector in zip(memory_ids, row, strict=True)
        if vector is not None
    ]
    if any(vector is None for row in vectors.values() for vector in row):
        kind.embeddings.objects.filter(memory__in=memory_ids).delete()
        kind.model.objects.filter(id__in=memory_ids).update(embedding_refusals=None)
        ask_for_vectors()
    if found:
        table = kind.embeddings._meta.db_table
        is_indexed = is_indexed_sql(table, user="%(user)s", model="%(model)s")
        execute_many(STORE.format(table=table, is_indexed=is_indexed), found)


def ask_for_vectors() -> None:
    """Have workers make the vectors that memories lack, once the transaction commits."""
    transaction.on_commit(partial(send_task, TASK))


def write_vectors(user: User, kind: MemoryKind, memories: Iterable[Any]) -> None:
    """Make and store the vectors of memories that were just written, in the same transaction.

    Two queries and about 2 ms a text with the local embedder; what a model elsewhere is to make, workers add. Never
    fails because of a model.
    """
    texts = {memory.id: kind.phrase(memory) for memory in memories}
    if texts:
        vectors = embed_memories(list(texts.values()), at_once=True)
        store_memory_embeddings(user=user, kind=kind, memory_ids=list(texts), vectors=vectors)


BATCH = 100
NIL = UUID(int=0)  # below every ID

# A text that a model refused is offered to it again after so long, or by `reembed`: the fault may pass.
ASKED_AGAIN_AFTER = timedelta(days=1)

NOTE_REFUSALS = """
UPDATE {table}
SET embedding_refusals = COALESCE(embedding_refusals, '{{}}') || jsonb_build_object(%(model)s::text, now())
WHERE id = ANY(%(memories)s)
"""


@dataclass(frozen=True, slots=True)
class MemoryText:
    """The text of a memory that is embedded."""

    memory_id: UUID
    user_id: int
    text: str


def fill_missing(*, limit: int = 1_000) -> int:
    """Give active and pending memories the vectors that they lack, of every model in use; returns how many were added.

    Looks at `limit` memories of each kind and model at most. Those of people whose budget is spent wait, unless the
    model runs in this process (Q2). Raises `ModelUnavailable` when the active model cannot be asked.
    """
    filled = 0
    paused = list_paused(now=timezone.now())
    for model in list_models_in_use():
        waiting = [] if is_local(model.name) else paused
        for kind in KINDS if waiting is not None else ():
            for texts in list_missing(kind=kind, model=model, refused_too=False, limit=limit, but=waiting or ()):
                made = with_embedder(model, partial(fill_batch, kind=kind, model=model, texts=texts))
                filled += len(made or ())
    return filled


def count_missing(*, kind: MemoryKind, model: ModelInUse) -> int:
    """Return how many memories lack a vector of the model."""
    return _missing(kind, model).count()


def has_missing(*, kind: MemoryKind, model: ModelInUse, but: Collection[UUID]) -> bool:
    """Say whether memories lack a vector of the model, other than these."""
    return _missing(kind, model).exclude(id__in=but).exists()


def list_missing(
    *,
    kind: MemoryKind,
    model: ModelInUse,
    refused_too: bool,
    limit: int | None = None,
    batch: int = BATCH,
    but: Collection[int] = (),
) -> Iterator[list[MemoryText]]:
    """Yield the texts of memories that lack a vector of the model, `batch` at a time, each memory once.

    Those that the model has refused within `ASKED_AGAIN_AFTER` are among them only with `refused_too`, and those of the
    people `but` are not.
    """
    missing = _missing(kind, model).exclude(user__in=but) if but else _missing(kind, model)
    if not refused_too:
        missing = _leave_out_refused(missing, model)
    last, seen = NIL, 0
    while limit is None or seen < limit:
        texts = _read_texts(kind, missing.filter(id__gt=last).order_by("id")[:batch])
        if not texts:
            return
        yield texts
        last, seen = texts[-1].memory_id, seen + len(texts)


def fill_batch(embedder: Embedder, *, kind: MemoryKind, model: ModelInUse, texts: Sequence[MemoryText]) -> set[UUID]:
    """Make the vectors of these texts, and store those of memories that still say the same; returns which.

    Of a text that the model refuses it is noted that and when it did.
    """
    with record_embedding(embedder, [(text.user_id, text.text) for text in texts]):
        vectors = embed_whole(embedder, [text.text for text in texts])
    answers = dict(zip(texts, vectors, strict=True))
    by_user = sorted(answers, key=lambda text: text.user_id)
    stored: set[UUID] = set()
    for user_id, mine in groupby(by_user, key=lambda text: text.user_id):
        stored |= _store_batch(kind, model, user=User(pk=user_id), answers={text: answers[text] for text in mine})
    return stored


@transaction.atomic
def _store_batch(
    kind: MemoryKind, model: ModelInUse, *, user: User, answers: Mapping[MemoryText, Vector | None]
) -> set[UUID]:
    """Store one person's vectors; a memory that was changed or deleted meanwhile is left to whoever did that."""
    lock_memories(user)
    rows = kind.model.objects.filter(user=user, id__in=[text.memory_id for text in answers])
    unchanged = [text for text in _read_texts(kind, rows) if text in answers]
    made = {text.memory_id: vector for text in unchanged if (vector := answers[text]) is not None}
    vectors = {model.id: list(made.values())}
    store_memory_embeddings(user=user, kind=kind, memory_ids=list(made), vectors=vectors)
    _note_refusals(kind, model, memory_ids=[text.memory_id for text in unchanged if text.memory_id not in made])
    return set(made)


def _note_refusals(kind: MemoryKind, model: ModelInUse, *, memory_ids: Sequence[UUID]) -> None:
    if memory_ids:
        with connection.cursor() as cursor:
            statement = NOTE_REFUSALS.format(table=kind.model._meta.db_table)
            cursor.execute(statement, {"model": _name_refusal(model), "memories": list(memory_ids)})


def _name_refusal(model: ModelInUse) -> str:
    """The key of a model's refusals; a bare number would be taken for the place in a list."""
    return f"model_{model.id}"


def _missing(kind: MemoryKind, model: ModelInUse) -> QuerySet[Any]:
    """Memories that search may find, now or once they are accepted, and that lack a vector of the model."""
    vectors = kind.embeddings.objects.filter(memory=OuterRef("pk"), model=model.id)
    found: QuerySet[Any] = kind.model.objects.filter(~Exists(vectors), status__in=CURRENT)
    return found


def _leave_out_refused(memories: QuerySet[Any], model: ModelInUse) -> QuerySet[Any]:
    refused_at = Cast(KT(f"embedding_refusals__{_name_refusal(model)}"), DateTimeField())
    dated: QuerySet[Any] = memories.alias(refused_at=refused_at)
    return dated.filter(Q(refused_at__isnull=True) | Q(refused_at__lte=Now() - ASKED_AGAIN_AFTER))


def _read_texts(kind: MemoryKind, rows: QuerySet[Any]) -> list[MemoryText]:
    return [MemoryText(row.id, row.user_id, kind.phrase(row)) for row in rows.only("id", "user", *kind.texts)]


State = EmbeddingModel.State


@dataclass(frozen=True, slots=True)
class ModelVectors:
    """The vectors of one model: of messages by their role, of memories by their kind."""

    id: int
    name: str
    state: str
    messages: Mapping[str, int]
    memories: Mapping[KindName, int]

    @property
    def total(self) -> int:
        return sum(self.messages.values()) + sum(self.memories.values())


def count_vectors(*, user: User | None) -> list[ModelVectors]:
    """Return the vectors of a person, None: of everybody, by model, the active one first. Four queries.

    Indexes answer them; still, everybody's take time in proportion to how many there are.
    """
    of = {} if user is None else {"user": user}
    messages: dict[int, dict[str, int]] = defaultdict(dict)
    said = ConversationEmbedding.objects.filter(**of).order_by().values_list("model", "message_type")
    for model_id, role, count in said.annotate(count=Count("*")):
        messages[model_id][role] = count
    memories: dict[int, dict[KindName, int]] = defaultdict(dict)
    for kind in KINDS:
        rows = kind.embeddings.objects.filter(**of).order_by().values_list("model")
        for model_id, count in rows.annotate(count=Count("*")):
            memories[model_id][kind.name] = count
    order = [State.ACTIVE, State.BUILDING, State.RETIRED]
    models = sorted(EmbeddingModel.objects.all(), key=lambda row: order.index(State(row.state)))
    return [
        ModelVectors(
            id=row.pk,
            name=row.name,
            state=row.state,
            messages=messages.get(row.pk, {}),
            memories=memories.get(row.pk, {}),
        )
        for row in models
    ]
