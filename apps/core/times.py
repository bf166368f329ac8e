"""Which moments exist in every time zone, when a day ends in one, and which days a stretch of time is on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

# No zone is further from UTC than a day, and a time may be given in one and shown in another.
_MARGIN = timedelta(days=2)

MOMENT = timedelta(microseconds=1)
UTC_ZONE = ZoneInfo("UTC")

_FIRST, _LAST = datetime.min.replace(tzinfo=UTC) + _MARGIN, datetime.max.replace(tzinfo=UTC) - _MARGIN


@dataclass(frozen=True, slots=True)
class TimeRange:
    """From when to when, both included; None leaves that end open."""

    since: datetime | None = None
    until: datetime | None = None

    def holds(self, time: datetime) -> bool:
        """Whether the time is within the range."""
        return (self.since is None or self.since <= time) and (self.until is None or time <= self.until)


ANY_TIME = TimeRange()


def exists_everywhere(time: datetime) -> bool:
    """Return whether a time, aware or not, has a date in every zone: not at the very ends of what `datetime` holds.

    Python raises `OverflowError` when it moves any other into a zone where its date would be before the year 1 or
    after the year 9999.
    """
    return _FIRST <= time.replace(tzinfo=UTC) <= _LAST


def end_of_day(day: date, zone: tzinfo) -> datetime:
    """Return the last moment of a day in a time zone, in UTC. Raises ValueError for a day that some zones do not have.

    A day is not always 24 hours long: it ends just before the next one begins.
    """
    if not exists_everywhere(datetime.combine(day, time.min)):
        raise ValueError("Out of range: it has no valid date in some time zones.")
    next_day = datetime.combine(day + timedelta(days=1), time.min, tzinfo=zone)
    return next_day.astimezone(UTC) - MOMENT


def list_ends(start: datetime, end: datetime | None) -> tuple[date, date]:
    """Return the first and the last day of a stretch of time, in the zone of `start`.

    The end is not part of it: what ends at midnight ends with the day before. Without an end it is on one day. Whole
    days of another zone stay as many days: each is the one that has most of it.
    """
    if end is None or end <= start:
        return start.date(), start.date()
    end = end.astimezone(start.tzinfo)
    # Clocks that change make a day an hour longer or shorter.
    days = round((end - start) / timedelta(days=1))
    if days and abs(end - start - timedelta(days=days)) <= timedelta(hours=1):
        return (start + timedelta(hours=12)).date(), (end - timedelta(hours=12)).date()
    return start.date(), (end - MOMENT).date()
