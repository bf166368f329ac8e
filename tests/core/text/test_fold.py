"""Folding, the identity of keys and the sameness of values."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.text.fold import fold, normalize_key, normalize_value


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
