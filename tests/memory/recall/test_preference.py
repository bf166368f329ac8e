"""Cues of a preference (K6). No database."""

from __future__ import annotations

import pytest

from apps.memory.recall.long_term import concerns_preference


@pytest.mark.spec("K6")
@pytest.mark.parametrize(
    "message",
    [
        "我喜欢的颜色是什么",
        "我不喜歡香菜",
        "你知道我爱吃什么吗",
        "我宁愿走路",
        "我的口味偏辣",
        "What's my favourite movie?",
        "I preferred tea",
        "do I like dogs",
        "She dislikes it, I love it",
        "my preferences please",
    ],
)
def test_a_preference(message: str) -> None:
    assert concerns_preference(message)


@pytest.mark.spec("K6")
@pytest.mark.parametrize(
    "message", ["我住在北京", "明天有会议", "My dog is called Rex", "unlikely gloves", "Where do I work?", ""]
)
def test_no_preference(message: str) -> None:
    assert not concerns_preference(message)


def test_chinese_next_to_english_hides_nothing() -> None:
    assert concerns_preference("我prefer茶")
