"""Figures of merit by hand."""

from __future__ import annotations

import math

import pytest

from apps.memory.management.commands.evaluate_retrieval import (
    compute_hit,
    compute_ndcg,
    compute_recall,
    compute_reciprocal_rank,
)

RANKED = ["a", "b", "c", "d"]


@pytest.mark.parametrize(("k", "recall", "hit"), [(1, 0, 0), (2, 1 / 3, 1), (4, 2 / 3, 1), (9, 2 / 3, 1)])
def test_recall_and_hit(k: int, recall: float, hit: float) -> None:
    relevant = {"b": 1, "d": 1, "x": 1}
    assert compute_recall(RANKED, relevant, k=k) == pytest.approx(recall)
    assert compute_hit(RANKED, relevant, k=k) == hit


def test_reciprocal_rank() -> None:
    assert compute_reciprocal_rank(RANKED, {"c": 1, "d": 1}) == pytest.approx(1 / 3)
    assert compute_reciprocal_rank(RANKED, {"x": 1}) == 0
    assert compute_reciprocal_rank([], {"x": 1}) == 0


def test_ndcg_weighs_grades_and_places() -> None:
    gain = 1 / math.log2(3) + 3 / math.log2(5)
    best = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
    assert compute_ndcg(RANKED, {"b": 1, "d": 3, "x": 2}, k=10) == pytest.approx(gain / best)
    assert compute_ndcg(RANKED, {"b": 1, "d": 3}, k=2) == pytest.approx((1 / math.log2(3)) / (3 + 1 / math.log2(3)))
    assert compute_ndcg(["x", "y"], {"x": 2, "y": 1}, k=10) == 1
