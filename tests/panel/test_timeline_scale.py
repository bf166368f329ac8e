"""Where moments are drawn on a lane."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.panel.timeline import make_scale

NOW = datetime(2026, 11, 25, tzinfo=UTC)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


@pytest.mark.long
@given(st.lists(st.floats(0, 40_000), min_size=1, max_size=10))
def test_later_is_further_right_and_all_is_on_the_lane(ages: list[float]) -> None:
    scale = make_scale(map(ago, ages), now=NOW)
    places = [scale.place(ago(age)) for age in sorted(ages, reverse=True)]
    assert places == sorted(places)
    assert min(places) >= 0
    assert scale.place(NOW) == 1
    ticks = [place for _time, place in scale.list_ticks()]
    assert ticks[0] == 0
    assert all(after - before > 0.17 for before, after in pairwise(ticks))
    assert ticks[-1] < 0.85


def test_the_last_week_has_room_beside_ten_years() -> None:
    scale = make_scale([ago(3650)], now=NOW)
    assert 1 - scale.place(ago(7)) > 0.15


def test_what_is_to_come_is_at_the_right_end() -> None:
    assert make_scale([ago(-3)], now=NOW).place(ago(-3)) == 1
