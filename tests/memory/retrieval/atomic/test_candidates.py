"""Recall of atomic memories from a real PostgreSQL: what it finds, what it counts, and whose."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.core.text.bm25_terms import bm25_terms
from apps.memory.atomic.services import create_atomic_memories
from apps.memory.atomic.types import AtomicDraft
from apps.memory.embeddings.queries import QueryEmbedding
from apps.memory.models import AtomicEmbedding, AtomicMemory
from apps.memory.retrieval import nearest
from apps.memory.retrieval.atomic.bm25 import K1, B, compute_bm25
from apps.memory.retrieval.atomic.candidates import recall_atomic
from apps.memory.retrieval.atomic.types import AtomicRecall, TermMatch
from tests.memory.retrieval.atomic.conftest import NOW, Remember, asked, vector

pytestmark = pytest.mark.django_db

WORDS = ["berlin", "tea", "猫", "咪咪", "上海", "hiking", "piano", "钢琴", "咖啡", "rain", "sister", "母亲"]


def recall(user: User, text: str, query: QueryEmbedding | None = None, **options: Any) -> AtomicRecall:
    return recall_atomic(user, terms=bm25_terms(text), query_embedding=query, **{"candidate_limit": 50, **options})


def contents(found: AtomicRecall) -> set[str]:
    return {memory.candidate.content for memory in found.candidates}


def write_many(user: User, *, count: int) -> list[AtomicMemory]:
    """Memories of random words with random vectors, the same ones in every run."""
    random = np.random.default_rng(7)
    texts = [" ".join(random.choice(WORDS, size=random.integers(2, 9))) for _ in range(count)]
    drafts = [AtomicDraft(content=text, timestamp=NOW) for text in texts]
    memories = create_atomic_memories(user=user, drafts=drafts, now=NOW)
    rows = list(AtomicEmbedding.objects.filter(memory__in=memories))
    for row in rows:
        row.embedding = vector(*random.normal(size=8))
    AtomicEmbedding.objects.bulk_update(rows, ["embedding"])
    return memories


def brute_force_bm25(memories: Sequence[AtomicMemory], text: str) -> dict[Any, float]:
    """BM25 by its definition, from nothing but the texts."""
    documents = {memory.id: Counter(bm25_terms(memory.content)) for memory in memories}
    average = sum(map(Counter.total, documents.values())) / len(documents)
    scores = {}
    for memory_id, document in documents.items():
        score = 0.0
        for term in set(bm25_terms(text)):
            df = sum(term in other for other in documents.values())
            idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
            norm = K1 * (1 - B + B * document.total() / average)
            score += idf * document[term] * (K1 + 1) / (document[term] + norm)
        scores[memory_id] = score
    return scores


@pytest.mark.spec("A4")
def test_both_arms_join(user: User, remember: Remember) -> None:
    remember("用户养了一只叫咪咪的猫。", at=(0, 1))
    remember("The user moved to Berlin.", at=(1, 0))
    remember("The user likes tea.", at=(0, 0, 1))
    assert contents(recall(user, "咪咪多大了")) == {"用户养了一只叫咪咪的猫。"}
    found = recall(user, "咪咪多大了", asked(1, 0.1), candidate_limit=1)
    assert contents(found) == {"用户养了一只叫咪咪的猫。", "The user moved to Berlin."}
    by_content = {memory.candidate.content: memory for memory in found.candidates}
    cat, berlin = by_content["用户养了一只叫咪咪的猫。"], by_content["The user moved to Berlin."]
    assert (list(berlin.matches), len(cat.matches) > 0) == ([], True)
    assert cat.similarity == pytest.approx(0.1 / math.sqrt(1.01), abs=1e-6)  # scored, though the other arm chose it
    assert berlin.similarity == pytest.approx(1 / math.sqrt(1.01), abs=1e-6)


def test_what_has_no_vector_is_found_by_its_words(user: User, remember: Remember) -> None:
    memory = remember("The user moved to Berlin.")
    AtomicEmbedding.objects.all().delete()
    (found,) = recall(user, "Berlin", asked(1)).candidates
    assert (found.candidate.id, found.similarity) == (memory.id, None)


def test_vectors_of_another_model_are_not_compared(user: User, remember: Remember) -> None:
    remember("The user moved to Berlin.", at=(1,))
    query = asked(1)
    other = QueryEmbedding(model_id=query.model_id + 1, vector=query.vector, min_similarity=0.5)
    assert len(recall(user, "", query).candidates) == 1
    assert recall(user, "", other).candidates == ()


@pytest.mark.spec("A4")
def test_statistics_are_of_the_users_active_memories(user: User, remember: Remember) -> None:
    other = User.objects.create(username="other")
    remember("tea tea")
    remember("tea and Berlin")
    for status in ("pending", "rejected", "superseded", "evicted"):
        remember("tea", status=status)
    remember("tea", owner=other)
    found = recall(user, "tea")
    assert (found.corpus.memory_count, found.corpus.average_length) == (2, 2.0)
    assert {memory.candidate.content: list(memory.matches) for memory in found.candidates} == {
        "tea tea": [TermMatch(frequency=2, document_frequency=2)],
        "tea and Berlin": [TermMatch(frequency=1, document_frequency=2)],
    }


@pytest.mark.spec("A3", "A4")
@pytest.mark.parametrize("exact_limit", [nearest.EXACT_SCAN_LIMIT, 0], ids=["exact scan", "index"])
@pytest.mark.parametrize("status", ["pending", "rejected", "superseded", "evicted"])
def test_only_active_memories_of_the_user(
    user: User, remember: Remember, status: str, exact_limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "EXACT_SCAN_LIMIT", exact_limit)
    other = User.objects.create(username="other")
    remember("颜色 no longer", status=status, at=(1,))
    remember("颜色 theirs", owner=other, at=(1,))
    remember("颜色 mine", at=(0.9, 0.1))
    assert contents(recall(user, "颜色", asked(1))) == {"颜色 mine"}
    assert contents(recall(user, "", asked(1))) == {"颜色 mine"}


def test_bounds_of_time_are_included_and_statistics_know_none(user: User, remember: Remember) -> None:
    for days in range(4):
        remember(f"tea {days}", timestamp=NOW + timedelta(days=days), at=(1, days))
    bounds = {"since": NOW + timedelta(days=1), "until": NOW + timedelta(days=2)}
    for found in (recall(user, "tea", **bounds), recall(user, "", asked(1), **bounds)):
        assert contents(found) == {"tea 1", "tea 2"}
        assert found.corpus.memory_count == 4
    assert list(recall(user, "tea", **bounds).candidates[0].matches) == [TermMatch(frequency=1, document_frequency=4)]


@pytest.mark.spec("A4")
@pytest.mark.parametrize("text", ["berlin tea", "猫 咪咪", "hiking 钢琴 rain berlin 母亲", "咖啡"])
def test_the_best_by_words_are_those_of_brute_force(user: User, text: str) -> None:
    memories = write_many(user, count=300)
    expected = brute_force_bm25(memories, text)
    found = recall(user, text, candidate_limit=20)
    scores = {
        memory.candidate.id: compute_bm25(memory.matches, length=memory.length, corpus=found.corpus)
        for memory in found.candidates
    }
    assert len(scores) == 20
    assert scores == pytest.approx({memory_id: expected[memory_id] for memory_id in scores})
    assert sorted(scores.values(), reverse=True) == pytest.approx(sorted(expected.values(), reverse=True)[:20])


@pytest.mark.spec("A4")
@pytest.mark.parametrize("exact_limit", [nearest.EXACT_SCAN_LIMIT, 0], ids=["exact scan", "index"])
def test_the_nearest_are_those_of_brute_force(user: User, exact_limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "EXACT_SCAN_LIMIT", exact_limit)
    memories = write_many(user, count=300)
    write_many(User.objects.create(username="other"), count=300)
    query = asked(1, 2, 3, 4)
    vectors = dict(AtomicEmbedding.objects.filter(memory__in=memories).values_list("memory_id", "embedding"))
    cosines = {memory_id: float(np.dot(stored, query.vector)) for memory_id, stored in vectors.items()}
    nearest_first = sorted(cosines, key=lambda memory_id: -cosines[memory_id])[:20]
    found = {
        memory.candidate.id: memory.similarity for memory in recall(user, "", query, candidate_limit=20).candidates
    }
    assert found == pytest.approx({memory_id: cosines[memory_id] for memory_id in nearest_first}, abs=1e-6)


def test_the_index_is_read_until_enough_is_the_users_own(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "EXACT_SCAN_LIMIT", 0)
    monkeypatch.setattr(nearest, "EF_SEARCH", 10)
    mine = write_many(user, count=30)
    AtomicEmbedding.objects.filter(memory__in=mine).update(embedding=vector(-1, 1))
    theirs = write_many(User.objects.create(username="other"), count=300)
    AtomicEmbedding.objects.filter(memory__in=theirs).update(embedding=vector(1))
    with connection.cursor() as cursor:
        cursor.execute("REINDEX INDEX atomic_embedding_hnsw")  # without what tests before rolled back
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
    # All of the others' are nearer.
    assert {memory.candidate.id for memory in recall(user, "", asked(1)).candidates} == {memory.id for memory in mine}


@pytest.mark.parametrize("count", [10, 200])
def test_one_statement_however_much_there_is(user: User, count: int) -> None:
    write_many(user, count=count)
    query = asked(1, 1)
    with CaptureQueriesContext(connection) as captured:
        assert len(recall(user, "berlin tea 猫", query).candidates) >= 10
    assert len(captured) == 1


def test_nothing_to_look_for_takes_no_statement(user: User, remember: Remember) -> None:
    remember("tea")
    with CaptureQueriesContext(connection) as captured:
        assert recall(user, "") == AtomicRecall()
        assert recall(user, "and you?") == AtomicRecall()
        assert recall(user, "tea", candidate_limit=0) == AtomicRecall()
    assert len(captured) == 0


@pytest.mark.parametrize(
    "text", ["'); DROP TABLE atomic_memory; --", "{}", '{"a"}', "%s %(user)s", "\\", "😀", "a" * 32_000, "长" * 32_000]
)
def test_hostile_text_is_text(user: User, remember: Remember, text: str) -> None:
    remember("plain")
    remember(f"{text} 颜色")
    assert contents(recall(user, f"{text} 颜色")) == {f"{text} 颜色"}


def test_every_field_is_read(user: User, remember: Remember) -> None:
    memory = remember("tea", tags=["饮食"], event_start=NOW, event_end=NOW + timedelta(hours=1))
    (found,) = recall(user, "tea").candidates
    for name in found.candidate.__dataclass_fields__:
        assert getattr(found.candidate, name) == getattr(memory, name), name
