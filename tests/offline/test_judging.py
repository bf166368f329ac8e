"""What a statement ends, and what it leaves beside it: 0 unrelated memories end."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from apps.offline.extraction import find_ended
from apps.offline.sentences import make_sentence
from apps.offline.statements import list_statements

JUDGED = Path(__file__).parents[1] / "judged"

# Thirty memories that nothing below ends.
BACKGROUND = [
    "My grandmother's birthday is on 3 May.",
    "I weigh myself every morning.",
    "My bank is in the high street.",
    "My sister lives in Leeds.",
    "I have a parking spot behind the office.",
    "Our neighbour is getting married in June.",
    "My dog weighs 20 kg.",
    "My work phone is 020 7946 0000.",
    "I lived in Leeds for three years.",
    "My brother works at Siemens.",
    "I like green tea.",
    "I am allergic to nuts.",
    "My son is 12 years old.",
    "I'd like to live in Lisbon one day.",
    "My favourite book as a child was Momo.",
    "My friend Anna is a nurse.",
    "I go to Leeds every Friday.",
    "My passport expires on 3 March 2027.",
    "pets: Rex (dog)",
    "likes: hiking",
    "sister’s home: Leeds",
    "我妹妹住在上海。",
    "我奶奶的生日是5月3日。",
    "我去过北京。",
    "我同事叫小张。",
    "我儿子今年十二岁。",
    "我每天量体重。",
    "我有一个工作电话。",
    "我喜欢喝绿茶。",
    "过敏: 花生",
]

ENDED = [
    ("I moved to York last week.", ["I live in Leeds.", "home: Leeds", "The user lives in Leeds."]),
    ("I moved to Porto in March with my dog.", ["I live in Leeds."]),
    ("I live in York now.", ["I've lived in Leeds since 2019."]),
    ("I live in York.", ["居住地: Leeds"]),
    ("Actually, my name is Sara.", ["My name is Sarah."]),
    ("I work for Bosch now.", ["I work at Siemens.", "employer: Siemens"]),
    ("I started working as a teacher.", ["I work as a nurse.", "I'm a nurse."]),
    ("My new phone number is 07700 900999.", ["My phone number is 07700 900123."]),
    ("I'm 35.", ["I'm 34 years old.", "age: 34"]),
    ("My girlfriend is called Mia.", ["My girlfriend's name is Lea."]),
    ("I weigh 68 kg now.", ["I weigh 72 kg."]),
    ("My favourite colour is green.", ["My favorite color is blue.", "favorite color: blue"]),
    ("I no longer eat meat.", ["I eat meat."]),
    ("I no longer work at Siemens.", ["I work at Siemens.", "employer: Siemens", "The user works for Siemens."]),
    ("I don't live in Leeds any more.", ["home: Leeds", "I live in Leeds."]),
    ("I left Siemens.", ["employer: Siemens"]),
    ("I'm no longer allergic to bees.", ["allergies: bees"]),
    ("我不在腾讯上班了。", ["我在腾讯工作。", "工作单位: 腾讯"]),
    ("I don't have a car any more.", ["I have a car."]),
    ("I stopped playing tennis.", ["I play tennis."]),
    ("我搬到杭州了。", ["我住在上海。", "居住地: 上海", "用户住在上海。"]),
    ("我换工作了，现在在阿里上班。", ["我在腾讯工作。"]),
    ("我今年36岁了。", ["我今年35岁。"]),
    ("我的手机号换成13900139000了。", ["我的手机号是13800138000。"]),
    ("我最喜欢的颜色是绿色。", ["我最喜欢的颜色是蓝色。"]),
    ("我不喝咖啡了。", ["我喝咖啡。"]),
    ("我没有车了。", ["我有车。"]),
]

LEFT = [
    ("I no longer work at Siemens.", ["employer: Bosch", "My brother works at Siemens."]),
    ("I'm no longer allergic to bees.", ["allergies: nuts, bees"]),
    ("Hi, I'm Mel.", ["My name is Melanie.", "name: Melanie"]),
    ("My previous number was 555-0101.", ["My phone number is 07700 900123."]),
    ("I live in York.", ["我住在约克。", "居住地: 北京"]),
    ("My birthday is on 14 November.", ["我的生日是11月14号。", "My birthday is on 14 November 1990."]),
    ("I moved to York in March.", ["I live in Aberdeen with my two sons."]),
    ("I live in York in the summer.", ["I live in Leeds."]),
    ("我在一家小博物馆上班。", ["我在院子里养了四只鸡。", "我在业余乐团拉大提琴。"]),
    ("I work as a nurse.", ["I'm a runner.", "I'm a vegetarian.", "I'm a mother.", "我是色盲。"]),
    ("I live in Berlin.", ["I live in Germany.", "My parents live in Leeds.", "I live in Berlin, Mitte."]),
    ("I live in Germany.", ["I live in Berlin."]),
    ("I'm visiting York next week.", ["I live in Leeds."]),
    ("I'm moving to York next year.", ["I live in Leeds."]),
    ("My sister moved to York.", ["I live in Leeds.", "My sister has two cats."]),
    ("If I moved to York, I would miss Leeds.", ["I live in Leeds."]),
    ("I moved to York.", ["I live in Leeds and have two cats."]),
    ("I moved to Leeds in 2015.", ["I live in York."]),
    ("I like tea.", ["I like coffee.", "My favourite drink is coffee."]),
    ("I'm allergic to bees.", ["I'm allergic to nuts.", "allergies: nuts"]),
    ("I have a dog.", ["I have a cat.", "pets: Luna (cat)"]),
    ("I'm a painter.", ["I work as a nurse."]),
    ("My favourite food is ramen.", ["My favourite colour is blue.", "My favourite food in summer is gazpacho."]),
    ("My work phone is 020 7946 1111.", ["My phone number is 07700 900123."]),
    ("I don't drink coffee today.", ["I drink coffee."]),
    ("I don't like coffee in the evening.", ["I like coffee."]),
    ("My son doesn't eat meat.", ["I eat meat."]),
    ("My wife is called Hanna.", ["My girlfriend is called Mia.", "My dog is called Rex."]),
    ("我住在浦东新区。", ["我住在上海。"]),
    ("我妈妈搬到杭州了。", ["我住在上海。", "我妈妈喜欢跳舞。"]),
    ("我下个月要去杭州出差。", ["我住在上海。"]),
    ("我喜欢茶。", ["我喜欢咖啡。"]),
    ("我今天不喝咖啡。", ["我喝咖啡。"]),
    ("我也会说日语。", ["我会说英语。"]),
]


def end(said: str, texts: list[str]) -> list[str]:
    known = dict(enumerate([*texts, *BACKGROUND], start=1))
    return [known[number] for number in find_ended(make_sentence(said), known)]


@pytest.mark.spec("A3")
@pytest.mark.parametrize(("said", "texts"), ENDED)
def test_another_value_or_a_denial_ends_what_it_says_and_nothing_else(said: str, texts: list[str]) -> None:
    assert end(said, texts) == texts


@pytest.mark.spec("A3")
@pytest.mark.parametrize(("said", "texts"), LEFT)
def test_everything_else_stays_beside_it(said: str, texts: list[str]) -> None:
    assert end(said, texts) == []


def test_no_memory_of_a_life_ends_another() -> None:
    assert len(BACKGROUND) == 30
    assert [end(said, []) for said in BACKGROUND] == [[]] * 30


@pytest.mark.spec("A3")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_in_annotated_conversations_only_what_they_end_ends(language: str) -> None:
    """Talk of which a capable model's verdicts are known (tests/judged), among memories of other things."""
    background = tomllib.loads((JUDGED / "background.toml").read_text("utf-8"))[language]["atomic"]
    cases = tomllib.loads((JUDGED / "conversations" / f"{language}.toml").read_text("utf-8"))["case"]
    wrong = []
    for case in cases:
        shown = [text.lstrip("!@") for text in case.get("known", ())]
        known = dict(enumerate([*shown, *background]))
        changed = [
            *(one for row in case.get("memories", ()) for one in (*row.get("ends", ()), *row.get("refines", ())))
        ]
        changed += [one for row in case.get("changes", ()) for one in row["on"]]
        right = {text.lstrip("!@") for text in changed}
        said = [case["said"]] if isinstance(case["said"], str) else case["said"]
        for sentence in (sentence for message in said for sentence in list_statements(message)):
            wrong += [
                (sentence.text, known[number]) for number in find_ended(sentence, known) if known[number] not in right
            ]
    assert len(cases) >= 60
    assert wrong == []
