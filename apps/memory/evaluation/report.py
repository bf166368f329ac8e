"""What the rankings of a folder come to: per folder and category, as JSON and as a table. Pure, no Django."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from rich.table import Table

from apps.memory.evaluation.metrics import (
    compute_hit,
    compute_ndcg,
    compute_percentile,
    compute_recall,
    compute_reciprocal_rank,
)
from apps.memory.evaluation.types import Ranking

NDCG_DEPTH = 10

SHOWN_POINTS = 0.05
"""Smaller parts of a score are not shown."""

SHOWN_CHARACTERS = 200

Figures = dict[str, Any]


def summarize_rankings(rankings: Sequence[Ranking], *, depths: Sequence[int]) -> Figures:
    """Return the means over all queries with the latencies, and under `categories` the same of each category."""
    categories: dict[str, list[Ranking]] = {}
    for ranking in rankings:
        categories.setdefault(ranking.query.category, []).append(ranking)
    by_category = {name: _summarize(categories[name], depths=depths) for name in sorted(categories)}
    return {**_summarize(rankings, depths=depths), "categories": by_category}


def _summarize(rankings: Sequence[Ranking], *, depths: Sequence[int]) -> Figures:
    judged = [(ranking.ranked, ranking.query.relevant) for ranking in rankings]
    milliseconds = [ranking.milliseconds for ranking in rankings]
    figures: Figures = {f"recall@{k}": fmean(compute_recall(*pair, k=k) for pair in judged) for k in depths}
    figures["mrr"] = fmean(compute_reciprocal_rank(*pair) for pair in judged)
    figures[f"ndcg@{NDCG_DEPTH}"] = fmean(compute_ndcg(*pair, k=NDCG_DEPTH) for pair in judged)
    figures |= {f"hit@{k}": fmean(compute_hit(*pair, k=k) for pair in judged) for k in depths}
    figures["p50_ms"] = compute_percentile(milliseconds, share=0.5)
    figures["p95_ms"] = compute_percentile(milliseconds, share=0.95)
    figures["queries"] = len(rankings)
    return figures


def make_table(name: str, figures: Mapping[str, Any]) -> Table:
    """Return the figures of a folder for people: one line for all of it, one for each category."""
    columns = [column for column in figures if column != "categories"]
    table = Table(title=name, title_justify="left")
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    for label, row in (("all", figures), *figures["categories"].items()):
        table.add_row(label, *(_write(column, row[column]) for column in columns))
    return table


def make_ablation_table(name: str, rankings: Sequence[Ranking], *, depths: Sequence[int]) -> Table:
    """Return, for each feature, what recall would lose if it had no weight; a gain has a minus."""
    table = Table(title=f"{name}: what each feature is worth", title_justify="left")
    table.add_column("")
    for depth in depths:
        table.add_column(f"recall@{depth}", justify="right")
    for feature in rankings[0].without if rankings else ():
        losses = (
            fmean(
                compute_recall(ranking.ranked, ranking.query.relevant, k=depth)
                - compute_recall(ranking.without.get(feature, ranking.ranked), ranking.query.relevant, k=depth)
                for ranking in rankings
            )
            for depth in depths
        )
        table.add_row(feature, *(f"{loss:+.3f}" for loss in losses))
    return table


def make_explanation(ranking: Ranking) -> Table:
    """Return the best answers to a query, and all relevant ones, with the parts of their scores, largest first."""
    table = Table(title=f"{ranking.query.id}: {ranking.query.text}", title_justify="left")
    for column in ("place", "", "row", "score", "parts", "text"):
        table.add_column(column, justify="right" if column in ("place", "score") else "left")
    for row in ranking.explained:
        parts = sorted(row.parts.items(), key=lambda part: -abs(part[1]))
        mark = "relevant" if row.relevant else ""
        table.add_row(
            str(row.place),
            mark if row.stands_out else f"{mark} (does not stand out)".strip(),
            row.row_id,
            f"{row.score:.2f}",
            "\n".join(f"{name} {points:+.2f}" for name, points in parts if abs(points) >= SHOWN_POINTS),
            row.text[:SHOWN_CHARACTERS],
        )
    return table


def _write(column: str, value: float) -> str:
    if column == "queries":
        return str(value)
    return f"{value:.1f}" if column.endswith("_ms") else f"{value:.3f}"
