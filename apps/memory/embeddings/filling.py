"""Vectors that memories do not have yet: a model elsewhere makes them, or did not answer, or is being built (V2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import groupby, starmap
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import DateTimeField, Exists, OuterRef, Q, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Now

from apps.accounts.models import User
from apps.core.llm.embedding.types import Embedder, Vector
from apps.memory.embeddings.active import ModelInUse, list_models_in_use
from apps.memory.embeddings.memories import EMBEDDINGS, SOURCES, MemoryVectors, long_term_text, store_memory_embeddings
from apps.memory.embeddings.vectors import embed_whole, with_embedder
from apps.memory.locking import lock_memories
from apps.memory.models import Status
from apps.memory.types import MemoryKind

BATCH = 100
NIL = UUID(int=0)
"""Below every ID."""

ASKED_AGAIN_AFTER = timedelta(days=1)
"""A text that a model refused is offered to it again after so long, or by `reembed`: the fault may pass."""

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

    Looks at `limit` memories of each kind and model at most. Raises `ModelUnavailable` when the active model cannot be
    asked.
    """
    filled = 0
    for model in list_models_in_use():
        for kind in MemoryKind:
            for texts in list_missing(kind=kind, model=model, refused_too=False, limit=limit):
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
    *, kind: MemoryKind, model: ModelInUse, refused_too: bool, limit: int | None = None, batch: int = BATCH
) -> Iterator[list[MemoryText]]:
    """Yield the texts of memories that lack a vector of the model, `batch` at a time, each memory once.

    Those that the model has refused within `ASKED_AGAIN_AFTER` are among them only with `refused_too`.
    """
    missing = _missing(kind, model)
    if not refused_too:
        missing = _leave_out_refused(missing, model)
    last, seen = NIL, 0
    while limit is None or seen < limit:
        texts = _read(kind, missing.filter(id__gt=last).order_by("id")[:batch])
        if not texts:
            return
        yield texts
        last, seen = texts[-1].memory_id, seen + len(texts)


def fill_batch(embedder: Embedder, *, kind: MemoryKind, model: ModelInUse, texts: Sequence[MemoryText]) -> set[UUID]:
    """Make the vectors of these texts, and store those of memories that still say the same; returns which.

    Of a text that the model refuses it is noted that and when it did.
    """
    vectors = embed_whole(embedder, [text.text for text in texts])
    answers = dict(zip(texts, vectors, strict=True))
    by_user = sorted(answers, key=lambda text: text.user_id)
    stored: set[UUID] = set()
    for user_id, mine in groupby(by_user, key=lambda text: text.user_id):
        stored |= _store(kind, model, user=User(pk=user_id), answers={text: answers[text] for text in mine})
    return stored


@transaction.atomic
def _store(
    kind: MemoryKind, model: ModelInUse, *, user: User, answers: Mapping[MemoryText, Vector | None]
) -> set[UUID]:
    """Store one person's vectors; a memory that was changed or deleted meanwhile is left to whoever did that."""
    lock_memories(user)
    rows = SOURCES[kind].objects.filter(user=user, id__in=[text.memory_id for text in answers])
    unchanged = [text for text in _read(kind, rows) if text in answers]
    made = {text.memory_id: vector for text in unchanged if (vector := answers[text]) is not None}
    store_memory_embeddings(
        user=user,
        kind=kind,
        memory_ids=list(made),
        vectors=MemoryVectors(by_model={model.id: list(made.values())}),
    )
    _note_refusals(kind, model, memory_ids=[text.memory_id for text in unchanged if text.memory_id not in made])
    return set(made)


def _note_refusals(kind: MemoryKind, model: ModelInUse, *, memory_ids: Sequence[UUID]) -> None:
    if memory_ids:
        with connection.cursor() as cursor:
            statement = NOTE_REFUSALS.format(table=SOURCES[kind]._meta.db_table)
            cursor.execute(statement, {"model": _name_refusal(model), "memories": list(memory_ids)})


def _name_refusal(model: ModelInUse) -> str:
    """The key of a model's refusals; a bare number would be taken for the place in a list."""
    return f"model_{model.id}"


def _missing(kind: MemoryKind, model: ModelInUse) -> QuerySet[Any]:
    """Memories that search may find, now or once they are accepted, and that lack a vector of the model."""
    vectors = EMBEDDINGS[kind].objects.filter(memory=OuterRef("pk"), model=model.id)
    return SOURCES[kind].objects.filter(~Exists(vectors), status__in=(Status.ACTIVE, Status.PENDING))


def _leave_out_refused(memories: QuerySet[Any], model: ModelInUse) -> QuerySet[Any]:
    refused_at = Cast(KT(f"embedding_refusals__{_name_refusal(model)}"), DateTimeField())
    dated: QuerySet[Any] = memories.alias(refused_at=refused_at)
    return dated.filter(Q(refused_at__isnull=True) | Q(refused_at__lte=Now() - ASKED_AGAIN_AFTER))


def _read(kind: MemoryKind, rows: QuerySet[Any]) -> list[MemoryText]:
    if kind is MemoryKind.ATOMIC:
        return list(starmap(MemoryText, rows.values_list("id", "user_id", "content")))
    return [
        MemoryText(memory_id, user_id, long_term_text(key=key, value=value))
        for memory_id, user_id, key, value in rows.values_list("id", "user_id", "key", "value")
    ]
