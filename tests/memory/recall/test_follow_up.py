"""Which messages are searched for with what was said before them (K7)."""

from __future__ import annotations

import pytest

from apps.memory.recall.query import LINE_CHARACTERS, find_earlier, weigh_earlier

SAID = ["older", "我之前提过杭州哪些面馆来着", "你说过奎元馆的虾爆鳝面不错。", "嗯", "还有一家在河坊街。"]


@pytest.mark.spec("K7")
@pytest.mark.parametrize(
    "message", ["再找找其他的", "那她呢？", "what about the other one?", "为什么？", "how much was it?"]
)
def test_a_follow_up_needs_the_two_rounds_before_it(message: str) -> None:
    assert find_earlier(message, SAID) == "\n".join(SAID[1:])
    assert find_earlier(message, []) == ""


@pytest.mark.spec("K7")
@pytest.mark.parametrize(
    "message", ["对了，我妹妹的婚礼定在哪个酒店？", "By the way, which dentist did my sister recommend last year?"]
)
def test_a_message_that_speaks_for_itself_needs_nothing(message: str) -> None:
    assert find_earlier(message, SAID) == ""


def test_long_lines_are_cut_and_lines_stay_lines() -> None:
    lines = find_earlier("why?", ["a\nb", "x " * 1_000, "  "]).split("\n")
    assert lines[0] == "a b"
    assert len(lines) == 2
    assert len(lines[1]) == LINE_CHARACTERS


def test_each_keyword_of_its_own_makes_it_count_less() -> None:
    assert weigh_earlier("") == 1.0
    assert weigh_earlier("hotel") == 0.8
    assert weigh_earlier("hotel price") == pytest.approx(0.64)
