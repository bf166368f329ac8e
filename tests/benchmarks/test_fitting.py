"""The two kinds of models that `benchmarks.train_endings` fits."""

from __future__ import annotations

import numpy as np

from benchmarks.fitting import fit_line, fit_network


def test_a_line_finds_the_odds_of_each_side() -> None:
    rows = np.array([[0.0]] * 4 + [[1.0]] * 4, np.float32)
    labels = np.array([0, 0, 0, 1, 0, 1, 1, 1], np.float32)
    weights, bias = fit_line(rows, labels, np.ones(8, np.float32), penalty=1e-6)
    assert np.isclose(bias, np.log(1 / 3), atol=1e-3)
    assert np.isclose(weights[0], 2 * np.log(3), atol=1e-3)


def test_a_row_counts_by_its_share() -> None:
    rows = np.zeros((2, 1), np.float32)
    _weights, bias = fit_line(rows, np.array([0, 1], np.float32), np.array([1, 3], np.float32), penalty=1)
    assert np.isclose(bias, np.log(3), atol=1e-3)


def test_a_network_learns_what_no_line_can_and_the_same_each_time() -> None:
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 50, np.float32)
    labels = np.array([0, 1, 1, 0] * 50, np.float32)
    first, second = (
        fit_network(rows, labels, np.ones(200, np.float32), units=16, penalty=0.001, passes=400, seed=1, batch=50)
        for _ in range(2)
    )
    logits = np.maximum(rows[:4] @ first.hidden + first.hidden_bias, 0) @ first.output + first.output_bias
    assert (logits > 0).tolist() == [False, True, True, False]
    assert (first.hidden == second.hidden).all()
