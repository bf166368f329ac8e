"""What changed between two texts, word by word."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest
from django.template import Context, Template

from apps.panel.texts import shorten_same, word_difference


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
def test_parts(before: str, after: str, parts: list[tuple[str, str]]) -> None:
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
