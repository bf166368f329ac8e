"""Replacing the active embedding model while search keeps working (V2).

The new model is first *building*: whatever is written from then on gets vectors of both. What is there already gets
them here, a batch at a time; what is done stays done, so that a stopped run continues. When nothing is missing,
one transaction makes the new model the active one. Only then do the old vectors go.

What is embedded anew is what has a vector: a message whose vector its owner's retention deleted gets none (R1).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext_noop

from apps.conversations.models import Message
from apps.core.errors import Conflict
from apps.core.llm.client import get_embedder, get_embedder_name
from apps.core.llm.embedding import Embedder
from apps.memory.kinds import KINDS
from apps.memory.models import ConversationEmbedding, EmbeddingModel
from apps.memory.vectors.embedders import ModelInUse, list_models_in_use, record_embedding
from apps.memory.vectors.memories import NIL, count_missing, fill_batch, has_missing, list_missing
from apps.memory.vectors.messages import embed_messages, store_embeddings

BATCH = 100
DELETED_AT_ONCE = 1_000

State = EmbeddingModel.State


class Stage(StrEnum):
    """What `reembed` is at."""

    MESSAGES = "messages"
    MEMORIES = "memories"
    OLD_VECTORS = "old vectors"


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` in this stage. Both may grow: people go on talking meanwhile."""

    stage: Stage
    done: int
    total: int


@contextmanager
def hold_reembedding() -> Iterator[Callable[[], None]]:
    """Keep others from changing models at the same time. Raises `Conflict` when somebody does.

    The lock is a transaction's, on a connection of its own: behind a pooler of transactions a session's lock would stay
    with whichever connection to the server had taken it. What this yields is to be called after every batch: a server
    or pooler that ends idle transactions leaves it alone then. It raises `OperationalError` when the lock is lost.
    """
    holder = connection.copy()
    try:
        holder.set_autocommit(False)
        with holder.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended('reembed', 0))")
            if not cursor.fetchone()[0]:
                raise Conflict("Another process is already creating the vectors.")

        def keep() -> None:
            with holder.cursor() as cursor:
                cursor.execute("SELECT 1")

        yield keep
    finally:
        with suppress(DatabaseError):  # a connection that has died meanwhile holds nothing any more
            holder.rollback()
        holder.close()


def reembed(*, name: str, batch: int = BATCH) -> Iterator[Progress]:
    """Make the model `name` the active one, telling how far it is after every batch. Nothing to do: nothing is told.

    To be used within `hold_reembedding`. Raises `ModelUnavailable` when the model cannot be asked, before anything is
    changed; when it fails later, what is done is kept.
    """
    embedder = get_embedder(name)
    embedder.embed(["."])
    yield from _delete_retired()
    active = list_models_in_use()[0]
    if active.name == embedder.name:
        _retire_building()
        yield from _delete_retired()
        return
    building = _begin(embedder.name)
    yield from _delete_retired()
    unfilled: set[UUID] = set()  # what the new model refuses
    while True:
        yield from _fill_messages(embedder, active=active, building=building, batch=batch, unfilled=unfilled)
        yield from _fill_memories(embedder, building=building, batch=batch, unfilled=unfilled)
        if _switch(active=active, building=building, unfilled=unfilled):
            break
    yield from _delete_retired()


@transaction.atomic
def begin_reembedding(name: str) -> bool:
    """Decide that the model `name` is to take the active one's place; workers do the rest (`continue_reembedding`).

    False where nothing was ever embedded, or all is of this model: there is nothing to do then. Raises `Conflict` while
    the vectors of an earlier model are being deleted.
    """
    states = dict(EmbeddingModel.objects.select_for_update().order_by("id").values_list("name", "state"))
    if State.RETIRED in states.values():
        raise Conflict(gettext_noop("The old embeddings are still being deleted. Try again in a few minutes."))
    if State.ACTIVE not in states.values():
        return False
    if states.get(name) == State.ACTIVE:
        _retire_building()
        return State.BUILDING in states.values()
    _begin(name)
    return True


