"""Semantic search in conversations: the SQL function, and the endpoint."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.services.people import update_settings
from apps.conversations.models import Message, Session
from apps.memory.models import ConversationEmbedding, EmbeddingModel
from apps.memory.vectors.embedders import to_sql
from apps.memory.vectors.queries import search_conversations
from tests.memory.vectors.conftest import Say
from tests.support.factories import SessionFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("V4", "V5")]

Matrix = npt.NDArray[np.float32]
Embed = Callable[..., int]


@dataclass(frozen=True)
class Stored:
    """Rows of one session: the IDs of their messages and their vectors, in the same order."""

    session: Session
    ids: Sequence[uuid.UUID]
    vectors: Matrix


def make_vectors(count: int, *, seed: int, dimensions: int = 24) -> Matrix:
    """Random directions; few dimensions make neighbours near, as those of real texts are."""
    numbers = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return numbers / np.linalg.norm(numbers, axis=1, keepdims=True)


def store_rows(
    session: Session,
    model: EmbeddingModel,
    vectors: Matrix,
    *,
    kinds: Sequence[str] = ("user",),
    in_index: bool = False,
) -> Stored:
    """Store a message and its vector for each row of `vectors`; `kinds` are their types by turns."""
    first, user = session.messages.count() + 1, session.user
    messages = [
        Message(session=session, user=user, role=kinds[index % len(kinds)], content="x", position=first + index)
        for index in range(len(vectors))
    ]
    ConversationEmbedding.objects.bulk_create(
        ConversationEmbedding(
            id=message.id, chat=session, user=user, message=message, part=0, content="x", digest=b"", model=model,
            message_type=message.role, embedding=pad(vector), created_at=timezone.now(), in_index=in_index,
        )
        for message, vector in zip(Message.objects.bulk_create(messages), vectors, strict=True)
    )  # fmt: skip
    return Stored(session=session, ids=[message.id for message in messages], vectors=vectors)


def pad(vector: Matrix) -> Matrix:
    return np.pad(vector, (0, 1536 - len(vector)))


def match(vector: Matrix, count: int, **conditions: object) -> dict[uuid.UUID, float]:
    """What `match_conversations` finds for a short vector, with the similarity; the IDs are those of messages, too."""
    values = {name: str(value) if isinstance(value, uuid.UUID) else value for name, value in conditions.items()}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, similarity FROM match_conversations(%s::vector, %s, %s::jsonb)",
            [to_sql(pad(vector)), count, json.dumps(values)],
        )
        rows = cursor.fetchall()
    assert [similarity for _id, similarity in rows] == sorted((row[1] for row in rows), reverse=True)
    return dict(rows)


def nearest(stored: Stored, vector: Matrix, count: int, *, among: Sequence[int] | None = None) -> list[uuid.UUID]:
    """The same by comparing with every row."""
    chosen = list(range(len(stored.ids))) if among is None else list(among)
    order = np.argsort(-(stored.vectors[chosen] @ vector), kind="stable")[:count]
    return [stored.ids[chosen[index]] for index in order]


def count_index_scans() -> int:
    """How often this transaction has read the vector index."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_get_xact_numscans('conversation_embedding_hnsw'::regclass)")
        (scans,) = cursor.fetchone() or (0,)
    return int(scans)


def measure_recall(queries: Matrix, found: Callable[[Matrix], Iterable[uuid.UUID]], expected: Any) -> float:
    """The share of what an exact scan finds."""
    hits = sum(len({*found(query)} & {*expected(query)}) for query in queries)
    return hits / sum(len(expected(query)) for query in queries)


@pytest.fixture
def model() -> EmbeddingModel:
    return EmbeddingModel.objects.create(name="local/use-m3-512", state="active")


