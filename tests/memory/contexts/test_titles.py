"""When two titles name the same case."""

from __future__ import annotations

import pytest

from apps.memory.contexts import names_same_case


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("合同纠纷", "合同纠纷！"),
        ("合同纠纷", "张三的合同纠纷"),
        ("張三的合同糾紛", "张三合同纠纷"),
        ("Project Alpha", "project alpha: background"),
        ("The kitchen renovation", "Kitchen renovations"),
        ("!!", "!!"),
    ],
)
def test_titles_of_one_case(one: str, other: str) -> None:
    assert names_same_case(one, other)
    assert names_same_case(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("张三合同纠纷", "李四合同纠纷"),
        ("合同纠纷", "劳动争议"),
        ("Project Alpha", "Project Beta"),
        ("!!", "??"),
        ("!!", "Project Alpha"),
    ],
)
def test_titles_of_two_cases(one: str, other: str) -> None:
    assert not names_same_case(one, other)
    assert not names_same_case(other, one)
