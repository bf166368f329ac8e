"""Who names one of several things of a kind means that one."""

from __future__ import annotations

import pytest

from apps.memory.atomic.siblings import list_unnamed


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("said", "contents", "unnamed"),
    [
        ("The user sold the guitar.", ["The user plays guitar.", "The user plays piano."], {1}),
        (
            "The user is not allergic to nuts any more.",
            ["The user is allergic to eggs.", "The user is allergic to nuts."],
            {0},
        ),
        ("用户提到：萨克斯卖了。", ["用户会拉小提琴。", "用户会吹萨克斯。"], {0}),
        ("用户的猫走了。", ["用户养了一只猫。", "用户养了一条狗。"], {1}),
        ("Tom turned 6.", ["The user's kid Tom is 5.", "The user's kid Anna is 3."], {1}),
        ("9024那张挂失了。", ["健身房的卡尾号3317。", "美容院的卡尾号9024。"], {0}),
    ],
)
def test_what_is_not_named_beside_what_is(said: str, contents: list[str], unnamed: set[int]) -> None:
    assert list_unnamed(contents, said) == unnamed


@pytest.mark.parametrize(
    ("said", "contents"),
    [
        ("The user has sold the guitar, both of them.", ["The user plays guitar.", "The user plays piano."]),
        ("吉他钢琴都卖了。", ["用户会弹吉他。", "用户会弹钢琴。"]),
        ("The user has given up music.", ["The user plays guitar.", "The user plays piano."]),
        ("The user moved from Leeds to Hull.", ["The user lives in Leeds.", "The user lives in Yorkshire."]),
        ("The user sold the guitar.", ["The user plays guitar.", "The user takes guitar lessons."]),
        ("The user sold the guitar.", ["The user plays guitar."]),
        ("The user sold the guitar.", []),
    ],
)
def test_all_are_meant_or_it_is_unsure(said: str, contents: list[str]) -> None:
    assert not list_unnamed(contents, said)
