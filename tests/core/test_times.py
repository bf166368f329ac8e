"""Times that can be told in every zone, and those that cannot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from apps.core.times import exists_everywhere

FURTHEST = [timezone(timedelta(hours=hours, minutes=59)) for hours in (-24, 23)]


@pytest.mark.parametrize("zone", [UTC, *FURTHEST])
@pytest.mark.parametrize("text", ["0001-01-03T00:00:00", "2026-11-22T10:30:00", "9999-12-29T23:59:59"])
def test_a_time_that_exists_everywhere_can_be_moved_to_any_zone(text: str, zone: timezone):
    time = datetime.fromisoformat(text).replace(tzinfo=zone)
    assert exists_everywhere(time)
    assert [time.astimezone(other) == time for other in FURTHEST] == [True, True]


@pytest.mark.parametrize("zone", [None, UTC, *FURTHEST])
@pytest.mark.parametrize("text", ["0001-01-01T00:00:00", "0001-01-02T23:59:59", "9999-12-30T00:00:00"])
def test_the_ends_do_not(text: str, zone: timezone | None):
    assert not exists_everywhere(datetime.fromisoformat(text).replace(tzinfo=zone))
