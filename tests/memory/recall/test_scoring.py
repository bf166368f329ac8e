"""Match modes, idf, components and the score: K4, K5 and K7, computed by hand. No database."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.accounts.types import ScoreWeights
from apps.memory.keyed import join_text, list_words
from apps.memory.recall.scoring import (
    compute_frequency_score,
    compute_idf,
    compute_recency_score,
    match_keyword,
    rank_candidates,
    read_memory_text,
)
from apps.memory.types import Candidate, CorpusStatistics, Recall, ScoredMemory

pytestmark = pytest.mark.spec("K4", "K5", "K7")

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def make_candidate(key: str, value: Any, **fields: Any) -> Candidate:
    defaults: dict[str, Any] = {
        "id": uuid.UUID(int=1),
        "category": "fact",
        "confidence": 1.0,
        "updated_at": NOW,
        "last_accessed": NOW,
        "access_count": 0,
    }
    words = list_words(join_text(key=key, value=value))
    return Candidate(key=key, value=value, words=words, **defaults | fields)


def rank(
    *candidates: Candidate,
    keywords: Sequence[str],
    topic_keywords: Sequence[str] = (),
    statistics: CorpusStatistics | None = None,
    weights: ScoreWeights = ScoreWeights(),  # noqa: B008 - frozen
    half_life_days: float = 7.0,
) -> list[ScoredMemory]:
    return rank_candidates(
        Recall(candidates=candidates, statistics=statistics),
        keywords=keywords,
        topic_keywords=topic_keywords,
        weights=weights,
        half_life_days=half_life_days,
        now=NOW,
    )


@pytest.mark.parametrize(
    ("keyword", "key", "value", "mode"),
    [
        ("颜色", "你喜欢的颜色", "蓝色", 1.0),
        ("颜色", "喜歡的顏色", "藍色", 1.0),
        ("python", "编程语言偏好", "PYTHON", 1.0),
        ("我", "您的名字", "小明", 1.0),
        ("color", "my favorite_color", "blue", 1.0),
        ("dog", "the dog's name", "Rex", 1.0),
        ("北京", "住址", {"城市": ["北京", "海淀"]}, 1.0),
        ("编程", "编程语言偏好", "Python", 0.7),
        ("pyth", "编程语言", "Python", 0.7),
        ("color", "favorite colors", "blue", 0.7),
        ("猫", "喜欢的动物", "熊猫", 0.7),
        ("书架", "图书架子", "", 0.7),
        ("编程语言", "喜欢编程", "", 0.3),
        ("colors", "favorite color", "blue", 0.3),
        ("python3", "language", "Python", 0.3),
        ("咖啡", "喜欢的颜色", "蓝色", 0.0),
        ("programmer", "project", "report", 0.0),
        ("我", "我们的计划", "", 0.7),
        ("java", "language", "Python", 0.0),
    ],
)
def test_match_modes(keyword: str, key: str, value: Any, mode: float) -> None:
    assert match_keyword(keyword, text=read_memory_text(make_candidate(key, value))) == mode


def test_a_long_memory_is_cut_into_words_at_its_beginning_only() -> None:
    text = read_memory_text(make_candidate("猫", "字 " * 1_000 + "颜色" + "龘" * 30_000))
    assert len(text.whole) == 32_004
    assert [match_keyword(word, text=text) for word in ("猫", "字", "颜色", "咖啡")] == [1.0, 1.0, 0.7, 0.0]


@pytest.mark.parametrize(
    ("memory_count", "document_frequency", "idf"),
    [
        (1, 1, math.log(4 / 3)),
        (10, 0, math.log(22)),
        (10, 10, math.log(1 + 0.5 / 10.5)),
        (1000, 1, math.log(1 + 999.5 / 1.5)),
    ],
)
def test_idf(memory_count: int, document_frequency: int, idf: float) -> None:
    assert compute_idf(memory_count=memory_count, document_frequency=document_frequency) == pytest.approx(idf)
    assert idf > 0


def test_keyword_score_weighs_modes_by_idf_which_is_one_in_the_fallback() -> None:
    statistics = CorpusStatistics(memory_count=10, document_frequencies={"喜欢": 8, "颜色": 1})
    [found] = rank(make_candidate("颜色", "蓝色"), keywords=["喜欢", "颜色"], statistics=statistics)
    common, rare = math.log(1 + 2.5 / 8.5), math.log(1 + 9.5 / 1.5)
    assert found.keyword_score == pytest.approx(rare / (common + rare))
    [found] = rank(make_candidate("颜色", "蓝色"), keywords=["喜欢", "颜色"], statistics=None)
    assert found.keyword_score == 0.5


@pytest.mark.parametrize(
    ("days", "score"), [(0, 1.0), (7, 0.5), (14, 0.25), (3.5, 2**-0.5), (0.25, 2 ** (-0.25 / 7)), (-3, 1.0)]
)
def test_recency_halves_every_half_life(days: float, score: float) -> None:
    last_accessed = NOW - timedelta(days=days)
    assert compute_recency_score(last_accessed=last_accessed, now=NOW, half_life_days=7.0) == pytest.approx(score)


@pytest.mark.parametrize(
    ("count", "highest", "score"),
    [(0, 0, 0.5), (1, 1, 0.5), (0, 1, 0.5), (0, 8, 0.0), (8, 8, 1.0), (2, 8, 0.5), (1, 2, math.log(2) / math.log(3))],
)
def test_frequency(count: int, highest: int, score: float) -> None:
    assert compute_frequency_score(access_count=count, max_access_count=highest) == pytest.approx(score)


@pytest.mark.parametrize(("category", "boost"), [("preference", 1.5), ("fact", 1.2), ("pattern", 1.0)])
def test_category_boost(category: str, boost: float) -> None:
    [found] = rank(make_candidate("颜色", "蓝色", category=category), keywords=["颜色"])
    assert found.category_boost == boost


def test_the_worked_example_of_the_documentation() -> None:
    statistics = CorpusStatistics(memory_count=3, document_frequencies={"喜欢": 2, "颜色": 1})
    color = make_candidate(
        "你喜欢的颜色",
        "蓝色",
        category="preference",
        confidence=0.9,
        access_count=2,
        last_accessed=NOW - timedelta(days=7),
    )
    dish = make_candidate(
        "喜欢的菜",
        "麻婆豆腐",
        id=uuid.UUID(int=2),
        category="preference",
        access_count=8,
        last_accessed=NOW - timedelta(days=1),
    )
    first, second = rank(dish, color, keywords=["喜欢", "颜色"], statistics=statistics)

    assert (first.candidate, second.candidate) == (color, dish)
    assert first == ScoredMemory(
        candidate=color,
        score=pytest.approx(0.4 * 1.0 + 0.2 * 1.5 + 0.15 * 0.5 + 0.1 * 0.5 + 0.15 * 0.9),
        keyword_score=pytest.approx(1.0),
        semantic_score=0.0,
        category_boost=1.5,
        recency_score=pytest.approx(0.5),
        frequency_score=pytest.approx(0.5),
        confidence=0.9,
        topic_boost=1.0,
    )
    assert round(first.score, 3) == 0.96
    assert round(second.keyword_score, 3) == 0.324
    assert round(second.recency_score, 4) == 0.9057
    assert round(second.score, 3) == 0.815


def test_weights_and_half_life_are_the_callers() -> None:
    weights = ScoreWeights(keyword=0.0, category=0.0, recency=1.0, frequency=0.0, confidence=0.0)
    old = make_candidate("颜色", "蓝色", last_accessed=NOW - timedelta(days=2))
    [found] = rank(old, keywords=["颜色"], weights=weights, half_life_days=1.0)
    assert found.score == pytest.approx(0.25)


def test_a_memory_that_shares_a_keyword_of_the_topic_is_lifted() -> None:
    on_topic = make_candidate("旅行计划", "京都", id=uuid.UUID(int=2))
    off_topic = make_candidate("会议计划", "周一", id=uuid.UUID(int=1))
    first, second = rank(off_topic, on_topic, keywords=["计划", "旅行"], topic_keywords=["旅行"])
    assert [(m.candidate, m.topic_boost) for m in (first, second)] == [(on_topic, 1.3), (off_topic, 1.0)]
    assert first.score == pytest.approx(1.3 * (0.4 * 1.0 + 0.2 * 1.2 + 0.15 + 0.1 * 0.5 + 0.15))


def test_only_a_part_of_a_topic_keyword_is_not_sharing_it() -> None:
    [found] = rank(make_candidate("喜欢编程", "是"), keywords=["编程语言"], topic_keywords=["编程语言"])
    assert (found.keyword_score, found.topic_boost) == (0.3, 1.0)


@pytest.mark.spec("K8")
def test_what_matches_no_keyword_is_left_out() -> None:
    assert rank(make_candidate("颜色", "蓝色"), keywords=["咖啡"]) == []
    assert rank(make_candidate("颜色", "蓝色"), keywords=[]) == []
    assert rank(keywords=["咖啡"]) == []


def test_equal_scores_have_one_order() -> None:
    weights = ScoreWeights(recency=0.0)
    newest = make_candidate("颜色", "a", id=uuid.UUID(int=9), last_accessed=NOW)
    twin = make_candidate("颜色", "b", id=uuid.UUID(int=3), last_accessed=NOW - timedelta(days=1))
    other = make_candidate("颜色", "c", id=uuid.UUID(int=2), last_accessed=NOW - timedelta(days=1))
    for order in ([newest, twin, other], [other, newest, twin], [twin, other, newest]):
        assert [m.candidate for m in rank(*order, keywords=["颜色"], weights=weights)] == [newest, other, twin]
