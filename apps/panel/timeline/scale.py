"""Where a moment is drawn on a lane whose right end is now. Pure: no Django.

The scale is that of memory: yesterday and last week are as far apart as last month and last year. What happened of late
has room, and what is old is still on the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

_NEAR = timedelta(days=2)
"""Ages below this are drawn evenly."""

_TICKS = tuple(timedelta(days=days) for days in (1, 7, 30, 91, 365, 3 * 365, 10 * 365))
_APART = 0.18
"""The least distance of two ticks, as a share: their dates, in the middle of each, are not to overlap."""

_FROM_ENDS = 0.27, 0.16
"""That from the beginning, whose date stands right of it, and from now, left of which "today" stands."""


@dataclass(frozen=True, slots=True)
class Scale:
    """From `begin`, drawn at 0, to `now`, drawn at 1."""

    begin: datetime
    now: datetime

    def place(self, time: datetime) -> float:
        """Return where a time is drawn, from 0 to 1."""
        whole = _bend(self.now - self.begin)
        return min(1.0, max(0.0, 1.0 - _bend(self.now - time) / whole))

    def list_ticks(self) -> Iterator[tuple[datetime, float]]:
        """Yield moments to write a date at, with their places: the beginning first, now not among them."""
        yield self.begin, 0.0
        last = _FROM_ENDS[0] - _APART
        for age in reversed(_TICKS):
            place = self.place(self.now - age)
            if place >= last + _APART and place <= 1.0 - _FROM_ENDS[1]:
                last = place
                yield self.now - age, place


def make_scale(times: Iterable[datetime], *, now: datetime) -> Scale:
    """Return a scale that has all times on it."""
    return Scale(begin=min([*times, now - _NEAR]), now=now)


def _bend(age: timedelta) -> float:
    return math.log1p(max(0.0, age / _NEAR))
