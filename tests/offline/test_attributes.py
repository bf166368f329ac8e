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
    ("I work at Siemens in Munich.", {"employer": "Siemens"}),
    ("I work as a nurse at St James.", {"job": "nurse"}),
    ("Just started as a paramedic in Bristol last week!", {"job": "paramedic"}),
    ("Working as a barista at the moment.", {"job": "barista"}),
    ("Moved to Leeds last month.", {"home": "Leeds"}),
    ("Based in Lyon these days.", {"home": "Lyon"}),
    ("Allergic to shellfish, by the way.", {"allergies": ["shellfish"]}),
    ("I took up pottery in May.", {"likes": ["pottery"]}),
    ("I'm really into bouldering.", {"likes": ["bouldering"]}),
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
    ("我老家宜昌的,考大学才来的武汉", {"老家": "宜昌"}),
    ("我现在在医院当护士", {"工作": "护士"}),
    ("在杭州做程序员三年了", {"工作": "程序员"}),
    ("上个月入职了，在一家做锂电池的公司当采购", {"工作": "采购"}),
    ("最近迷上了钓鱼，每个周末都去水库", {"喜欢的事物": ["钓鱼"]}),
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
    "I work at night in winter.",
    "I work for a bank in Leeds.",
    "Started as a joke, now it's a habit.",
    "Working at home today.",
    "Moved to a bigger flat.",
    "Tamika, my best friend since school, moved to Atlanta.",
    "I'm into my third year.",
    "我老家挺冷的",
    "他在医院当护士",
    "我妈在学校当老师",
    "我在公司当牛做马",
    "我在家做饭",
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
    # What was
    "My previous number was 555-0101.",
    "My previous number is 555-0101.",
    "My old phone number is 555-0101.",
    "My former employer is Siemens.",
    "I used to live in Cork.",
    "我以前的手机号是13800138000。",
    "我原来在腾讯上班。",
    "我之前住在上海。",
]


@pytest.mark.spec("L2")
@pytest.mark.parametrize(("said", "expected"), ENTRIES)
def test_attributes_stated_plainly_become_entries(said: str, expected: dict[str, Any]) -> None:
    kept = [entry for entry in list_entries(said, []) if entry["mode"] != "remove"]
    assert {entry["key"]: entry["value"] for entry in kept} == expected


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


INTRODUCTIONS = [
    ("Hi, I'm Mel", "Mel"),
    ("Hi, I'm Mel. My sister Anna is a vet in Hamburg.", "Mel"),
    ("call me Bo, everyone does", "Bo"),
    ("You can call me Max.", "Max"),
    ("Please call me Dr. Chen.", "Dr. Chen"),
    ("My name's Ana Souza", "Ana Souza"),
    ("I'm Tom, nice to meet you!", "Tom"),
    ("Hey there! I'm Sofia, a nurse from Porto.", "Sofia"),
    ("hiya, Karen here, from Swansea", "Karen"),
    ("Everyone calls me Liz these days.", "Liz"),
    ("I go by Sam.", "Sam"),
    ("It's Nina here.", "Nina"),
    ("你好，我是林晓雯，在杭州做设计", "林晓雯"),
    ("叫我阿杰就行", "阿杰"),
    ("你可以叫我老王。", "老王"),
    ("我姓陈，叫陈思远。", "陈思远"),
    ("你好呀，我叫Lily", "Lily"),
    ("我是Kevin", "Kevin"),
]
NO_INTRODUCTIONS = [
    "I'm tired.",
    "I'm back",
    "I'm Irish.",
    "I'm learning British Sign Language.",
    "Call me tomorrow.",
    "call me crazy",
    "Same here",
    "My sister is called Anna.",
    "我是认真的",
    "我是老师",
    "我是高中生",
    "我是单身",
    "我养了只猫，叫咪咪",
    "我以前叫李雷",
]


@pytest.mark.spec("L2")
@pytest.mark.parametrize(("said", "name"), INTRODUCTIONS)
def test_who_says_their_name_is_known_by_it(said: str, name: str) -> None:
    assert [entry["value"] for entry in list_entries(said, ()) if entry["key"] in ("name", "名字")] == [name]


@pytest.mark.parametrize("said", NO_INTRODUCTIONS)
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
