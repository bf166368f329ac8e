"""The estimate of model tokens, and JSON values as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.text.clean import estimate_tokens, json_text


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("four", 1), ("fives", 2), ("你好世界", 4), ("用 Python 写", 4), ("😀", 2), ("\ud800", 1)],
)
def test_estimate(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(max_size=50), st.text(max_size=50))
def test_estimate_is_monotone_and_subadditive(one: str, other: str) -> None:
    assert max(estimate_tokens(one), estimate_tokens(other)) <= estimate_tokens(one + other)
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("蓝色", "蓝色"),
        (["虾", "花生"], "虾 花生"),
        ({"城市": ["北京", {"区": "海淀"}], "n": 3.0}, "城市 北京 区 海淀 n 3"),
        (1.5, "1.5"),
        (None, ""),
        ([True, "x", None], "x"),
    ],
)
def test_json_text(value: object, text: str) -> None:
    assert json_text(value) == text


def test_json_text_of_any_depth() -> None:
    value: object = "x"
    for _ in range(100_000):
        value = [value]
    assert json_text(value) == "x"
