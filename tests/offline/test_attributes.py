"""Entries by name: their values are the person's words, their keys in the person's language."""

from __future__ import annotations

import json

import pytest

from apps.offline.extraction import list_entries
from tests.offline.prompts import read_lines, read_pairs


@pytest.mark.spec("L2")
@pytest.mark.parametrize(("said", "expected"), read_pairs("entries"))
def test_attributes_stated_plainly_become_entries(said: str, expected: str) -> None:
    kept = [entry for entry in list_entries(said, []) if entry["mode"] != "remove"]
    assert {entry["key"]: entry["value"] for entry in kept} == json.loads(expected)


@pytest.mark.parametrize("said", read_lines("no_entries"))
def test_nothing_else_does(said: str) -> None:
    assert list_entries(said, []) == []


def test_an_attribute_keeps_the_key_it_is_remembered_by() -> None:
    known = ["居住城市: 北京", "favourite color: red", "I like tea."]
    entries = list_entries("I live in York. My favourite colour is blue.", known)
    assert [(entry["key"], entry["value"], entry["mode"]) for entry in entries] == [
        ("居住城市", "York", "replace"),
        ("favourite color", "blue", "replace"),
    ]


def test_lists_grow_and_shrink_by_items() -> None:
    assert [entry["mode"] for entry in list_entries("I have a dog. I no longer have a cat.", [])] == ["add", "remove"]
    assert [entry["mode"] for entry in list_entries("我对虾过敏。我对花生不过敏了。", [])] == ["add", "remove"]


@pytest.mark.spec("L3")
@pytest.mark.parametrize(
    ("said", "changes"),
    [
        ("I like mushrooms.", [("likes", "add"), ("dislikes", "remove")]),
        ("I hate mushrooms.", [("dislikes", "add"), ("likes", "remove")]),
        ("I no longer like mushrooms.", [("likes", "remove")]),
        ("I don't hate mushrooms any more.", [("dislikes", "remove")]),
        ("我喜欢蘑菇", [("喜欢的事物", "add"), ("不喜欢的事物", "remove")]),
        ("我讨厌蘑菇", [("讨厌", "add"), ("喜欢的事物", "remove")]),
    ],
)
def test_what_is_liked_is_not_disliked_and_the_other_way_round(said: str, changes: list[tuple[str, str]]) -> None:
    known = ["讨厌: 香菜"] if "讨厌" in said else []
    entries = list_entries(said, known)
    assert [(entry["key"], entry["mode"]) for entry in entries] == changes
    assert {tuple(entry["value"]) for entry in entries} in ({("mushrooms",)}, {("蘑菇",)})


@pytest.mark.spec("L2")
@pytest.mark.parametrize(("said", "name"), read_pairs("introductions"))
def test_who_says_their_name_is_known_by_it(said: str, name: str) -> None:
    assert [entry["value"] for entry in list_entries(said, ()) if entry["key"] in ("name", "名字")] == [name]


@pytest.mark.parametrize("said", read_lines("no_introductions"))
def test_nobody_is_called_what_they_are(said: str) -> None:
    assert [entry for entry in list_entries(said, ()) if entry["key"] in ("name", "名字")] == []


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("My favourite colour is green now.", "green"),
        ("My favourite colour is now green", "green"),
        ("my favourite band is still Wilco after all these years", "Wilco"),
        ("My favourite food is ramen these days!", "ramen"),
        ("I work at Siemens now, actually.", "Siemens"),
        ("我最喜欢的颜色是绿色啦", "绿色"),
    ],
)
def test_a_value_is_clean(said: str, value: str) -> None:
    assert [entry["value"] for entry in list_entries(said, ())] == [value]


@pytest.mark.parametrize(
    ("said", "key", "value"),
    [
        ("I no longer work at Siemens.", "employer", "Siemens"),
        ("I'm no longer at Deloitte, started my own thing", "employer", "Deloitte"),
        ("I left Siemens.", "employer", "Siemens"),
        ("I don't live in Leeds any more.", "home", "Leeds"),
        ("我不在腾讯上班了", "工作单位", "腾讯"),
        ("我已经从腾讯离职了", "工作单位", "腾讯"),
        ("我不住上海了", "居住地", "上海"),
    ],
)
def test_what_has_ended_is_taken_away(said: str, key: str, value: str) -> None:
    assert [(entry["key"], entry["value"], entry["mode"]) for entry in list_entries(said, ())] == [
        (key, value, "remove")
    ]
