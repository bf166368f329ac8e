"""What a short text measures, in either language."""

from __future__ import annotations

import pytest

from apps.memory.atomic.quantities import Quantity, list_quantities


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我每天走一万步", ("distance", 10_000.0)),
        ("改走六千步了", ("distance", 6_000.0)),
        ("身高1米5", ("length", 1.5)),
        ("长到1米28了", ("length", 1.28)),
        ("月薪九千", ("plain", 9_000.0)),
        ("房租三千二", ("plain", 3_200.0)),
        ("一千零五块", ("money", 1_005.0)),
        ("涨到3,600块", ("money", 3_600.0)),
        ("欠一万二", ("plain", 12_000.0)),
        ("15万块", ("money", 150_000.0)),
        ("瘦了三十斤", ("weight", 30.0)),
        ("四岁半", ("age", 4.0)),
        ("利率3.3%", ("percent", 3.3)),
        ("周三下午", ("weekday", "三")),
        ("12月20号", ("date", "12-20")),
        ("rent's £925 a month", ("money", 925.0)),
        ("fifteen hundred dollars", ("money", 1_500.0)),
        ("i make 60k", ("plain", 60_000.0)),
        ("down to 85 kg", ("weight", 85.0)),
        ("she is 8 years old", ("age", 8.0)),
        ("the standup is at 7:45", ("hour", "7:45")),
        ("may 6", ("date", "5-6")),
        ("on the 12th of june", ("date", "6-12")),
        ("on fridays", ("weekday", "fri")),
    ],
)
def test_a_quantity_has_a_kind_and_a_value(text: str, expected: tuple[str, float | str]) -> None:
    assert list_quantities(text) == (Quantity(*expected),)


@pytest.mark.parametrize("text", ["万一下雨", "one of us", "我住在北京", "the marathon", "（2026-11-09~2026-11-15）"])
def test_what_only_looks_like_a_number_is_none(text: str) -> None:
    assert list_quantities(text) == ()


def test_the_same_day_is_the_same_date_however_it_is_written() -> None:
    assert list_quantities("june 12th") == list_quantities("12 june") == list_quantities("6月12日")
