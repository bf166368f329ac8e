"""Plots of figures as PNG files. What is drawn is described here; `benchmarks.draw_plots` draws it elsewhere.

The plot library is no requirement of the product or of its tests, so it has an environment of its own
(``requirements/benchmarks.txt``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.environments import get_numpy_settings, install

_PROGRAM = Path(__file__).with_name("draw_plots.py")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart, or one bar in each of its groups: a value for each position; None leaves a gap."""

    label: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of a picture. Its `kind` is "lines" over the numbers `positions`, or "bars" over groups of these names.

    `log_x`, `log_y`: axes on which the same distance is the same factor.
    """

    title: str
    x_label: str
    y_label: str
    positions: Sequence[float] | Sequence[str]
    lines: Sequence[Line]
    kind: str = "lines"
    log_x: bool = False
    log_y: bool = False

    def __post_init__(self) -> None:
        if self.kind not in ("lines", "bars"):
            raise ValueError(f"there is no chart of kind {self.kind!r}")
        for line in self.lines:
            if len(line.values) != len(self.positions):
                raise ValueError(f"{line.label!r} has {len(line.values)} values for {len(self.positions)} positions")


def save_plot(path: Path, charts: Sequence[Chart], *, title: str) -> None:
    """Draw the charts beside each other, at most two in a row, into a PNG file.

    Raises `benchmarks.environments.NotInstalled`.
    """
    given = {"path": str(path.resolve()), "title": title, "charts": [asdict(chart) for chart in charts]}
    environment = install("benchmarks")
    environment.run(_PROGRAM, given, environment={"MPLBACKEND": "Agg", **get_numpy_settings()})
