"""The vector indexes have the vectors of people with many memories (A4) or messages (V4), and of nobody else.

No search finds less meanwhile; of messages, test_search.py shows that. And what migrations tell the planner.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.memory.lifecycle import create_atomic_memories
from apps.memory.models import AtomicEmbedding, ConversationEmbedding
from apps.memory.recall import columns as nearest
from apps.memory.recall.atomic import retrieve_atomic_memories
from apps.memory.types import AtomicDraft
from apps.memory.vectors import embedders as indexing
from apps.memory.vectors.queries import embed_query
from tests.memory.vectors.conftest import Say
from tests.support.factories import LongTermMemoryFactory, SessionFactory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("A4", "V4"),
    pytest.mark.long_except(
        "test_the_index_holds_nobody_elses_rows", "test_the_planner_knows_how_many_memories_to_expect_of_a_person"
    ),
]

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def remember(user: User, count: int, *, start: int = 0) -> None:
    drafts = [AtomicDraft(content=f"cup of tea number {number}") for number in range(start, start + count)]
    create_atomic_memories(user=user, drafts=drafts, now=NOW)


def count_indexed(user: User) -> int:
    return AtomicEmbedding.objects.filter(user=user, in_index=True).count()


@pytest.fixture
def people(monkeypatch: pytest.MonkeyPatch) -> tuple[User, User]:
    """One with twelve memories, which are many here, and one with three."""
    monkeypatch.setitem(indexing.INDEX_FROM, AtomicEmbedding, 10)
    monkeypatch.setattr(indexing, "BATCH", 5)
    many, few = User.objects.create(username="many"), User.objects.create(username="few")
    remember(many, 12)
    remember(few, 3)
    return many, few


def test_who_has_many_is_put_into_the_index_and_stays_there(people: tuple[User, User]) -> None:
    many, few = people
    assert (count_indexed(many), count_indexed(few)) == (0, 0)
    assert indexing.index_large_collections() == 12
    assert (count_indexed(many), count_indexed(few)) == (12, 0)
    assert indexing.index_large_collections() == 0
    remember(many, 1, start=12)  # whoever writes adds what is new
    assert count_indexed(many) == 13


def test_until_all_are_there_all_are_compared(people: tuple[User, User], monkeypatch: pytest.MonkeyPatch) -> None:
    many, _few = people
    monkeypatch.setattr(nearest, "EXACT_SCAN_LIMIT", 5)
    query = embed_query("a warm drink", deadline=30)
    assert query is not None

    def search() -> tuple[int, str]:
        with CaptureQueriesContext(connection) as captured:
            found = retrieve_atomic_memories(user=many, query="drink", limit=50, query_embedding=query)
        return len(found), captured.captured_queries[-2]["sql"]

    count, statement = search()
    assert (count, "hnsw.iterative_scan" in statement) == (12, False)
    AtomicEmbedding.objects.filter(user=many, memory__content__contains="number 1").update(in_index=True)
    assert search()[0] == 12
    indexing.index_large_collections()
    count, statement = search()
    assert (count, "hnsw.iterative_scan" in statement) == (12, True)


@pytest.mark.parametrize("table", ["atomic_embedding", "long_term_embedding", "conversation_embeddings"])
def test_the_index_holds_nobody_elses_rows(table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexdef FROM pg_indexes WHERE tablename = %s AND indexdef LIKE %s", [table, "% USING hnsw %"]
        )
        ((definition,),) = cursor.fetchall()
    assert "halfvec_cosine_ops" in definition
    assert definition.endswith("WHERE in_index")


@pytest.mark.parametrize("joins", ["any", "nested loops"])
def test_messages_too_and_out_again_when_few_are_left(
    say: Say, embed: Callable[..., int], session: Session, monkeypatch: pytest.MonkeyPatch, joins: str
) -> None:
    if joins == "nested loops":  # under which a portion could be read several times
        with connection.cursor() as cursor:
            for plan in ("hashjoin", "mergejoin", "material", "hashagg", "sort"):
                cursor.execute(f"SET LOCAL enable_{plan} = off")
    monkeypatch.setitem(indexing.INDEX_FROM, ConversationEmbedding, 10)
    monkeypatch.setattr(indexing, "BATCH", 5)
    other = SessionFactory.create()

    def count_messages() -> tuple[int, int]:
        mine, theirs = (
            ConversationEmbedding.objects.filter(user=owner, in_index=True).count()
            for owner in (session.user, other.user)
        )
        return mine, theirs

    embed(*[say(f"cup of tea number {number}") for number in range(12)], say("a cup of tea", to=other))
    assert count_messages() == (0, 0)
    assert indexing.index_large_collections() == 12
    assert count_messages() == (12, 0)

    embed(say("one more cup"), say("one more cup", to=other))  # whoever writes adds what is new
    assert (count_messages(), indexing.index_large_collections()) == ((13, 0), 0)

    rows = ConversationEmbedding.objects.filter(user=session.user)
    rows.filter(id__in=rows.values("id")[5:]).delete()
    assert (count_messages(), indexing.index_large_collections()) == ((5, 0), 0)  # half as many: neither in nor out

    rows.filter(id=rows.values("id")[:1]).delete()
    assert indexing.index_large_collections() == 4
    embed(say("yet another cup"))
    assert count_messages() == (0, 0)


def test_the_planner_knows_how_many_memories_to_expect_of_a_person(user: User) -> None:
    remember(user, 3)
    for number in range(3):
        LongTermMemoryFactory(user=user, key=f"颜色 {number}")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE long_term_memory, atomic_memory")
        cursor.execute(
            "SELECT tablename, n_distinct::float8 FROM pg_stats WHERE attname = 'user_id' AND tablename = ANY(%s)",
            [["long_term_memory", "atomic_memory"]],
        )
        known = dict(cursor.fetchall())
    assert known == {"long_term_memory": pytest.approx(-0.001), "atomic_memory": pytest.approx(-0.001)}
