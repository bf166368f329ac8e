"""Rows to score, made by hand: no database, no embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apps.memory.recall.features import AtomicRecall
from apps.memory.recall.query import AtomicQuery
from benchmarks import train_ranking

DAY = 86_400.0


def make_recall(
    contents: Sequence[str],
    query: str = "",
    *,
    earlier: str = "",
    sessions: Sequence[int] | None = None,
    **columns: Any,
) -> AtomicRecall:
    """Memories with these contents, in this order; of one session unless said."""
    asked = AtomicQuery(query, earlier=earlier)
    return train_ranking.make_recall(contents, asked, sessions=sessions or [0] * len(contents), **columns)
