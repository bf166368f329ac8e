"""Explanations of a recall say what the recall does, and why the rest is left out (M6)."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from apps.accounts.models import User
from apps.accounts.types import MemorySettings, ScoreWeights
from apps.memory.entries import create_memory
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicEmbedding, LongTermEmbedding
from apps.memory.recall.both import recall_memories
from apps.memory.recall.explain import Arm, Asked, RecallExplanation, explain_recall
from apps.memory.vectors.queries import QueryEmbedding
from tests.memory.recall.atomic.conftest import asked as embed
from tests.memory.recall.atomic.conftest import vector
from tests.memory.recall.conftest import NOW, Remember, Topic, break_full_text

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("M6"),
    pytest.mark.long_except("test_arms_weights_and_matches", "test_a_few_queries_and_nothing_of_another_person"),
]


asked = partial(embed, min_similarity=0.6)


def explain(
    user: User,
    message: str,
    *,
    embedding: QueryEmbedding | None = None,
    topic: str = "",
    known: Asked | None = None,
    **settings: Any,
) -> RecallExplanation:
    return explain_recall(
        user=user,
        message=message,
        settings=MemorySettings(**settings),
        query_embedding=embedding,
        working_memory=Topic(topic or None),
        asked=known,
        now=NOW,
    )


@pytest.fixture
def memories(user: User) -> None:
    for key, value, category in [
        ("喜欢的颜色", "蓝色", "preference"),
        ("喜欢的菜", "麻婆豆腐", "preference"),
        ("color of the car", "red", "fact"),
        ("python 版本", "3.11", "fact"),
        ("job", "gardener", "fact"),
    ]:
        create_memory(user=user, category=category, key=key, value=value, now=NOW - timedelta(days=3))
    for content in ("用户喜欢蓝色的自行车。", "The user painted the car red.", "用户养了一只猫。"):
        create_atomic_memory(user=user, content=content, now=NOW)
    LongTermEmbedding.objects.update(embedding=vector(0.0, 1.0))
    AtomicEmbedding.objects.update(embedding=vector(0.0, 1.0))
    LongTermEmbedding.objects.filter(memory__key="job").update(embedding=vector(0.9, 0.435))
    LongTermEmbedding.objects.filter(memory__key="python 版本").update(embedding=vector(0.5, 0.866))
    AtomicEmbedding.objects.filter(memory__content="用户养了一只猫。").update(embedding=vector(0.8, 0.6))


@pytest.mark.usefixtures("memories")
@pytest.mark.parametrize("message", ["我喜欢的颜色是什么", "what color is the car?", "Pyth", "颜", "xyzzy", "?"])
@pytest.mark.parametrize("has_vector", [True, False])
@pytest.mark.parametrize(
    "settings",
    [{}, {"retrieval_limit": 1, "rag_top_n": 1}, {"candidate_limit": 2}, {"semantic_min_similarity": 0.2},
     {"semantic_candidates": False}, {"score_weights": ScoreWeights(keyword=0.1, confidence=1.0)}],
)  # fmt: skip
def test_what_is_explained_is_what_is_recalled(
    user: User, message: str, has_vector: bool, settings: dict[str, Any]
) -> None:
    embedding = asked(1.0) if has_vector else None
    told = explain(user, message, embedding=embedding, topic="颜色", **settings)
    found = recall_memories(
        user=user,
        message=message,
        settings=MemorySettings(**settings),
        query_embedding=embedding,
        working_memory=Topic("颜色"),
        now=NOW,
    )
    assert told.recalled == found


@pytest.mark.usefixtures("memories")
def test_arms_weights_and_matches(user: User) -> None:
    told = explain(user, "我喜欢的颜色", embedding=asked(1.0), topic="python").long_term
    arms = {memory.scored.candidate.key: list(memory.arms) for memory in told.ranked}
    assert arms == {
        "喜欢的颜色": [Arm.FULL_TEXT],
        "喜欢的菜": [Arm.FULL_TEXT],
        "python 版本": [Arm.FULL_TEXT],
        "job": [Arm.SEMANTIC],
    }
    weights = {weight.word: (weight.of_topic, weight.occurrences) for weight in told.keywords}
    assert weights == {"喜欢": (False, 2), "颜色": (False, 1), "python": (True, 1)}
    idfs = {weight.word: weight.idf for weight in told.keywords}
    assert idfs["颜色"] == idfs["python"] > idfs["喜欢"]
    modes = {memory.scored.candidate.key: dict(memory.modes) for memory in told.ranked}
    assert modes["喜欢的颜色"] == {"喜欢": 1.0, "颜色": 1.0, "python": 0.0}
    assert (told.memory_count, told.hits, told.preferences_first) == (5, 3, True)
    assert explain(user, "car").long_term.preferences_first is False
    inside = explain(user, "ardene").long_term
    assert [(memory.scored.candidate.key, list(memory.arms)) for memory in inside.ranked] == [("job", [Arm.SUBSTRING])]


@pytest.mark.usefixtures("memories")
def test_what_fell_under_the_floor(user: User) -> None:
    told = explain(user, "xyzzy", embedding=asked(1.0))
    assert (told.long_term.floor, [memory.scored.candidate.key for memory in told.long_term.ranked]) == (0.6, ["job"])
    (nearest, similarity), *others = told.long_term.below_floor
    assert (nearest.key, round(similarity, 2), len(others)) == ("python 版本", 0.5, 3)
    outstanding = {memory.candidate.content: memory.stands_out for memory in told.atomic.ranked}
    assert outstanding == {
        "用户养了一只猫。": True,
        "用户喜欢蓝色的自行车。": False,
        "The user painted the car red.": False,
    }
    lower = explain(user, "xyzzy", embedding=asked(1.0), semantic_min_similarity=0.4).long_term
    assert [memory.scored.candidate.key for memory in lower.ranked] == ["job", "python 版本"]
    assert explain(user, "xyzzy").long_term.below_floor == []


def test_without_the_full_text_index(user: User, remember: Remember) -> None:
    remember("编程语言", "Python")
    break_full_text()
    told = explain(user, "python").long_term
    assert (told.hits, told.memory_count) == (None, None)
    assert [(list(memory.arms), memory.scored.keyword_score) for memory in told.ranked] == [([Arm.SUBSTRING], 1.0)]
    assert [(weight.occurrences, weight.idf) for weight in told.keywords] == [(None, 1.0)]


@pytest.mark.usefixtures("memories")
def test_a_few_queries_and_nothing_of_another_person(user: User, django_assert_max_num_queries: Any) -> None:
    embedding = asked(1.0)
    with django_assert_max_num_queries(13):  # nine, and two savepoints because tests run in a transaction
        explain(user, "我喜欢的颜色", embedding=embedding)
    nobody = User.objects.create(username="nobody")
    told = explain(nobody, "我喜欢的颜色", embedding=embedding)
    assert (told.long_term.ranked, told.long_term.below_floor, told.atomic.ranked, told.long_term.hits) == (
        [],
        [],
        [],
        0,
    )


@pytest.mark.usefixtures("memories")
def test_under_other_weights_the_database_is_asked_nothing_again(user: User, django_assert_num_queries: Any) -> None:
    embedding, asked_already = asked(1.0), Asked()
    first = explain(user, "我喜欢的颜色", embedding=embedding, known=asked_already)
    other = {"score_weights": ScoreWeights(keyword=0.1, confidence=1.0), "retrieval_limit": 1}
    with django_assert_num_queries(0):
        second = explain(user, "我喜欢的颜色", embedding=embedding, known=asked_already, **other)
    alone = explain(user, "我喜欢的颜色", embedding=embedding, **other)
    assert (second.long_term.ranked, second.long_term.hits) == (alone.long_term.ranked, alone.long_term.hits)
    assert (second.atomic.ranked, second.recalled) == (alone.atomic.ranked, alone.recalled)
    assert first.long_term.ranked != second.long_term.ranked
    fewer = explain(user, "我喜欢的颜色", embedding=embedding, known=asked_already, candidate_limit=1)
    assert len(fewer.long_term.ranked) == 2  # one by keyword, one by meaning
    assert fewer.long_term.milliseconds != first.long_term.milliseconds == second.long_term.milliseconds


@pytest.mark.usefixtures("memories")
def test_settings_without_meaning_are_told_of_no_near_memories_and_others_are(user: User) -> None:
    embedding = asked(1.0)
    for order in ((True, False), (False, True)):
        known = Asked()
        below = {
            semantic: explain(
                user, "xyzzy", embedding=embedding, known=known, semantic_candidates=semantic
            ).long_term.below_floor
            for semantic in order
        }
        assert (len(below[True]), below[False]) == (4, [])