@pytest.fixture
def scan_exactly_up_to() -> Callable[[int], None]:
    """Set, for this test, how many rows are compared one by one."""

    def configure(rows: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('jiyi.exact_rows', %s, true)", [str(rows)])

    return configure


@pytest.mark.long
def test_a_filtered_search_returns_what_an_exact_scan_does(
    model: EmbeddingModel, scan_exactly_up_to: Callable[[int], None]
) -> None:
    """A person with few rows among 1,000 of others, and one with many under selective filters, by scan and by index."""
    crowd, small = SessionFactory.create(), SessionFactory.create()
    rare = Session.objects.create(user=crowd.user)
    many = store_rows(crowd, model, make_vectors(1_000, seed=1), kinds=("user", "assistant"), in_index=True)
    few = store_rows(small, model, make_vectors(40, seed=2))
    part = store_rows(rare, model, make_vectors(60, seed=3), kinds=("user", "user", "summary"), in_index=True)
    queries = make_vectors(20, seed=4)
    summaries = range(2, 60, 3)
    everything = Stored(crowd, [*many.ids, *part.ids], np.concatenate([many.vectors, part.vectors]))
    mine, theirs = {"user_id": small.user_id}, {"user_id": crowd.user_id}
    for limit in (10_000, 10):
        scan_exactly_up_to(limit)
        for found, expected in (
            (lambda query: match(query, 10, **mine), lambda query: nearest(few, query, 10)),
            (lambda query: match(query, 10, **theirs), lambda query: nearest(everything, query, 10)),
            (lambda query: match(query, 10, **theirs, chat_id=rare.id), lambda query: nearest(part, query, 10)),
            (
                lambda query: match(query, 10, **theirs, message_type="summary"),
                lambda query: nearest(part, query, 10, among=summaries),
            ),
        ):
            assert measure_recall(queries, found, expected) >= 0.99, limit


def test_the_index_is_read_once_it_has_all_of_a_persons_vectors(
    model: EmbeddingModel, scan_exactly_up_to: Callable[[int], None]
) -> None:
    session = SessionFactory.create()
    vectors = make_vectors(60, seed=7)
    inside = store_rows(session, model, vectors[:50], in_index=True)
    outside = store_rows(session, model, vectors[50:])
    scan_exactly_up_to(40)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_sort = off")  # of so few, comparing all is what the planner would prefer

    def search() -> tuple[list[uuid.UUID], int]:
        before = count_index_scans()
        return list(match(vectors[55], 10, user_id=session.user_id)), count_index_scans() - before

    everything = Stored(session, [*inside.ids, *outside.ids], vectors)
    assert search() == (nearest(everything, vectors[55], 10), 0)

    ConversationEmbedding.objects.update(in_index=True)
    found, scans = search()
    assert (found[0], len(found), scans) == (outside.ids[5], 10, 1)

    scan_exactly_up_to(10_000)
    assert search() == (nearest(everything, vectors[55], 10), 0)


def test_the_function_returns_the_columns_of_the_specification(say: Say, embed: Embed, session: Session) -> None:
    message = say("我住在北京。", "assistant")
    embed(message)
    row = ConversationEmbedding.objects.get()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT * FROM match_conversations(%s::vector, 5, %s::jsonb)",
            [to_sql(np.array(row.embedding)), json.dumps({"user_id": session.user_id})],
        )
        names = [column.name for column in cursor.description or ()]
        (found,) = cursor.fetchall()

    assert names == ["id", "chat_id", "content", "message_type", "created_at", "similarity"]
    assert found[:5] == (row.id, session.id, "我住在北京。", "assistant", message.create_time)
    assert found[5] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({}, "needs a user_id"),
        ({"user_id": None}, "needs a user_id"),
        ({"user_id": 1, "usr": 2}, "there is no filter usr"),
        ({"user_id": 1, "model": "other"}, "there is no model other"),
        ({"user_id": "x"}, "invalid input syntax"),
        ({"user_id": 1, "chat_id": "x"}, "invalid input syntax"),
    ],
)
def test_a_filter_that_means_nothing_is_an_error(model: EmbeddingModel, conditions: Any, message: str) -> None:
    with pytest.raises(DatabaseError, match=message), transaction.atomic():
        match(make_vectors(1, seed=0)[0], 5, **conditions)


def test_vectors_of_another_model_are_compared_only_when_asked_for(model: EmbeddingModel) -> None:
    session = SessionFactory.create()
    building = EmbeddingModel.objects.create(name="new", state="building")
    vectors = make_vectors(3, seed=5)
    old, new = store_rows(session, model, vectors), store_rows(session, building, vectors)
    owner = session.user_id

    assert set(match(vectors[0], 10, user_id=owner)) == set(old.ids)
    assert set(match(vectors[0], 10, user_id=owner, model="new")) == set(new.ids)


