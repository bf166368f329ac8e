"""Streaming a plain answer (E6, C6)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apps.core.llm.reading import TextStream


def run(*pieces: str) -> list[str]:
    """Feed the pieces; return what came out for each, and at the end."""
    stream = TextStream()
    return [*(stream.feed(piece) for piece in pieces), stream.close()]


@pytest.mark.spec("E6", "C6")
@pytest.mark.parametrize(
    ("pieces", "out"),
    [
        (["你好", "，Mel", "!"], ["你好", "，Mel", "!", ""]),
        (["<think>嗯", "</think>\n", "\n你好", "!"], ["", "", "你好", "!", ""]),
        (["<think>never ", "closed"], ["", "", ""]),
        (["a\ud83d", "\ude00b"], ["a", "😀b", ""]),
        (["\ud83d", "\0", "\ude00"], ["", "", "😀", ""]),
        (["a\ud83d", "b\ude00", "c\0\ud83d"], ["a", "b", "c", ""]),
        (["<thi"], ["", "<thi"]),
        (['{"a": 1}'], ['{"a": 1}', ""]),
    ],
)
def test_text_goes_out_as_it_comes_without_reasoning_and_what_is_no_text(pieces: list[str], out: list[str]) -> None:
    assert run(*pieces) == out


FRAGMENTS = st.sampled_from(["<think>", "</think>", "<", "你好", " ", "\0", "\ud83d", "\ude00", "😀"])


@pytest.mark.long
@pytest.mark.spec("E6", "C6")
@settings(deadline=None)
@given(st.lists(FRAGMENTS, max_size=15).map("".join) | st.text(st.characters()), st.lists(st.integers(0, 60)))
@example("\n<think>a</think> \ud83d\0\ude00 \ude00", list(range(40)))
def test_what_comes_out_does_not_depend_on_the_split(text: str, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    out = "".join(run(*(text[start:end] for start, end in pairwise(edges))))

    assert out == "".join(run(text))
    assert "\0" not in out
    out.encode("utf-8")
