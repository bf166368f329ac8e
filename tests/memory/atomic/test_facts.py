"""Which facts of a memory can stand alone, and what is left of one once a part has ended."""

from __future__ import annotations

import pytest

from apps.memory.atomic.facts import find_left, list_facts
from apps.memory.atomic.vectors import Statement, embed


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (
            "The user practises the cello on Mondays, and lives in Leeds.",
            ["The user practises the cello on Mondays.", "The user lives in Leeds."],
        ),
        (
            "The user is a nurse, the user's wife teaches maths.",
            ["The user is a nurse.", "The user's wife teaches maths."],
        ),
        (
            "The user works at a bank. The user lives in Hull and takes two sugars.",
            ["The user works at a bank.", "The user lives in Hull.", "The user takes two sugars."],
        ),
        ("用户住在唐山，开一辆五菱。", ["用户住在唐山。", "用户开一辆五菱。"]),
        ("用户住锦州，血压高。", ["用户住锦州。", "用户血压高。"]),
        ("用户住在保定，老婆在雄安上班。", ["用户住在保定。", "老婆在雄安上班。"]),
    ],
)
def test_facts_of_their_own_are_told_apart(content: str, facts: list[str]) -> None:
    assert list_facts(content) == facts


@pytest.mark.parametrize(
    "content",
    [
        "The user has a cat called Momo, she is three.",
        "The user's partner and the user climb every Sunday.",
        "The user keeps a shop in the front room, sweets and fags.",
        "The user thinks dark mode is best and uses it everywhere.",
        'The user said: "I like tea, the user hates coffee."',
        "The user is obsessed with cold brew. Love the stuff.",
        "用户住在铁西区，离公司近。",
        "用户给用户的货车起了个名儿，叫大力。",
        "用户喜欢上夜班，清净没人管。",
        "。",
        "",
    ],
)
def test_what_only_goes_on_with_something_is_no_fact_of_its_own(content: str) -> None:
    assert list_facts(content) == [content]


def left_of(content: str, said: str) -> list[str]:
    return find_left(content, Statement(text=said, vector=embed(said)), taken=[said])


@pytest.mark.parametrize(
    ("content", "said", "left"),
    [
        (
            "The user practises the cello on Mondays, and lives in Leeds.",
            "The user sold the cello.",
            "The user lives in Leeds.",
        ),
        (
            "The user practises the cello on Mondays, and lives in Leeds.",
            "The user moved from Leeds to York.",
            "The user practises the cello on Mondays.",
        ),
        ("用户住在唐山，开一辆五菱。", "用户搬到秦皇岛了。", "用户开一辆五菱。"),
        ("用户在社区教做面点，养了一只金毛。", "用户的金毛老死了。", "用户在社区教做面点。"),
    ],
)
def test_what_has_not_ended_is_left(content: str, said: str, left: str) -> None:
    assert left_of(content, said) == [left]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("The user lives in Leeds.", "The user moved to York."),
        ("The user lives in Leeds. The user lives in a flat by the river in Leeds.", "The user moved to York."),
        ("用户住在铁西区，离公司近。", "用户搬到沈阳了。"),
        ("用户常驻北京，在朝阳上班。", "用户搬到雅加达了。"),
        ("用户养了一只狗，每天早上遛三公里。", "用户的狗死了。"),
        ("The user works at Bosch, and takes the 7:15 train to work.", "The user quit the job at Bosch."),
    ],
)
def test_nothing_is_left_where_all_of_it_was_about_what_ended(content: str, said: str) -> None:
    assert left_of(content, said) == []
