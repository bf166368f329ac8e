"""Pronouns become one neutral form; words that only contain their characters do not."""

from __future__ import annotations

import pytest

from apps.core.text.keywords import match_words
from apps.core.text.segment import NEUTRAL, drop_pronouns


@pytest.mark.spec("K2")
@pytest.mark.parametrize(
    "same",
    [
        ["你喜欢的颜色", "我喜欢的颜色", "您喜歡的顏色"],
        ["你的名字", "我的名字", "您的名字"],
        ["my dog", "your dog", "MY dog", "Your dog's"],
        ["I like you", "you like me", "I like my"],
        ["我家", "你家"],
        ["谢谢您", "谢谢你"],
        ["you", "您", "i", "Mine"],
    ],
)
def test_pronouns_make_no_difference(same: list[str]) -> None:
    assert {tuple(match_words(text)) for text in same} == {tuple(match_words(same[0]))}
    assert NEUTRAL in match_words(same[0])


@pytest.mark.spec("K2")
@pytest.mark.parametrize("text", ["我们", "你们", "自我介绍", "迷你裙", "忘我", "你好", "ice", "mystery"])
def test_words_that_only_contain_a_pronoun_stay(text: str) -> None:
    assert match_words(text) == [text]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("我的猫和你的狗", "猫和狗"),
        ("我喜欢的颜色", "喜欢的颜色"),
        ("告诉你我的名字", "告诉名字"),
        ("my cat, your dog", " cat,  dog"),
        ("我们的家", "我们的家"),
        ("你好", "你好"),
    ],
)
def test_drop_pronouns(text: str, left: str) -> None:
    assert drop_pronouns(text) == left
