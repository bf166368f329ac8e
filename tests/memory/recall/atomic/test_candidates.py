"""Recall of atomic memories from a real PostgreSQL: what it finds, what it counts, and whose."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.conversations.sessions import create_session
from apps.core.text.search import bm25_terms
from apps.memory.lifecycle import create_atomic_memories
from apps.memory.models import AtomicEmbedding, AtomicMemory
from apps.memory.recall import columns as candidates
from apps.memory.recall import columns as nearest
from apps.memory.recall.columns import read_candidates, recall_atomic
from apps.memory.recall.features import K1, AtomicRecall, B, compute_keyword_scores
from apps.memory.recall.query import AtomicQuery
from apps.memory.types import AtomicDraft
from apps.memory.vectors.queries import QueryEmbedding
from tests.memory.recall.atomic.conftest import NOW, Remember, asked, vector

pytestmark = [pytest.mark.django_db, pytest.mark.spec("A4")]

WORDS = ["berlin", "tea", "猫", "咪咪", "上海", "hiking", "piano", "钢琴", "咖啡", "rain", "sister", "母亲"]


def recall(user: User, text: str, query: QueryEmbedding | None = None) -> AtomicRecall | None:
    if nearest.EXACT_SCAN_LIMIT == 0:
        AtomicEmbedding.objects.update(in_index=True)
    return recall_atomic(user, terms=list(dict.fromkeys(bm25_terms(text))), query_embedding=query)


def list_ids(found: AtomicRecall | None) -> list[UUID]:
    return [] if found is None else [UUID(bytes=key.tobytes()) for key in found.rows.keys]


def contents(found: AtomicRecall | None) -> list[str]:
    """What the rows are, in their order."""
    memories = AtomicMemory.objects.in_bulk(list_ids(found))
    return [memories[memory_id].content for memory_id in list_ids(found)]


def frequencies(found: AtomicRecall | None) -> dict[str, dict[int, float]]:
    """By content, how often each of the query's terms, by its number, occurs."""
    rows, known = found.rows, contents(found)
    counted: dict[str, dict[int, float]] = {content: {} for content in known}
    for row, term, frequency in zip(rows.row, rows.term, rows.frequency, strict=True):
        counted[known[row]][int(term)] = float(frequency)
    return counted


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


@pytest.mark.usefixtures("both_ways")
def test_rows_are_in_the_order_in_which_they_were_said(user: User) -> None:
    sessions = [create_session(user=user, title=title).id for title in ("one", "two")]
    texts = [f"tea {number}" for number in range(20)]
    drafts = [
        AtomicDraft(content=text, timestamp=NOW, session_id=sessions[number % 2]) for number, text in enumerate(texts)
    ]
    create_atomic_memories(user=user, drafts=drafts, now=NOW)
    found = recall(user, "tea", asked(1))
    by_session = [texts[0::2], texts[1::2]]
    if sessions[0] > sessions[1]:
        by_session.reverse()
    assert contents(found) == [*by_session[0], *by_session[1]]
    assert list(found.rows.session) == [0] * 10 + [1] * 10


@pytest.mark.usefixtures("both_ways")
def test_every_column_is_of_its_row(user: User, remember: Remember) -> None:
    remember("Anna: Do you like tea? Green tea?", at=(3, 4))
    remember("用户养了一只叫咪咪的猫。", at=(0, 1), timestamp=NOW + timedelta(days=1))
    remember("The user's plan: tea at four", at=(1, 0), timestamp=NOW + timedelta(days=2))
    query = replace(asked(1), earlier_vector=vector(-1))
    found = recall(user, "green tea 咪咪", query)
    rows = found.rows
    order = np.argsort(rows.time)
    assert [contents(found)[number][:4] for number in order] == ["Anna", "用户养了", "The "]
    assert rows.time[order] == pytest.approx([NOW.timestamp() + 86_400 * days for days in range(3)])
    assert rows.cosine[order] == pytest.approx([0.6, 0, 1], abs=1e-3)
    assert rows.earlier_cosine[order] == pytest.approx([-0.6, 0, -1], abs=1e-3)
    assert rows.asks[order].tolist() == [True, False, False]
    assert [rows.speakers[number] for number in order] == ["Anna", "", "The user's plan"]
    lengths = dict(AtomicMemory.objects.values_list("content", "term_count"))
    assert rows.length.tolist() == [lengths[content] for content in contents(found)]
    assert frequencies(found) == {
        "Anna: Do you like tea? Green tea?": {0: 1, 1: 2},
        "用户养了一只叫咪咪的猫。": {2: 2},  # the word, and the same two characters as a pair
        "The user's plan: tea at four": {1: 1},
    }


