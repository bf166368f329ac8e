"""The three kinds of models that `benchmarks.train_endings` fits."""

from __future__ import annotations

import numpy as np

from benchmarks.fitting import average, fit_line, fit_network, fit_table


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
        fit_network(
            rows, labels, np.ones(200, np.float32), units=16, penalty=0.001, passes=range(400), seed=1, batch=50
        )
        for _ in range(2)
    )
    logits = np.maximum(rows[:4] @ first.hidden + first.hidden_bias, 0) @ first.output + first.output_bias
    assert (logits > 0).tolist() == [False, True, True, False]
    assert (first.hidden == second.hidden).all()


def test_the_average_of_networks_answers_with_the_mean_of_their_log_odds() -> None:
    random = np.random.default_rng(3)
    rows, labels = random.random((60, 3)).astype(np.float32), random.integers(0, 2, 60).astype(np.float32)
    networks = [
        fit_network(rows, labels, np.ones(60, np.float32), units=4, penalty=0.1, passes=range(3), seed=seed)
        for seed in (0, 1)
    ]
    odds = [
        np.maximum(rows @ layers.hidden + layers.hidden_bias, 0) @ layers.output + layers.output_bias
        for layers in (*networks, average(networks))
    ]
    assert not np.allclose(odds[0], odds[1])
    assert np.allclose((odds[0] + odds[1]) / 2, odds[2], atol=1e-5)


def test_a_table_weighs_the_codes_that_tell_the_rows_apart_and_no_rare_one() -> None:
    codes = [np.array(row) for row in [[0, 1], [0, 2], [0, 1], [0, 2], [0, 1], [0, 2], [0, 2, 3]]]
    labels = np.array([1, 0, 1, 0, 1, 0, 0], np.float32)
    weights, bias = fit_table(
        codes, labels, np.ones(7, np.float32), size=8, penalty=1e-4, passes=range(60), rate=0.5, least=2, seed=0
    )
    assert weights[1] > 1
    assert weights[2] < -1
    assert weights[3:].tolist() == [0] * 5
    damping = 1 / np.sqrt(3)
    assert (weights[0] + weights[1]) * damping + bias > 0 > (weights[0] + weights[2]) * damping + bias
