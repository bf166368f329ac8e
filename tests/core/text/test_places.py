"""What is a place name by the dictionary, and what only begins with one."""

from __future__ import annotations

import pytest

from apps.core.text.places import find_places, is_place_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("南京", True),
        ("南京市", True),
        ("昆山", True),
        ("臺北", True),
        ("南京大学", False),
        ("腾讯", False),
        ("医院", False),
        ("市", False),
    ],
)
def test_place_names(name: str, expected: bool) -> None:
    assert is_place_name(name) is expected


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("上个月从镇江搬到柳州了", {"镇江", "柳州"}),
        ("我在紐約讀書", {"纽约"}),
        ("I rent a flat in Leeds, near St Pancras.", {"leeds", "st pancras"}),
        ("Moved to New York from Boston", {"new york", "boston"}),
        ("in the morning I walk to work", set()),
        ("我喜欢喝茶", set()),
        ("", set()),
    ],
)
def test_the_places_a_text_names(text: str, places: set[str]) -> None:
    assert find_places(text) == places
