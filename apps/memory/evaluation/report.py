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


def _write(column: str, value: float) -> str:
    if column == "queries":
        return str(value)
    return f"{value:.1f}" if column.endswith("_ms") else f"{value:.3f}"
