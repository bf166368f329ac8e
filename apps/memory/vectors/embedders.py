"""The embedding models that stored vectors are of (V2), from texts to their vectors, and from vectors to SQL."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection
from pgvector import HalfVector

from apps.accounts.models import User
from apps.core.db import fetch_prepared
from apps.core.errors import ModelUnavailable
from apps.core.llm.client import get_embedder, get_embedder_name
from apps.core.llm.embedding import Embedder, Vector, average, split_text
from apps.core.llm.metering import collect_calls
from apps.costs.ledger import record_rest
from apps.memory.models import AtomicEmbedding, ConversationEmbedding, EmbeddingModel, LongTermEmbedding


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """A model that new vectors are made with. `id` is that of its `EmbeddingModel`; `name` names its embedder."""

    id: int
    name: str
    active: bool


def find_active_model() -> ModelInUse | None:
    """Return the model whose vectors search compares; None while nothing was ever embedded. One query."""
    rows = fetch_prepared("SELECT id, name FROM embedding_model WHERE state = %(active)s", {"active": "active"})
    return ModelInUse(id=rows[0][0], name=rows[0][1], active=True) if rows else None


def list_models_in_use() -> list[ModelInUse]:
    """Return the models that every new vector is made with: the active one, then the one that `reembed` builds.

    The first call ever makes the configured model the active one. One query from then on.
    """
    models = _list_models()
    if not models:
        # Two processes may get here at once: one of them inserts, the other waits and finds what it inserted.
        first = EmbeddingModel(name=get_embedder_name(), state=EmbeddingModel.State.ACTIVE)
        EmbeddingModel.objects.bulk_create([first], ignore_conflicts=True)
        models = _list_models()
    return models


_IN_USE = """
SELECT id, name, state = %(active)s FROM embedding_model WHERE state IN (%(active)s, %(building)s) ORDER BY state
"""


def _list_models() -> list[ModelInUse]:
    rows = fetch_prepared(_IN_USE, {"active": "active", "building": "building"})
    return [ModelInUse(*row) for row in rows]


T = TypeVar("T")

_checked: set[tuple[str, int | None]] = set()  # embedders whose dimensions are those of their stored vectors

# So many numbers at the end of all vectors may be zero by chance: what is stored is padded with zeros.
_ENDING_ZEROS = 8

logger = logging.getLogger(__name__)


def with_embedder(model: ModelInUse, use: Callable[[Embedder], T]) -> T | None:
    """Return what `use` makes of the model's embedder; None where the model is being built and cannot be asked.

    `reembed` makes up for that. Raises `ModelUnavailable` when it is the active model that cannot be asked.
    """
    try:
        return use(get_embedder(model.name))
    except ModelUnavailable as error:
        if model.active:
            raise
        logger.warning("The embedding model being built does not answer (%s).", error.fields.get("reason"))
        return None


def embed_whole(embedder: Embedder, texts: Sequence[str], *, seconds: float | None = None) -> list[Vector | None]:
    """Return one vector for each text, however long: of one in parts the mean of theirs. None where one is refused."""
    parts = [split_text(text, max_characters=embedder.max_characters) for text in texts]
    vectors = iter(embed_parts(embedder, [part for row in parts for part in row], seconds=seconds))
    return [average(list(islice(vectors, len(row)))) for row in parts]


def embed_parts(embedder: Embedder, texts: Sequence[str], *, seconds: float | None = None) -> list[Vector | None]:
    """Return what the embedder does for texts that it reads as a whole.

    Raises `ModelUnavailable` where the stored vectors of its name have other dimensions: they could not be compared.
    One query the first time in a process, none for a local one.
    """
    vectors = embedder.embed(texts, seconds=seconds)
    known = (embedder.name, embedder.dimensions)
    if embedder.local or embedder.dimensions is None or known in _checked:
        return vectors
    stored = _count_dimensions(embedder.name)
    if stored is not None and not stored <= embedder.dimensions <= stored + _ENDING_ZEROS:
        message = (
            f'The embedding model "{embedder.name}" answers with {embedder.dimensions} dimensions, and its stored '
            f"vectors have {stored}. It is another model now: connect it under another name, then re-embed."
        )
        raise ModelUnavailable(message, fields={"reason": "bad_answer"})
    _checked.add(known)
    return vectors


@contextmanager
def record_embedding(embedder: Embedder, texts: Iterable[tuple[int, str]]) -> Iterator[None]:
    """Record the block's calls of an embedder elsewhere in the ledger (Q1), for those whose texts these are.

    For batches of many people's texts, outside of transactions. One query before the block, none for a local embedder.
    """
    characters: Counter[int] = Counter()
    for user_id, text in () if embedder.local else texts:
        characters[user_id] += len(text)
    epochs = User.objects.filter(id__in=characters).values_list("id", "data_epoch") if characters else ()
    owners = {owner: characters[owner[0]] for owner in epochs}
    with collect_calls() as calls:
        try:
            yield
        finally:
            record_rest(calls, owners=owners)


def _count_dimensions(name: str) -> int | None:
    """How many numbers the stored vectors of a model have, not counting the zeros at their end; None without any."""
    tables = (ConversationEmbedding, AtomicEmbedding, LongTermEmbedding)
    for table in tables:
        found = list(table.objects.filter(model__name=name).values_list("embedding", flat=True)[:20])
        if found:
            rows = (vector.to_numpy() if isinstance(vector, HalfVector) else np.asarray(vector) for vector in found)
            return max(int(np.flatnonzero(row)[-1]) + 1 for row in rows)
    return None


def to_sql(vector: Vector) -> str:
    """Return the vector as pgvector reads it from text."""
    # One format for all numbers: it takes half the time of a format for each. Vectors of fewer dimensions end in zeros.
    used = int(np.flatnonzero(vector)[-1]) + 1 if vector.any() else 0
    numbers = ["%.8g"] * used + ["0"] * (len(vector) - used)
    return "[" + ",".join(numbers) % tuple(vector[:used].tolist()) + "]"


# Vectors of one person and model from which on they are put into the index of their table.
#
# What search compares one by one goes a little higher: `EXACT_SCAN_LIMIT` for memories, `jiyi.exact_rows` for
# messages.
INDEX_FROM: dict[type[LongTermEmbedding] | type[AtomicEmbedding] | type[ConversationEmbedding], int] = {
    LongTermEmbedding: 4_000,
    AtomicEmbedding: 4_000,
    ConversationEmbedding: 2_000,
}

BATCH = 200

_ARE_INDEXED = """
SELECT user_id, model_id FROM unnest(%(users)s::bigint[], %(models)s::bigint[]) AS of (user_id, model_id)
WHERE {is_indexed}
"""

# Out again only at half of what puts them in, or somebody in between would come and go.
_MISPLACED = """
SELECT user_id, model_id, count(*) >= %(many)s FROM {table} GROUP BY user_id, model_id
HAVING count(*) >= %(many)s AND NOT bool_and(in_index) OR count(*) < %(many)s / 2 AND bool_or(in_index)
"""

# Materialized: a plan that reads the portion again for each row would skip what it has locked, and take more.
_MOVE = """
WITH portion AS MATERIALIZED (
    SELECT id FROM {table} WHERE user_id = %(user)s AND model_id = %(model)s AND in_index = NOT %(into)s
    LIMIT %(batch)s FOR UPDATE SKIP LOCKED
)
UPDATE {table} SET in_index = %(into)s WHERE id IN (SELECT id FROM portion)
"""


def is_indexed_sql(table: str, *, user: str, model: str) -> str:
    """The condition that the index has this person's vectors of this model: what they write now belongs there too."""
    return f"""EXISTS (
        SELECT 1 FROM {table} AS known WHERE known.user_id = {user} AND known.model_id = {model} AND known.in_index
    )"""  # noqa: S608 - our own names


