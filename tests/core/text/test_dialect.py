"""Cantonese is read in Mandarin words, and nothing else is touched."""

from __future__ import annotations

import pytest

from apps.core.text.dialect import spell_mandarin
from apps.core.text.fold import fold


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我喺屋企", "我在家里"),
        ("而家喺深水埗做嘢", "现在在深水埗做事"),
        ("我唔食牛肉喇", "我不食牛肉了"),
        ("佢係我細佬", "他是我弟弟"),
        ("我鍾意睇戲", "我喜欢看戲"),
        ("我轉咗工", "我换了工"),
        ("我其实系护士", "我其实是护士"),
        ("我唔再养猫", "我不再养猫"),
        ("唔該晒", "谢谢晒"),
        ("我地成日一齊返工", "我地经常一起上班"),
    ],
)
def test_cantonese_is_spelled_in_mandarin(text: str, expected: str) -> None:
    assert spell_mandarin(text) == expected
    assert spell_mandarin(fold(text)) == fold(expected)


@pytest.mark.parametrize(
    "text", ["汽车喇叭响个不停", "唔，我想想", "我中意这个方案", "这个系统的关系", "I live in Rome", "喇嘛", ""]
)
def test_everything_else_stays(text: str) -> None:
    assert spell_mandarin(text) == text
