"""Long-term memories found by meaning (K9), on a real PostgreSQL and with the local embedder."""

from __future__ import annotations

from typing import Any

import pytest

from apps.accounts.models import User
from apps.memory.entries import create_memory
from apps.memory.keyed import phrase_memory
from apps.memory.models import LongTermEmbedding
from apps.memory.recall import columns as nearest
from apps.memory.recall.long_term import retrieve_relevant_memories
from apps.memory.types import ScoredMemory
from apps.memory.vectors.queries import embed_query
from tests.memory.recall.atomic.conftest import asked, vector
from tests.memory.recall.conftest import NOW
from tests.support.factories import LongTermMemoryFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("K9")]

# Seconds: the model is loaded by the first test that embeds.
PATIENT = 30.0


@pytest.fixture
def user(db: None) -> User:
    user: User = UserFactory.create()
    for key, value in [
        ("名字", "林晓雨"),
        ("年龄", "30"),
        ("工作", "老师"),
        ("喜欢的颜色", "蓝色"),
        ("allergies", ["peanuts", "shrimp"]),
        ("pet", "a cat called Mimi"),
    ]:
        LongTermMemoryFactory.create(user=user, key=key, value=value, category="fact", now=NOW)
    return user


def retrieve(user: User, message: str, **options: Any) -> list[ScoredMemory]:
    if "query_embedding" not in options:
        options["query_embedding"] = embed_query(message, deadline=PATIENT)
    if nearest.EXACT_SCAN_LIMIT == 0:
        LongTermEmbedding.objects.update(in_index=True)
    options = {"limit": 5, **options}
    return retrieve_relevant_memories(user=user, message=message, now=NOW, **options)


def keys(found: list[ScoredMemory]) -> list[str]:
    return [memory.candidate.key for memory in found]


def at(user: User, key: str, *numbers: float) -> None:
    """Put the vector of a memory where the test wants it."""
    LongTermEmbedding.objects.filter(user=user, memory__key=key).update(embedding=vector(*numbers))


@pytest.mark.parametrize(
    ("message", "key"),
    [
        ("我叫什么", "名字"),
        ("我多大了", "年龄"),
        ("我是做什么的", "工作"),
        ("How old am I?", "年龄"),
        ("what's my name", "名字"),
        ("我养了什么动物", "pet"),
        ("我最爱哪种颜色", "喜欢的颜色"),
    ],
)
def test_a_paraphrase_that_shares_no_word_is_found(user: User, message: str, key: str) -> None:
    found = retrieve(user, message)
    assert keys(found)[:1] == [key]
    assert found[0].semantic_score >= 0.4


@pytest.mark.long
@pytest.mark.parametrize("message", ["你好", "今天天气怎么样", "How does photosynthesis work?", "1+1等于几", "谢谢你"])
def test_nothing_near_and_no_keyword_is_an_empty_list(user: User, message: str) -> None:
    assert retrieve(user, message) == []


@pytest.mark.long
@pytest.mark.spec("K5")
def test_the_better_of_both_scores_counts(user: User) -> None:
    at(user, "pet", 1.0, 0.0)
    at(user, "年龄", 0.8, 0.6)
    at(user, "allergies", 0.59, 0.807)
    found = {
        memory.candidate.key: memory for memory in retrieve(user, "pet", query_embedding=asked(1.0, min_similarity=0.6))
    }
    assert set(found) == {"pet", "年龄"}
    assert (found["pet"].keyword_score, found["pet"].semantic_score) == (1.0, pytest.approx(1.0, abs=1e-3))
    age = found["年龄"]
    assert (age.keyword_score, age.semantic_score) == (0.0, pytest.approx(0.8, abs=1e-3))
    assert age.score == pytest.approx(0.4 * 0.8 + 0.2 * 1.2 + 0.15 * 1.0 + 0.1 * 0.5 + 0.15 * 1.0, abs=1e-3)


@pytest.mark.long
def test_the_floor_is_the_embedders_unless_said(user: User) -> None:
    at(user, "pet", 0.7, 0.714)
    query = asked(1.0, min_similarity=0.69)
    assert keys(retrieve(user, "unrelated", query_embedding=query)) == ["pet"]
    assert retrieve(user, "unrelated", query_embedding=query, min_similarity=0.71) == []
    assert retrieve(user, "unrelated", query_embedding=None) == []


@pytest.mark.usefixtures("both_ways")
def test_only_active_memories_of_the_user_are_neighbours(user: User) -> None:
    theirs = LongTermMemoryFactory.create(key="姓名", value="Violet").user
    create_memory(user=user, category="fact", key="名字", value="林小鱼", now=NOW)
    found = retrieve(user, "我叫什么")
    assert [(memory.candidate.key, memory.candidate.value) for memory in found][:1] == [("名字", "林小鱼")]
    assert {"林晓雨", "Violet"}.isdisjoint(str(memory.candidate.value) for memory in found)
    assert [memory.candidate.value for memory in retrieve(theirs, "我叫什么")] == ["Violet"]


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("工作", "老师", "我是做什么工作的？我的工作是老师。"),
        ("home", "Leeds", "Where do I live? My home is Leeds."),
        ("游戏", "围棋", "我的游戏是什么？我的游戏是围棋。"),
        ("你喜歡的顏色", ["蓝色", "绿色"], "我的喜欢的颜色是什么？我的喜欢的颜色是蓝色 绿色。"),
        ("my favorite_food", "pizza", "What is my favorite food? My favorite food is pizza."),
        ("home", {"city": "北京", "since": 2019}, "Where do I live? My home is city 北京 since 2019."),
        ("我", "林晓雨", "我的我是什么？我的我是林晓雨。"),
    ],
)
def test_how_a_memory_is_phrased_for_the_embedder(key: str, value: object, text: str) -> None:
    assert phrase_memory(key=key, value=value) == text
