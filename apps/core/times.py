"""Which moments exist in every time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_MARGIN = timedelta(days=2)
"""No zone is further from UTC than a day, and a time may be given in one and shown in another."""

_FIRST, _LAST = datetime.min.replace(tzinfo=UTC) + _MARGIN, datetime.max.replace(tzinfo=UTC) - _MARGIN


def exists_everywhere(time: datetime) -> bool:
    """Return whether a time, aware or not, has a date in every zone: not at the very ends of what `datetime` holds.

    Python raises `OverflowError` when it moves any other into a zone where its date would be before the year 1 or
    after the year 9999.
    """
    return _FIRST <= time.replace(tzinfo=UTC) <= _LAST