@pytest.mark.long
def test_what_has_no_vector_has_no_cosine(user: User, remember: Remember) -> None:
    remember("The user moved to Berlin.")
    AtomicEmbedding.objects.all().delete()
    found = recall(user, "Berlin", asked(1))
    assert np.isnan(found.rows.cosine).tolist() == [True]
    without = recall(user, "Berlin")
    assert np.isnan(without.rows.cosine).tolist() == [True]


@pytest.mark.long
def test_vectors_of_another_model_are_not_compared(user: User, remember: Remember) -> None:
    remember("The user moved to Berlin.", at=(1,))
    query = asked(1)
    other = QueryEmbedding(model_id=query.model_id + 1, vector=query.vector, min_similarity=0.5)
    found = recall(user, "", other)
    assert np.isnan(found.rows.cosine).all()


@pytest.mark.long
@pytest.mark.usefixtures("both_ways")
def test_statistics_are_of_the_users_active_memories(user: User, remember: Remember) -> None:
    other = User.objects.create(username="other")
    remember("tea tea")
    remember("tea and Berlin")
    for status in ("pending", "rejected", "superseded", "evicted"):
        remember("tea", status=status)
    remember("tea", owner=other)
    found = recall(user, "tea Berlin piano")
    assert (found.memory_count, found.average_length) == (2, 2.0)
    assert found.document_frequencies.tolist() == [2, 1, 0]
    assert frequencies(found) == {"tea tea": {0: 2}, "tea and Berlin": {0: 1, 1: 1}}


@pytest.mark.spec("A3")
@pytest.mark.usefixtures("both_ways")
def test_only_active_memories_of_the_user(user: User, remember: Remember) -> None:
    other = User.objects.create(username="other")
    session_id = create_session(user=user, title="").id
    for status in ("pending", "rejected", "superseded", "evicted"):
        remember("颜色 no longer", status=status, at=(1,), session_id=session_id)
    theirs = remember("颜色 theirs", owner=other, at=(1,))
    remember("颜色 muted", at=(1,), session_id=session_id)
    AtomicMemory.objects.filter(content="颜色 muted").update(muted=True)
    remember("颜色 mine", at=(0.9, 0.1), session_id=session_id)
    assert contents(recall(user, "颜色", asked(1))) == ["颜色 mine"]
    assert contents(recall(user, "", asked(1))) == ["颜色 mine"]
    assert read_candidates(user, [theirs.id]) == {}


