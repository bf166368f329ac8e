"""JSON values as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.text.clean import json_text, readable_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("tea", "tea"),
        (3, "3"),
        (4.5, "4.5"),
        (True, "true"),
        ([], ""),
        (["tea"], "tea"),
        (["tea", "jam", 3], "tea, jam, 3"),
        (["茶", "咖啡"], "茶、咖啡"),
        (["Paris, France", "Rome"], "Paris, France; Rome"),
        ({"city": "Leeds", "since": 2020}, "city: Leeds; since: 2020"),
        ({"城市": "北京", "since": 2020}, "城市：北京；since: 2020"),
        ({"trip": ["Rome", {"when": "May"}]}, "trip: (Rome, (when: May))"),
    ],
)
def test_a_value_reads_as_people_write_it(value: Any, text: str) -> None:
    assert readable_text(value) == text


@given(st.lists(st.sampled_from(["tea", "green tea", "茶", "绿茶"]), max_size=4))
def test_a_list_never_looks_like_json_and_loses_nothing(items: list[str]) -> None:
    text = readable_text(items)
    assert "[" not in text
    assert '"' not in text
    assert all(item in text for item in items)
    assert sum(map(len, items)) <= len(text)
    assert json_text(items) == " ".join(items)
