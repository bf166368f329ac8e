"""Charts over days, as their script draws them and as the table beside each says the same in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from django.utils import formats


@dataclass(frozen=True, slots=True)
class Series:
    """One line or band: a number for each day. `tone` names its colour in static/panel/dashboard.css."""

    label: str
    tone: str
    numbers: list[int]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart over `days`; ``bar`` is stacked. `link`: the list behind it."""

    name: str
    kind: str
    title: str
    days: list[date]
    series: list[Series]
    link: str

    @property
    def element(self) -> str:
        """The ID of the element that holds what `to_script` returns."""
        return f"chart-{self.name}"

    @property
    def empty(self) -> bool:
        return not any(any(one.numbers) for one in self.series)

    @property
    def totals(self) -> list[tuple[str, int]]:
        """Each series with its sum: the chart in one sentence."""
        return [(one.label, sum(one.numbers)) for one in self.series]

    @property
    def rows(self) -> list[tuple[date, list[int]]]:
        """The days on which something was, newest first, with the number of each series."""
        found = zip(self.days, zip(*(one.numbers for one in self.series), strict=True), strict=True)
        return [(day, list(numbers)) for day, numbers in found if any(numbers)][::-1]

    def to_script(self) -> dict[str, Any]:
        """What the script needs, as JSON."""
        return {
            "kind": self.kind,
            "labels": [formats.date_format(day, "MONTH_DAY_FORMAT") for day in self.days],
            "series": [{"label": one.label, "tone": one.tone, "numbers": one.numbers} for one in self.series],
        }
