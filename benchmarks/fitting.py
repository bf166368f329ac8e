"""Logistic regressions and a network with one hidden layer, fitted with numpy alone. Deterministic for a seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

_RATE, _MEMORY, _SQUARES = 0.001, 0.9, 0.999
"""Adam (Kingma and Ba, 2015), with the constants of the paper."""


def fit_line(rows: Floats, labels: Floats, shares: Floats, *, penalty: float, steps: int = 8) -> tuple[Floats, float]:
    """Return the weights and the bias of a logistic regression, by Newton's method.

    `shares`: what each row counts; `penalty`: of the squared weights.
    """
    inputs = np.concatenate([rows, np.ones((len(rows), 1))], axis=1).astype(np.float64)
    weights = np.zeros(inputs.shape[1])
    decay = np.full(inputs.shape[1], penalty)
    decay[-1] = 1e-6
    for _step in range(steps):
        found = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        slope = inputs.T @ (shares * (found - labels)) + decay * weights
        curve = (inputs * (shares * found * (1 - found))[:, None]).T @ inputs + np.diag(decay)
        weights -= np.linalg.solve(curve, slope)
    return weights[:-1].astype(np.float32), float(weights[-1])


def fit_table(
    codes: Sequence[npt.NDArray[np.int64]],
    labels: Floats,
    shares: Floats,
    *,
    size: int,
    penalty: float,
    passes: Iterable[object],
    rate: float,
    least: int,
    seed: int,
) -> tuple[Floats, float]:
    """Return a table of weights and the bias of a logistic regression over sets of `codes` below `size`.

    By Adagrad (Duchi et al., 2011), a row at a time, drawn by `shares`. A row's sum is damped by the root of its
    length. `passes`: anything, once for each pass over all rows. `least`: codes in fewer rows than that weigh nothing.
    """
    random = np.random.default_rng(seed)
    counts = np.bincount(np.concatenate(codes), minlength=size)
    kept = [row[counts[row] >= least] for row in codes]
    weights, squares = np.zeros(size), np.full(size, 1e-6)
    bias, bias_squares = 0.0, 1e-6
    for _pass in passes:
        for index in random.choice(len(kept), size=len(kept), p=shares / shares.sum()).tolist():
            row = kept[index]
            damping = 1 / np.sqrt(len(codes[index]) + 1)
            odds = weights[row].sum() * damping + bias
            wrong = 1 / (1 + np.exp(-np.clip(odds, -30, 30))) - labels[index]
            slopes = wrong * damping + penalty * weights[row]
            squares[row] += slopes * slopes
            weights[row] -= rate * slopes / np.sqrt(squares[row])
            bias_squares += wrong * wrong
            bias -= rate * wrong / np.sqrt(bias_squares)
    return weights.astype(np.float32), float(bias)


@dataclass(frozen=True, slots=True)
class Layers:
    """A fitted network: inputs to hidden units (rectified) to a logit."""

    hidden: Floats
    hidden_bias: Floats
    output: Floats
    output_bias: float


def fit_network(
    rows: Floats,
    labels: Floats,
    shares: Floats,
    *,
    units: int,
    penalty: float,
    passes: Iterable[object],
    seed: int,
    batch: int = 200,
) -> Layers:
    """Return a network fitted by Adam to rows drawn by their `shares`, as many as there are, anew in each pass.

    `passes`: anything, once for each pass. `penalty`: of the squared weights.
    """
    random = np.random.default_rng(seed)
    width = rows.shape[1]
    bound = np.sqrt(6 / (width + units))
    values = [
        random.uniform(-bound, bound, (width, units)).astype(np.float32),
        np.zeros(units, np.float32),
        random.uniform(-bound, bound, units).astype(np.float32),
        np.zeros(1, np.float32),
    ]
    means = [np.zeros_like(value) for value in values]
    squares = [np.zeros_like(value) for value in values]
    chances = shares / shares.sum()
    step = 0
    for _pass in passes:
        drawn = random.choice(len(rows), size=len(rows), p=chances)
        for start in range(0, len(drawn), batch):
            chosen = drawn[start : start + batch]
            step += 1
            slopes = _find_slopes(values, rows[chosen], labels[chosen], penalty=penalty)
            for value, mean, square, slope in zip(values, means, squares, slopes, strict=True):
                mean += (1 - _MEMORY) * (slope - mean)
                square += (1 - _SQUARES) * (slope * slope - square)
                true_mean, true_square = mean / (1 - _MEMORY**step), square / (1 - _SQUARES**step)
                value -= (_RATE * true_mean / (np.sqrt(true_square) + 1e-8)).astype(np.float32)
    return Layers(hidden=values[0], hidden_bias=values[1], output=values[2], output_bias=float(values[3][0]))


def average(networks: Sequence[Layers]) -> Layers:
    """Return one network whose log-odds are the mean of those of several: their hidden units side by side."""
    return Layers(
        hidden=np.concatenate([layers.hidden for layers in networks], axis=1),
        hidden_bias=np.concatenate([layers.hidden_bias for layers in networks]),
        output=np.asarray(np.concatenate([layers.output for layers in networks]) / len(networks), np.float32),
        output_bias=sum(layers.output_bias for layers in networks) / len(networks),
    )


def _find_slopes(values: list[Floats], rows: Floats, labels: Floats, *, penalty: float) -> list[Floats]:
    """The slopes of the mean cross entropy, with the penalty on the weights, at `values`."""
    hidden, hidden_bias, output, output_bias = values
    active = np.maximum(rows @ hidden + hidden_bias, 0)
    found = 1 / (1 + np.exp(-np.clip(active @ output + output_bias, -30, 30)))
    wrong = ((found - labels) / len(rows)).astype(np.float32)
    back = wrong[:, None] * output * (active > 0)
    decay = penalty / len(rows)
    return [
        rows.T @ back + decay * hidden,
        back.sum(axis=0),
        active.T @ wrong + decay * output,
        np.asarray([wrong.sum()], np.float32),
    ]
