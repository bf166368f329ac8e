"""Times that can be told in every zone, and those that cannot."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from apps.core.times import end_of_day, exists_everywhere, list_ends

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


@pytest.mark.parametrize(
    ("day", "zone", "end"),
    [
        ("2026-03-01", "Asia/Shanghai", "2026-03-01T16:00:00"),
        ("2026-03-29", "Europe/Berlin", "2026-03-29T22:00:00"),  # of 23 hours
        ("2026-10-25", "Europe/Berlin", "2026-10-25T23:00:00"),  # of 25
    ],
)
def test_a_day_ends_before_the_next_begins(day: str, zone: str, end: str):
    expected = datetime.fromisoformat(end).replace(tzinfo=UTC) - timedelta(microseconds=1)
    assert end_of_day(date.fromisoformat(day), ZoneInfo(zone)) == expected


def test_the_last_days_have_no_end():
    with pytest.raises(ValueError, match="Out of range"):
        end_of_day(date(9999, 12, 31), ZoneInfo("UTC"))


@pytest.mark.parametrize(
    ("start", "end", "days"),
    [
        ("2026-11-14T00:00:00", "2026-11-15T00:00:00", ("2026-11-14", "2026-11-14")),
        ("2026-11-14T09:00:00", "2026-11-14T11:30:00", ("2026-11-14", "2026-11-14")),
        ("2026-11-14T00:00:00", "2026-11-17T00:00:00", ("2026-11-14", "2026-11-16")),
        ("2026-11-14T20:00:00", "2026-11-15T02:00:00", ("2026-11-14", "2026-11-15")),
        # Whole days of UTC, and of Los Angeles
        ("2026-11-14T08:00:00", "2026-11-15T08:00:00", ("2026-11-14", "2026-11-14")),
        ("2026-11-14T16:00:00", "2026-11-21T16:00:00", ("2026-11-15", "2026-11-21")),
        ("2026-11-14T09:00:00", "2026-11-14T09:00:00", ("2026-11-14", "2026-11-14")),
        ("2026-11-14T09:00:00", None, ("2026-11-14", "2026-11-14")),
    ],
)
def test_the_days_of_a_stretch_of_time(start: str, end: str | None, days: tuple[str, str]):
    zone = ZoneInfo("Asia/Shanghai")
    times = [datetime.fromisoformat(time).replace(tzinfo=zone) if time else None for time in (start, end)]
    assert times[0] is not None
    found = list_ends(times[0], times[1].astimezone(UTC) if times[1] else None)
    assert tuple(map(str, found)) == days
