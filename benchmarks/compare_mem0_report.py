"""What the figures of `benchmarks.compare_mem0` come to: tables, charts, and which goals are met. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from benchmarks.plots import Chart, Line

SIDES = ("Jiyi", "mem0")

Report = Mapping[str, Any]

WAYS = {
    "given_1": "vectors given, one a call",
    "given_100": "vectors given, 100 a call",
    "embedded_1": "with embedding, one a call",
    "embedded_100": "with embedding, 100 a call",
}
"""The ways of adding, by their keys in the report."""


def describe_goals(report: Report) -> list[dict[str, Any]]:
    """Return each goal with its value in this report, at the greatest size, and whether it is met."""
    figures = report["sizes"][-1]
    search, add = figures["search"], figures["add"]
    mem0_add = max(add["mem0"]["given_1"], add["mem0"]["given_100"])
    values = (
        ("search p50: times as fast as mem0", search["mem0"]["p50_ms"] / search["Jiyi"]["p50_ms"], 10),
        ("adding with vectors given, 100 a call: times mem0's best rate", add["Jiyi"]["given_100"] / mem0_add, 20),
        (
            "adding with embedding, 100 a call: share of the bare embedder's rate",
            add["Jiyi"]["embedded_100"] / add["embedder"]["embedded_100"],
            0.8,
        ),
    )
    return [
        {"name": name, "memories": figures["memories"], "value": round(value, 2), "goal": goal, "met": value >= goal}
        for name, value, goal in values
    ]


def make_tables(report: Report) -> list[Table]:
    """Return the figures as tables: recall, search, adding, goals."""
    return [_make_recall(report), _make_search(report), _make_adding(report), _make_goals(report)]


def _make_recall(report: Report) -> Table:
    table = _make_table("Recall of the gold evidence among the asking user's memories", "folder", "side", left=2)
    for name in ("queries", "recall@5", "recall@10", "results", "p50 ms", "p95 ms"):
        table.add_column(name, justify="right")
    for folder, sides in report["recall"].items():
        for side in SIDES:
            table.add_row(folder, side, *_write_search(sides[side]), end_section=side == SIDES[-1])
    return table


def _make_search(report: Report) -> Table:
    table = _make_table("Search among the memories of many people", "memories", "people", "side", left=3)
    for name in (
        "queries",
        "recall@5",
        "recall@10",
        "results",
        "p50 ms",
        "p95 ms",
        "searches/s",
        "load s",
        "by vector index",
    ):
        table.add_column(name, justify="right")
    for figures in report["sizes"]:
        for side in SIDES:
            more = (
                f"{figures['searches_per_second'][side]:,.1f}",
                f"{figures['load_seconds'][side]:,.1f}",
                f"{figures['mem0_index_share']:.0%}" if side == "mem0" else "",
            )
            head = (f"{figures['memories']:,}", f"{figures['people']:,}", side)
            row = (*head, *_write_search(figures["search"][side]), *more)
            table.add_row(*row, end_section=side == SIDES[-1])
    return table


def _make_adding(report: Report) -> Table:
    table = _make_table("Adding, memories a second", "memories", "way", left=2)
    for name in (*SIDES, "times", "bare embedder"):
        table.add_column(name, justify="right")
    for figures in report["sizes"]:
        add = figures["add"]
        for key, way in WAYS.items():
            ours, theirs = (add[side][key] for side in SIDES)
            bare = add["embedder"].get(key)
            cells = (f"{ours:,.1f}", f"{theirs:,.1f}", f"{ours / theirs:.1f}", f"{bare:,.1f}" if bare else "")
            table.add_row(f"{figures['memories']:,}", way, *cells, end_section=key == list(WAYS)[-1])
    return table


def _make_goals(report: Report) -> Table:
    table = _make_table("Goals", "goal", left=1)
    for name in ("at memories", "value", "at least"):
        table.add_column(name, justify="right")
    for goal in report["goals"]:
        cells = (goal["name"], f"{goal['memories']:,}", f"{goal['value']:.2f}", str(goal["goal"]))
        table.add_row(*cells, style=None if goal["met"] else "red")
    return table


def _make_table(title: str, *columns: str, left: int) -> Table:
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < left else "right")
    return table


def _write_search(figures: Mapping[str, Any]) -> Sequence[str]:
    recall = (f"{figures['recall@5']:.3f}", f"{figures['recall@10']:.3f}")
    times = (f"{figures['p50_ms']:.1f}", f"{figures['p95_ms']:.1f}")
    return (f"{figures['queries']:,}", *recall, f"{figures['results']:.1f}", *times)


def make_charts(report: Report) -> list[Chart]:
    """Return the figures as charts: recall by folder, search and its rate by size, adding at the greatest size."""
    folders, sizes = list(report["recall"]), report["sizes"]
    recall = [Line(side, [report["recall"][name][side]["recall@10"] for name in folders]) for side in SIDES]
    times = [
        Line(f"{side}, {name}", [figures["search"][side][f"{name}_ms"] for figures in sizes])
        for side in SIDES
        for name in ("p50", "p95")
    ]
    rates = [Line(side, [figures["searches_per_second"][side] for figures in sizes]) for side in SIDES]
    adding = [Line(side, [sizes[-1]["add"][side][way] for way in WAYS]) for side in SIDES]
    names = [f"{figures['memories']:,}" for figures in sizes]
    ways = [way.replace(", ", ",\n") for way in WAYS.values()]
    clients = sizes[-1]["clients"]
    return [
        Chart("Recall@10", "", "recall", folders, recall, kind="bars"),
        Chart("Search, one at a time", "memories", "ms", names, times, kind="bars"),
        Chart(f"Search, {clients} clients", "memories", "searches/s", names, rates, kind="bars"),
        Chart("Adding", "", "memories/s", ways, adding, kind="bars"),
    ]