def list_indexed_messages(people: Collection[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return those (user, model) whose vectors of messages are in the index."""
    table = ConversationEmbedding._meta.db_table
    statement = _ARE_INDEXED.format(is_indexed=is_indexed_sql(table, user="of.user_id", model="of.model_id"))
    users, models = zip(*people, strict=True)
    with connection.cursor() as cursor:
        cursor.execute(statement, {"users": list(users), "models": list(models)})
        return set(cursor.fetchall())


def index_large_collections() -> int:
    """Put the vectors of people with many into the index, and take out those of people with few again.

    Returns how many were moved. A portion is one transaction, so a run that is stopped continues with the next.
    """
    moved = 0
    with connection.cursor() as cursor:
        for embedding, many in INDEX_FROM.items():
            table = embedding._meta.db_table
            cursor.execute(_MISPLACED.format(table=table), {"many": many})
            for user, model, into in cursor.fetchall():
                portion = BATCH
                while portion == BATCH:
                    values = {"user": user, "model": model, "into": into, "batch": BATCH}
                    cursor.execute(_MOVE.format(table=table), values)
                    portion = cursor.rowcount
                    moved += portion
    return moved


@register("environment")
def check_embedding_model(**_options: Any) -> list[CheckMessage]:
    """Warn of an address that no model is asked at."""
    if settings.EMBEDDING_BASE_URL.strip() and not settings.EMBEDDING_MODEL.strip():
        message = "EMBEDDING_BASE_URL is set without EMBEDDING_MODEL, so the local embedding model is used."
        return [Warning(message, hint="Set EMBEDDING_MODEL to a model of that server.", id="memory.W001")]
    return []


@register(Tags.database)
def check_active_model(databases: Sequence[str] | None = None, **_options: Any) -> list[CheckMessage]:
    """Warn when the vectors that search uses are of another model than the configured one."""
    if DEFAULT_DB_ALIAS not in (databases or ()):
        return []
    try:
        active = find_active_model()
        building = EmbeddingModel.objects.filter(state=EmbeddingModel.State.BUILDING)
        is_chosen = building.filter(name=get_embedder_name()).exists()
    except DatabaseError:  # before the first migration
        return []
    if active is None or is_chosen or active.name == get_embedder_name():  # workers make a chosen one the active one
        return []
    message = f"EMBEDDING_MODEL selects {get_embedder_name()}, but the stored vectors are of {active.name}."
    hint = f"Search uses {active.name} until you run `{settings.COMMAND} reembed`."
    return [Warning(message, hint=hint, id="memory.W002")]