@pytest.mark.long
@pytest.mark.parametrize("text", ["berlin tea", "猫 咪咪", "hiking 钢琴 rain berlin 母亲", "咖啡"])
def test_the_best_by_words_are_those_of_brute_force(user: User, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = write_many(user, count=300)
    expected = brute_force_bm25(memories, text)
    everything = recall(user, text)
    scores = dict(
        zip(list_ids(everything), compute_keyword_scores(everything, AtomicQuery(text)).tolist(), strict=True)
    )
    assert scores == pytest.approx(expected)
    monkeypatch.setattr(nearest, "EXACT_SCAN_LIMIT", 0)
    monkeypatch.setattr(candidates, "ARM_LIMIT", 20)
    best = recall(user, text)
    assert len(best.rows) == 20
    assert sorted(compute_keyword_scores(best, AtomicQuery(text)), reverse=True) == pytest.approx(
        sorted(expected.values(), reverse=True)[:20]
    )


@pytest.mark.long
def test_the_nearest_are_those_of_brute_force(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = write_many(user, count=300)
    write_many(User.objects.create(username="other"), count=300)
    query = asked(1, 2, 3, 4)
    vectors = dict(AtomicEmbedding.objects.filter(memory__in=memories).values_list("memory_id", "embedding"))
    cosines = {memory_id: float(np.dot(stored, query.vector)) for memory_id, stored in vectors.items()}
    everything = recall(user, "", query)
    assert dict(zip(list_ids(everything), everything.rows.cosine.tolist(), strict=True)) == pytest.approx(
        cosines, abs=1e-3
    )
    monkeypatch.setattr(nearest, "EXACT_SCAN_LIMIT", 0)
    monkeypatch.setattr(candidates, "ARM_LIMIT", 20)
    found = recall(user, "", query)
    nearest_first = sorted(cosines, key=lambda memory_id: -cosines[memory_id])[:20]
    assert dict(zip(list_ids(found), found.rows.cosine.tolist(), strict=True)) == pytest.approx(
        {memory_id: cosines[memory_id] for memory_id in nearest_first}, abs=1e-3
    )


@pytest.mark.long
def test_beside_a_hit_stand_the_turns_around_it(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "EXACT_SCAN_LIMIT", 0)
    monkeypatch.setattr(candidates, "ARM_LIMIT", 1)
    session_id, other = (create_session(user=user, title="").id for _ in range(2))
    drafts = [
        AtomicDraft(content="tea" if number == 7 else f"turn {number}", timestamp=NOW, session_id=session_id)
        for number in range(15)
    ]
    drafts.append(AtomicDraft(content="elsewhere", timestamp=NOW, session_id=other))
    create_atomic_memories(user=user, drafts=drafts, now=NOW)
    expected = [f"turn {number}" for number in (5, 6)] + ["tea"] + [f"turn {number}" for number in (8, 9)]
    assert contents(recall(user, "tea")) == expected


@pytest.mark.long
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
    assert set(list_ids(recall(user, "", asked(1)))) == {memory.id for memory in mine}


def test_nothing_to_look_for_takes_no_statement(user: User, remember: Remember) -> None:
    remember("tea")
    with CaptureQueriesContext(connection) as captured:
        assert recall(user, "") is None
        assert recall(user, "and you?") is None
    assert len(captured) == 0
    assert recall(User.objects.create(username="new"), "tea") is None


@pytest.mark.parametrize(
    "text",
    [
        *("'); DROP TABLE atomic_memory; --", "{}", '{"a"}', "%s %(user)s", "\\", "😀", "a" * 32_000),
        *("two\nlines: here", "\r\n: ", ": nobody", "：全角", "a\u2028b: c"),
        pytest.param("长" * 32_000, marks=pytest.mark.long),
    ],
)
def test_hostile_text_is_text(user: User, remember: Remember, text: str) -> None:
    remember("plain 颜色")
    remember(f"{text} 颜色")
    remember(f"{text}: 颜色")
    found = recall(user, f"{text} 颜色")
    assert sorted(contents(found)) == sorted([f"{text} 颜色", f"{text}: 颜色", "plain 颜色"])
    assert len(found.rows.speakers) == 3


@pytest.mark.long
def test_every_field_is_read(user: User, remember: Remember) -> None:
    memory = remember("tea", tags=["饮食"], event_start=NOW, event_end=NOW + timedelta(hours=1))
    candidate = read_candidates(user, [memory.id])[memory.id]
    for name in candidate.__dataclass_fields__:
        assert getattr(candidate, name) == getattr(memory, name), name
    AtomicMemory.objects.update(status="superseded")
    assert read_candidates(user, [memory.id]) == {}
    assert read_candidates(user, []) == {}
