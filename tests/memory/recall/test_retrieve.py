"""Retrieval from end to end on a real PostgreSQL, with the scenarios of K1–K8."""

from __future__ import annotations

import unicodedata
from datetime import timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.memory.entries import create_memory
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.recall.atomic import retrieve_atomic_memories
from apps.memory.recall.long_term import retrieve_relevant_memories
from apps.memory.types import ScoredMemory
from tests.memory.recall.conftest import NOW, Remember, Topic

pytestmark = pytest.mark.django_db


def retrieve(user: User, message: str, **options: Any) -> list[ScoredMemory]:
    return retrieve_relevant_memories(user=user, message=message, **{"limit": 5, "now": NOW, **options})


def values(found: list[ScoredMemory]) -> list[Any]:
    return [memory.candidate.value for memory in found]


@pytest.mark.spec("K2", "K5")
@pytest.mark.parametrize("message", ["我喜欢的颜色是什么", "您喜歡的顏色是什麼？", "你知道我喜欢什么颜色吗"])
def test_the_favourite_colour_is_found_high(user: User, remember: Remember, message: str) -> None:
    remember("你喜欢的颜色", "蓝色", category="preference")
    remember("喜欢的菜", "麻婆豆腐", category="preference")
    remember("住址", "北京")
    first, *others = retrieve(user, message)
    assert (first.candidate.value, first.keyword_score) == ("蓝色", pytest.approx(1.0))
    assert first.score == pytest.approx(0.4 + 0.2 * 1.5 + 0.15 + 0.1 * 0.5 + 0.15)
    assert values(others) == ["麻婆豆腐"]
    assert others[0].keyword_score < 0.5


@pytest.mark.spec("K2")
@pytest.mark.parametrize(
    ("key", "message"), [("您的名字", "你的名字"), ("your name", "what is my name?"), ("你", "您")]
)
def test_pronouns_match_each_other(user: User, remember: Remember, key: str, message: str) -> None:
    remember(key, "X")
    [found] = retrieve(user, message)
    assert found.keyword_score == pytest.approx(1.0)


@pytest.mark.spec("K6")
def test_a_message_about_a_preference_recalls_preferences_first_and_keeps_the_weights(
    user: User, remember: Remember
) -> None:
    remember("茶叶仓库", "三号", category="fact", access_count=0)
    remember("茶叶", "乌龙", category="preference", last_accessed=NOW - timedelta(days=300))
    assert values(retrieve(user, "茶叶在哪", candidate_limit=1)) == ["三号"]
    [found] = retrieve(user, "我喜欢的茶叶", candidate_limit=1)
    assert found.candidate.value == "乌龙"
    assert found.score == pytest.approx(
        0.4 * found.keyword_score + 0.2 * 1.5 + 0.15 * 2 ** (-300 / 7) + 0.1 * 0.5 + 0.15 * 1.0
    )


@pytest.mark.spec("K7")
def test_the_topic_joins_the_query_and_lifts_what_shares_it(user: User, remember: Remember) -> None:
    remember("旅行计划", "京都")
    remember("会议计划", "周一")
    first, second = retrieve(user, "计划是什么", working_memory=Topic("旅行"))
    assert [(m.candidate.value, m.topic_boost) for m in (first, second)] == [("京都", 1.3), ("周一", 1.0)]
    [by_topic] = retrieve(user, "继续", working_memory=Topic("旅行"))
    assert by_topic.candidate.value == "京都"


@pytest.mark.spec("K8")
def test_the_best_n(user: User, remember: Remember) -> None:
    for number in range(8):
        remember(f"咖啡 {number}", number, confidence=number / 10)
    assert values(retrieve(user, "咖啡")) == [7, 6, 5, 4, 3]
    assert values(retrieve(user, "咖啡", limit=2)) == [7, 6]


@pytest.mark.spec("K8")
@pytest.mark.parametrize("message", ["你好", "量子纠缠是什么", "", "!!!", "What's up?", "😀"])
def test_no_match_is_an_empty_list(user: User, remember: Remember, message: str) -> None:
    remember("你喜欢的颜色", "蓝色")
    remember("favorite color", "blue")
    assert retrieve(user, message) == []


@pytest.mark.spec("K1")
def test_the_number_of_keywords_is_bounded(user: User, remember: Remember) -> None:
    remember("咖啡", "拿铁")
    assert values(retrieve(user, "咖啡 咖啡 颜色", max_keywords=1)) == ["拿铁"]
    assert retrieve(user, "咖啡 颜色 颜色", max_keywords=1) == []


SOUGHT = [
    ("🐱", "我养了一只🐱叫咪咪"),
    ("咪", "我养了一只🐱叫咪咪"),
    ("咪？", "我养的猫是小咪"),
    ("养", "我养了一只🐱叫咪咪"),
    ("👍", "They said 👍🏽 to it"),
    ("🇫🇷", "She has a 🇫🇷 passport"),
    ("cafe", "We met in the café"),
    ("café", "We met in the cafe"),
    ("cafe", f"We met in the {unicodedata.normalize('NFD', 'café')}"),
    ("jose", "Su nombre es José"),
    ("1605", "The part is ASR1605"),
    ("2077", "在玩Cyberpunk2077"),
    ("ＡＳＲ1605", "The part is asr1605"),
    ("パナソニック", "ﾊﾟﾅｿﾆｯｸのテレビ"),
]


@pytest.mark.spec("A4")
@pytest.mark.parametrize(("query", "text"), SOUGHT)
def test_an_atomic_memory_is_found(user: User, query: str, text: str) -> None:
    for content in (text, "用户在学钢琴。", "The user plays tennis on 16 May."):
        create_atomic_memory(user=user, content=content, now=NOW)
    assert [memory.content for memory in ATOMIC.search(ATOMIC.rows(user), query)] == [text]
    found = retrieve_atomic_memories(user=user, query=query, limit=5, query_embedding=None)
    assert [memory.candidate.content for memory in found][:1] == [text]


@pytest.mark.long
@pytest.mark.spec("K1", "K3", "M1")
@pytest.mark.parametrize(("query", "text"), SOUGHT)
def test_an_entry_is_found(user: User, query: str, text: str) -> None:
    for key, value in (("note", text), ("hobby", "钢琴"), ("sport", "tennis on 16 May")):
        create_memory(user=user, category="fact", key=key, value=value, now=NOW)
    assert [memory.value for memory in LONG_TERM.search(LONG_TERM.rows(user), query)] == [text]
    found = retrieve_relevant_memories(user=user, message=query, limit=5)
    assert [memory.candidate.value for memory in found] == [text]


@pytest.mark.spec("A4")
def test_one_character_is_found_wherever_it_is(user: User) -> None:
    for content in ("咪是猫", "小咪很乖", "它叫咪咪", "The cat"):
        create_atomic_memory(user=user, content=content, now=NOW)
    found = retrieve_atomic_memories(user=user, query="咪", limit=5, query_embedding=None)
    assert {memory.candidate.content for memory in found} == {"咪是猫", "小咪很乖", "它叫咪咪"}
    assert ATOMIC.search(ATOMIC.rows(user), "咪").count() == 3
