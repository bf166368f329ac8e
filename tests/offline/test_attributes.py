"""Entries by name: their values are the person's words, their keys in the person's language."""

from __future__ import annotations

from typing import Any

import pytest

from apps.offline.extraction import list_entries

ENTRIES = [
    ("My name is Anna Kowalski.", {"name": "Anna Kowalski"}),
    ("I live in York.", {"home": "York"}),
    ("i live in york", {"home": "york"}),
    ("I moved to Porto last week.", {"home": "Porto"}),
    ("I'm from Senegal.", {"hometown": "Senegal"}),
    ("I work as a structural engineer.", {"job": "structural engineer"}),
    ("I'm a nurse.", {"job": "nurse"}),
    ("I work for Siemens now.", {"employer": "Siemens"}),
    ("My phone number is 07700 900123.", {"phone number": "07700 900123"}),
    ("I'm 34 years old.", {"age": "34"}),
    ("My birthday is on 3 May.", {"birthday": "3 May"}),
    ("My wife is called Hanna.", {"wife’s name": "Hanna"}),
    ("I weigh 70 kg.", {"weight": "70 kg"}),
    ("My favourite colour is blue.", {"favorite color": "blue"}),
    ("I'm allergic to nuts and shellfish.", {"allergies": ["nuts", "shellfish"]}),
    ("I like hiking, chess and jazz.", {"likes": ["hiking", "chess", "jazz"]}),
    ("I hate mushrooms.", {"dislikes": ["mushrooms"]}),
    ("We have a dog called Pepper.", {"pets": ["dog called Pepper"]}),
    ("我叫欧阳楠。", {"名字": "欧阳楠"}),
    ("我上周搬到大连了。", {"居住地": "大连"}),
    ("我是一名护士。", {"工作": "护士"}),
    ("我在腾讯上班。", {"工作单位": "腾讯"}),
    ("我今年35岁。", {"年龄": "35"}),
    ("我的手机号是13800138000。", {"电话": "13800138000"}),
    ("我女朋友叫小雨。", {"女朋友的名字": "小雨"}),
    ("我最喜欢的颜色是蓝色。", {"喜欢的颜色": "蓝色"}),
    ("我对虾和花生过敏。", {"过敏": ["虾", "花生"]}),
    ("我喜欢爬山和看书。", {"喜欢的事物": ["爬山", "看书"]}),
]

NO_ENTRIES = [
    "Where do I live?",
    "I used to live in Leeds.",
    "My sister lives in York.",
    "Maybe I'll move to York.",
    "If I lived in York, I would cycle.",
    "My wife is pregnant.",
    "I'm a morning person.",
    "I'm a big fan of Queen.",
    "I work at night.",
    "I love it!",
    "I like how you put that.",
    "I live in a small flat.",
    "你住在上海吗？",
    "我妹妹住在上海。",
    "我妈妈住在苏州，今年六十八了",
    "小王住在苏州，今年三十",
    "我以前住在上海。",
    "我在学习。",
    "我喜欢你。",
    "我在家工作。",
    "我是认真的。",
]


@pytest.mark.spec("L2")
@pytest.mark.parametrize(("said", "expected"), ENTRIES)
def test_attributes_stated_plainly_become_entries(said: str, expected: dict[str, Any]) -> None:
    assert {entry["key"]: entry["value"] for entry in list_entries(said, [])} == expected


@pytest.mark.parametrize("said", NO_ENTRIES)
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
    assert [entry["mode"] for entry in list_entries("I like tea. I no longer like coffee.", [])] == ["add", "remove"]
    assert [entry["mode"] for entry in list_entries("我喜欢茶。我不再喜欢咖啡了。", [])] == ["add", "remove"]
