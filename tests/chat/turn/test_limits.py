"""Where a reply ends because its client said so: pure."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.chat.turn.clients import ReplyLimit
from apps.core.text.clean import estimate_tokens


def run(pieces: list[str], limit: ReplyLimit) -> str:
    return "".join([*(limit.feed(piece) for piece in pieces), limit.close()])


@pytest.mark.parametrize(
    ("pieces", "stop", "expected"),
    [
        (["one STOP two"], ["STOP"], "one "),
        (["one ST", "OP two"], ["STOP"], "one "),
        (["one ST", "AY"], ["STOP"], "one STAY"),
        (["one ST"], ["STOP"], "one ST"),
        (["a\n\nb"], ["", "\n\n"], "a"),
        (["a b c"], ["c", "b"], "a "),
        (["aaab"], ["aab"], "a"),
        (["你好。再见。"], ["再"], "你好。"),
    ],
)
def test_a_stop_sequence_ends_the_reply(pieces: list[str], stop: list[str], expected: str):
    limit = ReplyLimit(stop=stop)
    assert run(pieces, limit) == expected
    assert limit.finish_reason == "stop"


def test_a_number_of_tokens_ends_the_reply():
    limit = ReplyLimit(max_tokens=3)
    assert run(["你好", "世界！", "more"], limit) == "你好世"
    assert (limit.finish_reason, limit.ended) == ("length", True)
    short = ReplyLimit(max_tokens=3)
    assert (run(["你好"], short), short.finish_reason) == ("你好", "stop")


@pytest.mark.long
@given(text=st.text(max_size=60), cuts=st.sets(st.integers(0, 60), max_size=6), tokens=st.integers(1, 20))
def test_where_the_text_was_split_makes_no_difference(text: str, cuts: set[int], tokens: int):
    ends = [0, *sorted(cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(ends)]
    limits = {"stop": ["ab", "\n"], "max_tokens": tokens}
    whole, split = ReplyLimit(**limits), ReplyLimit(**limits)
    assert run([text], whole) == run(pieces, split)
    assert whole.finish_reason == split.finish_reason
    assert estimate_tokens(run([text], ReplyLimit(**limits))) <= tokens
