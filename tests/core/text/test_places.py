"""What is a place name by the dictionary, and what only begins with one."""

from __future__ import annotations

import pytest

from apps.core.text.places import is_place_name


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