@pytest.mark.parametrize("limit", [10_000, 1])
def test_a_long_message_counts_once_with_its_best_part(
    say: Say, embed: Embed, user: User, scan_exactly_up_to: Callable[[int], None], limit: int
) -> None:
    scan_exactly_up_to(limit)
    tea = "我喜欢喝绿茶，每天下午都泡一壶。" * 40
    cats = "我养了两只猫，一只叫咪咪。" * 60
    embed(say(tea + cats), say("I like green tea."), say("股票跌了。"))
    ConversationEmbedding.objects.update(in_index=True)

    found = search_conversations(user=user, query="我喜欢喝绿茶", top_k=3, threshold=0.0)
    begins = sorted(item.content[:6] for item in found)
    assert begins[:2] == ["I like", "我喜欢喝绿茶"]
    # The index is approximate: what is far from everything else it may miss.
    assert begins[2:] == ["股票跌了。"] or (limit == 1 and begins[2:] == [])


def test_the_similarity_is_the_cosine_of_the_full_vectors(
    model: EmbeddingModel, scan_exactly_up_to: Callable[[int], None]
) -> None:
    session = SessionFactory.create()
    vectors = make_vectors(30, seed=6)
    stored = store_rows(session, model, vectors, in_index=True)
    scan_exactly_up_to(1)
    found = match(vectors[0], 30, user_id=session.user_id)

    for row_id, vector in zip(stored.ids, vectors, strict=True):
        assert found[row_id] == pytest.approx(float(vector @ vectors[0]), abs=1e-5)


# The endpoint


def search(client: APIClient, **body: object) -> Any:
    return client.post("/memory/conversations/search", body)


def test_the_most_similar_come_first(say: Say, embed: Embed, session: Session, client: APIClient) -> None:
    messages = [say("我喜欢的颜色是蓝色。"), say("My favourite colour is blue.", "assistant"), say("股票今天跌了。")]
    embed(*messages)
    response = search(client, query="我喜欢的颜色是蓝色。", threshold=0.3)

    assert response.status_code == 200
    results = response.json()["results"]
    assert [(item["content"], item["message_type"], item["chat_id"]) for item in results] == [
        ("我喜欢的颜色是蓝色。", "user", str(session.id)),
        ("My favourite colour is blue.", "assistant", str(session.id)),
    ]
    assert set(results[0]) == {"content", "similarity", "created_at", "chat_id", "space", "message_type"}
    assert results[0]["similarity"] == pytest.approx(1.0, abs=1e-5)
    assert 0.3 < results[1]["similarity"] < 1.0


def test_five_results_above_the_threshold_by_default(say: Say, embed: Embed, user: User, client: APIClient) -> None:
    embed(*[say(f"我喜欢喝茶{'！' * number}") for number in range(7)], say("我喜欢喝咖啡和茶，也喜欢爬山。"))

    results = search(client, query="我喜欢喝茶").json()["results"]
    assert len(results) == 5
    assert all(item["similarity"] >= 0.7 for item in results)
    assert len(search(client, query="我喜欢喝茶", top_k=50, threshold=0).json()["results"]) == 8

    update_settings(user=user, changes={"memory.similarity_threshold": 1.0})
    assert [item["content"] for item in search(client, query="什么都没有").json()["results"]] == []


def test_one_session_only(say: Say, embed: Embed, session: Session, client: APIClient) -> None:
    other = Session.objects.create(user=session.user)
    embed(say("我喜欢喝茶"), say("我喜欢喝茶。", to=other))

    results = search(client, query="我喜欢喝茶", chat_id=str(other.id)).json()["results"]
    assert [item["content"] for item in results] == ["我喜欢喝茶。"]


def test_bad_input_and_nothing_to_find(client: APIClient) -> None:
    assert search(client, query="我喜欢喝茶").json() == {"results": []}
    refused = search(client, query=" ", top_k=True, threshold="0.5")
    assert (refused.status_code, set(refused.json()["error"]["fields"])) == (400, {"query", "top_k", "threshold"})
    assert search(client, query="x", chat_id="no").status_code == 404
