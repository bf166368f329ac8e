"""Texts as people type and compare them: values, tags, differences, and where words of a search are."""

from __future__ import annotations

import json
import random
import time
from itertools import pairwise
from typing import Any

import pytest
from django.template import Context, Template
from hypothesis import given
from hypothesis import strategies as st

from apps.panel.texts import (
    NotJson,
    list_needles,
    read_tags,
    read_value,
    shorten_same,
    split_found,
    word_difference,
    write_tags,
    write_value,
)

pytestmark = pytest.mark.spec("M1", "M2", "M3")

# Values and tags: what is written is read again as the same

_TEXTS = st.one_of(
    st.text(), st.sampled_from(["42", "true", "null", '"a"', "[1]", " a ", "蓝色", "{", "a\r\nb", "NaN"])
)
_LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), _TEXTS)
_VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.dictionaries(_TEXTS, inner), max_leaves=10)


@pytest.mark.long
@given(_VALUES)
def test_what_is_written_is_read_as_the_same(value: Any) -> None:
    assert json.dumps(read_value(write_value(value))) == json.dumps(value)


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("蓝色", "蓝色"),
        (" Berlin \n", "Berlin"),
        ("42", 42),
        ("4.50", 4.5),
        ("true", True),
        ("null", None),
        ('"42"', "42"),
        ('["花生", "芒果"]', ["花生", "芒果"]),
        ("- 花生\r\n\n-  芒果 ", ["花生", "芒果"]),
        ("- tea\nand jam", "- tea\nand jam"),
        ("-5", -5),
        ('{"a": [1]}', {"a": [1]}),
        ("0123", "0123"),
        ("NaN", "NaN"),
        ("1e999", "1e999"),
        ("two\r\nlines", "two\nlines"),
        ("it says [1]", "it says [1]"),
    ],
)
def test_plain_text_stays_text_and_json_is_recognised(typed: str, value: Any) -> None:
    found = read_value(typed)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("typed", "place"),
    [('["a",', (1, 6)), ('{"a": 1,\n b}', (2, 2)), ('"open', (1, 1)), ("[NaN]", (1, 1)), ("[" * 100_000, (1, 1))],
)
def test_what_begins_like_json_and_is_none_is_refused_with_its_place(typed: str, place: tuple[int, int]) -> None:
    with pytest.raises(NotJson) as caught:
        read_value(typed)
    assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("蓝色", "蓝色"),
        ("42", '"42"'),
        (42, "42"),
        (["茶", "咖啡"], "- 茶\n- 咖啡"),
        ([1], "[\n  1\n]"),
        (["a\nb"], '[\n  "a\\nb"\n]'),
        ([], "[]"),
        (" a", '" a"'),
    ],
)
def test_texts_have_quotes_only_where_they_need_them(value: Any, written: str) -> None:
    assert write_value(value) == written


@pytest.mark.parametrize(
    ("typed", "tags"),
    [
        ("pets, cats", ["pets", "cats"]),
        ("宠物，猫、狗；鸟", ["宠物", "猫", "狗", "鸟"]),
        ("a;b\nc", ["a", "b", "c"]),
        (" , ，", []),
        ("cats, cats", ["cats"]),
        ("", []),
    ],
)
def test_tags_are_typed_with_marks_between_them(typed: str, tags: list[str]) -> None:
    assert read_tags(typed) == tags
    assert read_tags(write_tags(tags)) == tags


# Differences


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [
        ("", "", []),
        ("same", "same", [("same", "same")]),
        ("", "new", [("new", "new")]),
        ("old", "", [("gone", "old")]),
        ("a red car", "a blue car", [("same", "a "), ("gone", "red"), ("new", "blue"), ("same", " car")]),
        ("a red car", "a blue bus", [("same", "a "), ("gone", "red car"), ("new", "blue bus")]),
        ("blue", "blue and green", [("same", "blue"), ("new", " and green")]),
        ("我喜欢蓝色", "我喜欢绿色", [("same", "我喜欢"), ("gone", "蓝色"), ("new", "绿色")]),
        ("住在北京，养猫", "住在上海，养猫", [("same", "住在"), ("gone", "北京"), ("new", "上海"), ("same", "，养猫")]),
        ("用 Python 写", "用 Rust 写", [("same", "用 "), ("gone", "Python"), ("new", "Rust"), ("same", " 写")]),
        ("drinks tea", "drinks tea!", [("same", "drinks tea"), ("new", "!")]),
    ],
)  # fmt: skip
def test_what_changed_between_two_texts(before: str, after: str, parts: list[tuple[str, str]]) -> None:
    assert word_difference(before, after) == parts


