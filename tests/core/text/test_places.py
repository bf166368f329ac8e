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
        ("温哥华", True),
        ("海口市", True),
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
        ("从海口搬到温哥华", {"海口", "温哥华"}),
        ("在曼彻斯特念书，老家浏阳", {"曼彻斯特", "浏阳"}),
        ("住在南京市鼓楼区", {"南京", "鼓楼"}),
        ("在上海海事局上班", {"上海"}),
        ("厨房台面是大理石的", set()),
        ("爱吃重庆火锅和三明治", set()),
        ("这是个新建的小区，不安全", set()),
        ("we swapped manchester for ho chi minh city", {"manchester", "ho chi minh city"}),
        ("Xi’an feels like home", {"xi'an"}),
        ("our bath is nice", set()),
        ("in the morning I walk to work, from May to Friday", set()),
        ("我喜欢喝茶", set()),
        ("", set()),
    ],
)
def test_the_places_a_text_names(text: str, places: set[str]) -> None:
    assert find_places(text) == places