def continue_reembedding(*, seconds: float) -> bool:
    """Go on with a change of models that was decided, for about so long; whether something is left to do.

    Only with a change to the model that is configured or was chosen: another one was begun by hand, and is ended by
    hand. Raises `ModelUnavailable` when the model does not answer; what is done is kept.
    """
    name = get_embedder_name()
    states = dict(EmbeddingModel.objects.values_list("state", "name"))
    is_begun = states.get(State.BUILDING) == name
    is_over = states.get(State.ACTIVE) == name and State.RETIRED in states and State.BUILDING not in states
    if not is_begun and not is_over:
        return False
    until = time.monotonic() + seconds
    try:
        with hold_reembedding() as keep:
            for _progress in reembed(name=name):
                keep()
                if time.monotonic() >= until:
                    return True
    except Conflict:  # somebody is at it
        return False
    return False


def _begin(name: str) -> ModelInUse:
    """Return the building model of that name, a new one unless an earlier run began it; any other is given up."""
    if not EmbeddingModel.objects.filter(state=State.BUILDING, name=name).exists():
        _retire_building()
        EmbeddingModel.objects.create(name=name, state=State.BUILDING)
    return next(model for model in list_models_in_use() if not model.active)


def _fill_messages(
    embedder: Embedder, *, active: ModelInUse, building: ModelInUse, batch: int, unfilled: set[UUID]
) -> Iterator[Progress]:
    missing = _list_messages(active=active, building=building)
    done, total, last = 0, missing.count(), NIL
    while ids := list(missing.filter(message__gt=last).order_by("message")[:batch]):
        messages = list(Message.objects.filter(id__in=ids))
        with record_embedding(embedder, [(message.user_id, message.content) for message in messages]):
            prepared = embed_messages(messages, embedder, model=building)
        store_embeddings(prepared)
        unfilled.update(prepared.failures)
        done, last = done + len(ids), ids[-1]
        yield Progress(Stage.MESSAGES, done, max(done, total))


def _fill_memories(embedder: Embedder, *, building: ModelInUse, batch: int, unfilled: set[UUID]) -> Iterator[Progress]:
    done, total = 0, sum(count_missing(kind=kind, model=building) for kind in KINDS)
    for kind in KINDS:
        for texts in list_missing(kind=kind, model=building, refused_too=True, batch=batch):
            stored = fill_batch(embedder, kind=kind, model=building, texts=texts)
            unfilled.update({text.memory_id for text in texts} - stored)
            done += len(texts)
            yield Progress(Stage.MEMORIES, done, max(done, total))


@transaction.atomic
def _switch(*, active: ModelInUse, building: ModelInUse, unfilled: set[UUID]) -> bool:
    """Make the building model the active one, unless something written meanwhile lacks its vector: False then.

    Nobody stores vectors while this looks: whoever does holds the models' rows shared.
    """
    list(EmbeddingModel.objects.select_for_update().order_by("id"))
    messages = _list_messages(active=active, building=building)
    if messages.exclude(message__in=unfilled).exists():
        return False
    if any(has_missing(kind=kind, model=building, but=unfilled) for kind in KINDS):
        return False
    EmbeddingModel.objects.filter(id=active.id).update(state=State.RETIRED)
    EmbeddingModel.objects.filter(id=building.id).update(state=State.ACTIVE)
    return True


def _list_messages(*, active: ModelInUse, building: ModelInUse) -> QuerySet[ConversationEmbedding, UUID]:
    """The IDs of messages that have a vector of the active model and none of the one being built."""
    built = ConversationEmbedding.objects.filter(message=OuterRef("message"), model=building.id)
    rows = ConversationEmbedding.objects.filter(~Exists(built), model=active.id)
    return rows.order_by().values_list("message", flat=True).distinct()


def _retire_building() -> None:
    EmbeddingModel.objects.filter(state=State.BUILDING).update(state=State.RETIRED)


def _delete_retired() -> Iterator[Progress]:
    """Delete the retired model with its vectors, a batch at a time."""
    retired = EmbeddingModel.objects.filter(state=State.RETIRED).first()
    if retired is None:
        return
    vectors: list[QuerySet[Any]] = [ConversationEmbedding.objects.filter(model=retired)]
    vectors += [kind.embeddings.objects.filter(model=retired) for kind in KINDS]
    done, total = 0, sum(rows.count() for rows in vectors)
    for rows in vectors:
        while deleted := rows.filter(id__in=list(rows.values_list("id", flat=True)[:DELETED_AT_ONCE])).delete()[0]:
            done += deleted
            yield Progress(Stage.OLD_VECTORS, done, total)
    retired.delete()
