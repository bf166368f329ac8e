"""The judge of duplicates and junk, which shares no rule with those it judges."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.judging import (
    Remembered,
    Verdict,
    find_junk,
    find_near_pairs,
    find_repeats,
    judge_pair,
    says_nothing_lasting,
)


def remember(
    text: str, *, user: str = "lin", kind: str = "atomic", said: str | None = None, vector: list[float] | None = None
) -> Remembered:
    stored = None if vector is None else np.array(vector, dtype=np.float32)
    return Remembered(user=user, kind=kind, text=text, said=said, vector=stored)


def test_a_text_is_repeated_whatever_its_case_marks_and_width() -> None:
    memories = [
        remember("I live in Berlin."),
        remember("i live in BERLIN"),
        remember("我住在北京。"),
        remember("我住在北京！"),
        remember("我住在上海。"),
    ]
    assert find_repeats(memories) == ["i live in BERLIN", "我住在北京！"]


def test_the_same_text_of_another_person_or_kind_is_no_repeat() -> None:
    memories = [remember("我爱喝茶"), remember("我爱喝茶", user="wu"), remember("我爱喝茶", kind="long-term")]
    assert find_repeats(memories) == []


def test_near_pairs_are_of_one_person_and_kind_and_nearest_first() -> None:
    memories = [
        remember("I have 2 cats.", vector=[1.0, 0.0, 0.0]),
        remember("I have 3 cats.", vector=[2.0, 0.3, 0.0]),  # cosine 0.9889
        remember("My cats are two: I have 2.", vector=[0.0, 1.0, 0.1]),
        remember("I have 2 cats, really.", vector=[1.0, 0.0, 0.01]),
        remember("I have 2 cats.", user="wu", vector=[1.0, 0.0, 0.0]),
        remember("I have 2 cats.", kind="long-term", vector=[1.0, 0.0, 0.0]),
        remember("I have 2 cats."),
    ]
    found = [(pair.first, pair.second, pair.cosine, pair.verdict) for pair in find_near_pairs(memories)]
    assert found == [
        ("I have 2 cats.", "I have 2 cats, really.", 1.0, Verdict.SAME),
        ("I have 2 cats.", "I have 3 cats.", 0.9889, Verdict.DIFFERENT),
        ("I have 3 cats.", "I have 2 cats, really.", 0.9889, Verdict.DIFFERENT),
    ]


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ("I really like green tea.", "I like the green tea", Verdict.SAME),
        ("我很喜欢绿茶", "你喜欢绿茶。", Verdict.SAME),
        ("My dog is called Max.", "My dog is called Rex.", Verdict.DIFFERENT),
        ("I like coffee.", "I do not like coffee.", Verdict.DIFFERENT),
        ("我喜欢咖啡", "我不喜欢咖啡", Verdict.DIFFERENT),
        ("我有两只猫", "我有三只猫", Verdict.DIFFERENT),
        ("The rent is 1,200 a month.", "The rent is 1,300 a month.", Verdict.DIFFERENT),
        ("I swim on Monday.", "I swim on Tuesday.", Verdict.DIFFERENT),
        ("I went for a run.", "I went for a walk.", Verdict.DOUBTFUL),
        ("我喜欢红茶", "我喜欢绿茶", Verdict.DOUBTFUL),
    ],
)
def test_what_differs_decides_whether_a_pair_means_the_same(first: str, second: str, verdict: Verdict) -> None:
    assert judge_pair(first, second) is verdict
    assert judge_pair(second, first) is verdict


@pytest.mark.parametrize(
    "message",
    [
        "Thanks!",
        "Thank you so much for your help 😊",
        "Hey there! How are you?",
        "Wow, that's great. What did you do then?",
        "ok",
        "Where do you live",
        "好的",
        "谢谢你的建议！",
        "你好，今天天气怎么样？",
        "嗯嗯，明白了。",
        "Okay, thank you for your recommendations. I'll take a look at them.",
        "好的，谢谢你的推荐，我会去看一看。",
        "我该怎么办呢",
        "如果我明天去北京，应该穿什么？",
        "If I go to Paris, what should I see?",
        "？？？",
    ],
)
def test_questions_and_courtesies_hold_nothing_lasting(message: str) -> None:
    assert says_nothing_lasting(message)


@pytest.mark.parametrize(
    "message",
    [
        "Thanks! I moved to Berlin last week.",
        "How are you? My knee still hurts.",
        "I live there.",
        "No, I am vegetarian.",
        "谢谢，我对花生过敏。",
        "你好，我叫林小雨。",
        "我很喜欢旅游和看电影，你呢？",
        "I love painting, do you?",
        "我知道了一个好消息：我升职了",
        "周末打算去爬山，不过还没决定去哪座呢",
    ],
)
def test_one_statement_among_them_is_enough(message: str) -> None:
    assert not says_nothing_lasting(message)


def test_junk_is_what_comes_from_such_a_message() -> None:
    junk = remember("The user is thankful.", said="Thanks!")
    assert find_junk([junk, remember("住在北京", said="谢谢，我住在北京。"), remember("added by hand")]) == [junk]
