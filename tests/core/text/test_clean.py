"""What can be stored of a text or a JSON value, how long it is, and how it reads."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.text.clean import (
    MAX_DEPTH,
    clean_json,
    clean_text,
    estimate_tokens,
    find_forbidden,
    json_text,
    normalize_line_ends,
    readable_text,
)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [("你好\x00世界", "你好世界"), ("a\ud83db", "ab"), ("\udc00\x00", ""), ("emoji 😀 stays\n", "emoji 😀 stays\n")],
)
def test_clean_text_drops_only_what_cannot_be_stored(text: str, cleaned: str) -> None:
    assert clean_text(text) == cleaned


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("你好 😀", None),
        ("a\x00b", "U+0000"),
        ("a\ud83d", "U+D83D"),
        ({"tags": ["ok", "no", "\x00"]}, "U+0000 at tags[2]"),
        ({"a": {"b\udfff": 1}}, "U+DFFF in a key at a"),
        ({"a": [1.5, math.inf]}, "a number that is not finite at a[1]"),
        ([True, None, 3, {"a": "b"}], None),
    ],
)
def test_find_forbidden_names_what_and_where(value: object, found: str | None) -> None:
    assert find_forbidden(value) == found


def nest(levels: int) -> object:
    value: object = "x"
    for _ in range(levels):
        value = [value]
    return value


def test_nesting_is_bounded() -> None:
    assert find_forbidden(nest(MAX_DEPTH)) is None
    assert find_forbidden(nest(MAX_DEPTH + 1)) == f"nesting deeper than {MAX_DEPTH} levels"
    assert find_forbidden(nest(100_000)) == f"nesting deeper than {MAX_DEPTH} levels"
    assert clean_json(nest(MAX_DEPTH)) == nest(MAX_DEPTH)
    with pytest.raises(ValueError, match="nested deeper than 64 levels"):
        clean_json(nest(MAX_DEPTH + 1))


def test_every_line_end_becomes_the_same_one() -> None:
    assert normalize_line_ends("一\r\n二\r三\n\r\n四") == "一\n二\n三\n\n四"


def test_clean_json_cleans_strings_keys_and_numbers_and_leaves_the_rest() -> None:
    value = {"k\x00": ["a\ud800", 1, True, None], "n": math.nan, "f": 1.5}
    assert clean_json(value) == {"k": ["a", 1, True, None], "n": None, "f": 1.5}
    assert value["k\x00"] == ["a\ud800", 1, True, None]


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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("tea", "tea"),
        (3, "3"),
        (4.5, "4.5"),
        (True, "true"),
        ([], ""),
        (["tea"], "tea"),
        (["tea", "jam", 3], "tea, jam, 3"),
        (["茶", "咖啡"], "茶、咖啡"),
        (["Paris, France", "Rome"], "Paris, France; Rome"),
        ({"city": "Leeds", "since": 2020}, "city: Leeds; since: 2020"),
        ({"城市": "北京", "since": 2020}, "城市：北京；since: 2020"),
        ({"trip": ["Rome", {"when": "May"}]}, "trip: (Rome, (when: May))"),
    ],
)
def test_a_value_reads_as_people_write_it(value: Any, text: str) -> None:
    assert readable_text(value) == text