def test_nothing_is_lost_and_neighbours_differ() -> None:
    chance = random.Random(7)
    words = ["我", "喜欢", "蓝色", "blue", "green", " ", "\n", "，", "!", "<b>", "\u202e", "😀", "3.14"]
    for _ in range(300):
        before, after = ("".join(chance.choices(words, k=chance.randrange(12))) for _side in range(2))
        parts = word_difference(before, after)
        assert "".join(text for kind, text in parts if kind != "new") == before
        assert "".join(text for kind, text in parts if kind != "gone") == after
        kinds = [kind for kind, _text in parts]
        assert all(one != other for one, other in pairwise(kinds))


@pytest.mark.long
def test_long_texts_take_no_long_time() -> None:
    before = "天气 weather " * 8_000
    started = time.process_time()
    assert word_difference(before + "红", before + "蓝")[1:] == [("gone", "红"), ("new", "蓝")]
    assert word_difference("甲 乙 " * 5_000, "丙 丁 " * 5_000)[0][0] == "gone"
    assert time.process_time() - started < 40  # 1.5 s on a quick machine


def test_what_stayed_the_same_is_cut_to_what_is_near_a_change() -> None:
    parts = word_difference("a" * 50 + " red " + "b" * 50 + " two", "a" * 50 + " blue " + "b" * 50 + " six")
    assert shorten_same(parts, keep=5) == [
        ("same", "…aaaa "), ("gone", "red"), ("new", "blue"), ("same", " bbbb…bbbb "), ("gone", "two"), ("new", "six"),
    ]  # fmt: skip
    assert shorten_same(parts, keep=60) == parts


def test_tag_shows_text_as_text() -> None:
    template = Template("{% load panel %}{% difference before after %}")
    shown = template.render(Context({"before": "likes <b>", "after": "likes <script>"}))
    assert shown == (
        '<span class="difference" dir="auto">'
        "<span>likes &lt;</span><del>b</del><ins>script</ins><span>&gt;</span></span>"
    )
    assert "<del>蓝</del>" in template.render(Context({"before": ["蓝"], "after": None}))
    assert "difference--none" in template.render(Context({"before": "a", "after": "a"}))


# Words of a search


def marked(query: str, text: str) -> list[str]:
    return [piece for found, piece in split_found(text, list_needles(query)) if found]


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("颜色", "你喜欢的颜色是蓝色", ["颜色"]),
        ("顏色", "你喜欢的颜色", ["颜色"]),
        ("颜色", "喜歡的顏色", ["顏色"]),
        ("allergy", "Allergies: peanuts", ["Allergies"]),
        ("pyth", "Python and pythons", ["Python", "pythons"]),
        ("cat", "education of a CAT", ["CAT"]),
        ("喜欢 蓝色", "喜欢蓝色", ["喜欢蓝色"]),
        ("ＡＢＣ", "abc ＡＢＣ", ["abc", "ＡＢＣ"]),
        ("weiss", "weiß und weiss", ["weiß", "weiss"]),
        ("<b>", "<b>bold</b>", ["<b>bold", "b"]),
        ("", "anything", []),
        ("nothing", "", []),
    ],
)
def test_words_are_marked_whatever_their_form(query: str, text: str, found: list[str]) -> None:
    assert marked(query, text) == found


@pytest.mark.long
@given(st.text(), st.text())
def test_the_pieces_are_the_text(query: str, text: str) -> None:
    assert "".join(piece for _found, piece in split_found(text, list_needles(query))) == text
