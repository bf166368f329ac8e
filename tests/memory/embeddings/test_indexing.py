"""The vector index has the vectors of people with many memories, and no search finds less meanwhile (A4)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.memory.atomic.services import create_atomic_memories
from apps.memory.atomic.types import AtomicDraft
from apps.memory.embeddings import indexing
from apps.memory.embeddings.queries import embed_query
from apps.memory.models import AtomicEmbedding
from apps.memory.retrieval import nearest
from apps.memory.retrieval.atomic import retrieve_atomic_memories

pytestmark = [pytest.mark.django_db, pytest.mark.spec("A4")]

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def remember(user: User, count: int, *, start: int = 0) -> None:
    drafts = [AtomicDraft(content=f"cup of tea number {number}") for number in range(start, start + count)]
    create_atomic_memories(user=user, drafts=drafts, now=NOW)


def count_indexed(user: User) -> int:
    return AtomicEmbedding.objects.filter(user=user, in_index=True).count()


@pytest.fixture
def people(monkeypatch: pytest.MonkeyPatch) -> tuple[User, User]:
    """One with twelve memories, which are many here, and one with three."""
    monkeypatch.setattr(indexing, "INDEX_FROM", 10)
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
            found = retrieve_atomic_memories(
                user=many, query="drink", limit=50, query_embedding=query, min_similarity=-1.0
            )
        return len(found), captured.captured_queries[-2]["sql"]

    count, statement = search()
    assert (count, "hnsw.iterative_scan" in statement) == (12, False)
    AtomicEmbedding.objects.filter(user=many, memory__content__contains="number 1").update(in_index=True)
    assert search()[0] == 12
    indexing.index_large_collections()
    count, statement = search()
    assert (count, "hnsw.iterative_scan" in statement) == (12, True)


def test_the_index_holds_nobody_elses_rows() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = 'atomic_embedding_hnsw'")
        ((definition,),) = cursor.fetchall()
    assert definition.endswith("WHERE in_index")
