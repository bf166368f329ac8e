"""Draw what `benchmarks.plots` describes: JSON on standard input, a PNG file, and JSON on standard output.

Runs in the environment of ``requirements/benchmarks.txt`` and imports nothing of this project.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import matplotlib.pyplot as plt  # not installed where the project's own code runs

COLUMNS = 2
INCHES = (6.4, 4.2)
"""Width and height of one chart."""


def draw(given: dict[str, Any]) -> None:
    """Draw all charts into one file."""
    charts = given["charts"]
    columns = min(COLUMNS, len(charts))
    rows = math.ceil(len(charts) / columns)
    size = (INCHES[0] * columns, INCHES[1] * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    figure.suptitle(given["title"])
    places = list(axes.flat)
    for axis, chart in zip(places, charts, strict=False):
        draw_chart(axis, chart)
    for axis in places[len(charts) :]:
        axis.set_visible(False)
    figure.savefig(given["path"], dpi=120)


def draw_chart(axis: Any, chart: dict[str, Any]) -> None:
    """Draw one chart of lines or bars."""
    axis.set(title=chart["title"], xlabel=chart["x_label"], ylabel=chart["y_label"])
    if chart["kind"] == "bars":
        draw_bars(axis, chart)
    else:
        for line in chart["lines"]:
            values = [math.nan if value is None else value for value in line["values"]]
            axis.plot(chart["positions"], values, marker="o", label=line["label"])
        if chart["log_x"]:
            axis.set_xscale("log")
    if chart["log_y"]:
        axis.set_yscale("log")
    else:
        axis.set_ylim(bottom=0)
    axis.grid(visible=True, alpha=0.3)
    axis.legend(fontsize="small")


def draw_bars(axis: Any, chart: dict[str, Any]) -> None:
    """Draw groups of bars, one group for each position."""
    width = 0.8 / len(chart["lines"])
    for number, line in enumerate(chart["lines"]):
        places = [group - 0.4 + width * (number + 0.5) for group in range(len(chart["positions"]))]
        bars = axis.bar(places, [value or 0 for value in line["values"]], width=width, label=line["label"])
        axis.bar_label(bars, fmt="{:,.3g}", fontsize="x-small")
    axis.set_xticks(range(len(chart["positions"])), chart["positions"], fontsize="small")


if __name__ == "__main__":
    draw(json.load(sys.stdin))
    print(json.dumps({}))
