"""What the figures of `benchmarks.scale` come to: tables, charts, and which goals are met. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from benchmarks.plots import Chart, Line
from benchmarks.sharing import BIG, ORDINARY, STEADY_GROUP

Report = Mapping[str, Any]

GROUPS = {
    ORDINARY: "ordinary people",
    STEADY_GROUP: "people who stay the same",
    BIG: "the one with very many",
}
"""What the groups are called, by their keys in the report."""

P95_GOAL, RECALL_GOAL, EMBEDDING_GOAL = 1.5, 0.99, 0.8


def describe_goals(report: Report) -> list[dict[str, Any]]:
    """Return each goal with its value in this report, and whether it is met."""
    first, last = report["sizes"][0], report["sizes"][-1]
    goals = []
    for way, name in (("given", "vector given"), ("included", "embedding included")):
        value = last["groups"][ORDINARY][way]["p95"] / first["groups"][ORDINARY][way]["p95"]
        text = f"search p95 of ordinary people, greatest to smallest size, {name}"
        goals.append({"name": text, "value": round(value, 2), "at_most": P95_GOAL, "met": value <= P95_GOAL})
    recall = min(figures["groups"][group]["recall"] for figures in report["sizes"] for group in GROUPS)
    goals.append(
        {
            "name": "least recall of the vector arm of any group and size",
            "value": recall,
            "at_least": RECALL_GOAL,
            "met": recall >= RECALL_GOAL,
        }
    )
    share = min(figures["service"]["embedded"] / figures["service"]["embedder"] for figures in report["sizes"])
    goals.append(
        {
            "name": "adding with embedding, share of the bare embedder's rate",
            "value": round(share, 2),
            "at_least": EMBEDDING_GOAL,
            "met": share >= EMBEDDING_GOAL,
        }
    )
    return goals


def make_tables(report: Report) -> list[Table]:
    """Return the figures as tables: search, storage, goals."""
    return [_make_search(report), _make_storage(report), _make_goals(report)]


def _make_search(report: Report) -> Table:
    table = Table(title="Search, milliseconds, p50 / p95", title_justify="left")
    table.add_column("memories", justify="right")
    table.add_column("of whom")
    for name in ("memories of each", "vector given", "embedding included", "recall@10 of the vector arm"):
        table.add_column(name, justify="right")
    for figures in report["sizes"]:
        for key, name in GROUPS.items():
            group = figures["groups"][key]
            spreads = [f"{group[way]['p50']:.1f} / {group[way]['p95']:.1f}" for way in ("given", "included")]
            cells = (f"{group['memories_of_each']:,.0f}", *spreads, f"{group['recall']:.3f}")
            table.add_row(f"{figures['memories']:,}", name, *cells, end_section=key == BIG)
    return table


def _make_storage(report: Report) -> Table:
    table = Table(title="Storing: memories a second, MiB", title_justify="left")
    columns = (
        *("memories", "copied", "seconds", "of index", "a second"),
        *("service, vectors given", "with embedding", "bare embedder"),
        *("tables", "indexes", "server memory"),
    )
    for name in columns:
        table.add_column(name, justify="right")
    for figures in report["sizes"]:
        load, service = figures["load"], figures["service"]
        tables, indexes = split_disk(figures["disk_mib"])
        seconds = load["copy_seconds"] + load["index_seconds"]
        table.add_row(
            f"{figures['memories']:,}",
            f"{load['rows']:,}",
            f"{seconds:,.1f}",
            f"{load['index_seconds']:,.1f}",
            f"{load['rows_per_second']:,.0f}",
            *(f"{service[name]:,.0f}" for name in ("given", "embedded", "embedder")),
            f"{tables:,.1f}",
            f"{indexes:,.1f}",
            f"{figures['server_memory_mib']['shared']:,.0f}",
        )
    return table


def split_disk(sizes: Mapping[str, float]) -> tuple[float, float]:
    """Return what the tables take and what the indexes take, of the sizes by name."""
    tables = sum(size for name, size in sizes.items() if name in ("atomic_memory", "atomic_embedding"))
    return tables, sum(sizes.values()) - tables


def _make_goals(report: Report) -> Table:
    table = Table(title="Goals", title_justify="left")
    table.add_column("goal")
    for name in ("value", "limit"):
        table.add_column(name, justify="right")
    for goal in report["goals"]:
        limit = f"≤ {goal['at_most']}" if "at_most" in goal else f"≥ {goal['at_least']}"
        table.add_row(goal["name"], str(goal["value"]), limit, style=None if goal["met"] else "red")
    return table


def make_charts(report: Report) -> list[Chart]:
    """Return the figures as charts over the number of memories: search, recall, storing, disk and memory."""
    sizes = report["sizes"]
    positions = [figures["memories"] for figures in sizes]
    search = [
        Line(f"{name}, {percentile}", [figures["groups"][key]["included"][percentile] for figures in sizes])
        for key, name in GROUPS.items()
        for percentile in ("p50", "p95")
    ]
    recall = [Line(name, [figures["groups"][key]["recall"] for figures in sizes]) for key, name in GROUPS.items()]
    storing = [
        Line("copied, index built", [figures["load"]["rows_per_second"] for figures in sizes]),
        Line("service, vectors given", [figures["service"]["given"] for figures in sizes]),
        Line("service, with embedding", [figures["service"]["embedded"] for figures in sizes]),
    ]
    disk = [split_disk(figures["disk_mib"]) for figures in sizes]
    taken = [
        Line("tables", [tables for tables, _indexes in disk]),
        Line("indexes", [indexes for _tables, indexes in disk]),
        Line("memory of the server", [figures["server_memory_mib"]["shared"] for figures in sizes]),
    ]
    return [
        Chart("Search, embedding included", "memories", "ms", positions, search, log_x=True),
        Chart("Recall@10 of the vector arm", "memories", "recall", positions, recall, log_x=True),
        Chart("Storing", "memories", "memories/s", positions, storing, log_x=True, log_y=True),
        Chart("Taken", "memories", "MiB", positions, taken, log_x=True, log_y=True),
    ]
