"""What can be stored of a text or a JSON value and how it reads; folding, the identity of keys, same values."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
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
from apps.core.text.fold import fold, normalize_key, normalize_value


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


@pytest.mark.spec("K3")
@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("你喜歡的顏色", "你喜欢的颜色"),
        ("臺灣 頭髮 乾淨", "台湾 头发 干净"),
        ("著名的乾隆", "著名的乾隆"),
        ("ＰＹＴＨＯＮ　１２", "python 12"),
        ("Straße ÉCOLE", "strasse école"),
        ("a\x00b\ud800c", "abc"),
        ("中\ud800文", "中文"),
        ("", ""),
    ],
)
def test_fold(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(st.text(max_size=40).filter(lambda text: "薴" not in text))
def test_fold_is_idempotent(text: str) -> None:
    # OpenCC itself takes two steps for one single character, 薴 → 苧 → 苎.
    assert fold(fold(text)) == fold(text)


def test_fold_in_many_threads() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(fold, ["你喜歡寫代碼，頭髮很長。" * 50] * 200)) == {"你喜欢写代码,头发很长。" * 50}


@pytest.mark.spec("L3")
@pytest.mark.parametrize(
    "same",
    [
        ["喜欢的颜色", "你喜欢的颜色", "我喜欢的颜色", "您喜歡的顏色", "我 喜欢的 颜色！", "「喜欢的颜色」"],
        ["favorite color", "my favorite_color", "Your Favorite Color", "favorite-color:", "FAVORITE  COLOR"],
        ["猫的名字", "我的猫的名字", "你的猫的名字"],
        ["家的地址", "我家的地址", "你家的地址"],
        ["我", "我"],
    ],
)
def test_keys_that_are_one(same: list[str]) -> None:
    assert {normalize_key(key) for key in same} == {normalize_key(same[0])}


@pytest.mark.spec("L3")
@pytest.mark.parametrize(
    "different",
    [
        ["C", "C++", "C#", "C语言"],
        ["我们的名字", "名字", "你们的名字"],
        ["自我介绍", "介绍"],
        ["喜欢的颜色", "喜欢的电影", "颜色"],
        ["version 1.5", "version 15"],
        ["home", "phone"],
    ],
)
def test_keys_that_differ(different: list[str]) -> None:
    assert len({normalize_key(key) for key in different}) == len(different)


@pytest.mark.spec("L3")
@pytest.mark.parametrize("key", ["我", "你的", "my", "!!!", "___", "的", "😀", "I"])
def test_a_key_is_never_empty(key: str) -> None:
    assert normalize_key(key) != ""


@pytest.mark.spec("L3")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("蓝色", "藍色。"),
        ("Blue", " blue! "),
        ("你的猫", "我的猫"),
        ("full-time", "full time"),
        (3, 3.0),
        (3, "3"),
        ("1,000", 1000),
        ("2024-05-01", "2024/05/01"),
        (["虾", "花生"], ["花生", "蝦"]),
        (["虾", "虾"], ["虾"]),
        (["虾"], "虾"),
        ({"城市": "北京", "n": 1}, {"n": 1.0, "城市": "北京。"}),
        ([{"a": 1}, {"b": 2}], [{"b": 2}, {"a": 1}]),
        (True, True),
    ],
)
def test_values_that_are_the_same(one: object, other: object) -> None:
    assert normalize_value(one) == normalize_value(other)


@pytest.mark.spec("L3")
@pytest.mark.parametrize(
    "different",
    [
        ["C", "C++", "C#"],
        ["1.5", "15", 1.6, "1/5"],
        ["-5", "5", "零下5度"],
        ["温度-5", "温度5"],
        ["10%", "10", "10$", "10€"],
        ["li.lei@example.org", "lilei@example.org", "li.lei@example.com"],
        ["3+5", "3-5", "35"],
        ["👍", "👎"],
        ["北京", "上海", ["北京", "上海"]],
        [None, [], {}, False, True, 0],
        [{"a": 1}, {"a": 2}, {"b": 1}],
        [["a", ["b"]], {"a": "b"}, "a b c"],
    ],
)
def test_values_that_differ(different: list[object]) -> None:
    assert len({normalize_value(value) for value in different}) == len(different)
