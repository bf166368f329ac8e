"""The mean of several files of weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from apps.memory.atomic.networks import Linear, PairModel, Weights
from apps.memory.atomic.phrases import SIZE
from benchmarks.mean_weights import main, take_mean

VECTORS, FEATURES, UNITS = 6, 3, 4


def make_weights(seed: int) -> Weights:
    random = np.random.default_rng(seed)

    def draw(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return random.normal(size=shape).astype(np.float32)

    return {
        "line": draw(5),
        "line_bias": draw(),
        "means": draw(FEATURES),
        "scales": np.abs(draw(FEATURES)) + 1,
        "hidden": draw(VECTORS + FEATURES, UNITS),
        "hidden_bias": draw(UNITS),
        "output": draw(UNITS),
        "output_bias": draw(),
        "phrases": draw(SIZE),
        "phrases_bias": draw(),
    }


def weigh(weights: Weights) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    random = np.random.default_rng(9)
    vectors, features = random.normal(size=(20, VECTORS)), random.normal(size=(20, FEATURES))
    model = PairModel.read(weights)
    phrases = [random.integers(SIZE, size=7) for _pair in range(20)]
    return model.network.weigh(vectors, features) + model.phrases.weigh(phrases)


def test_the_log_odds_are_the_mean_of_those_of_all() -> None:
    files = [make_weights(1), make_weights(2), make_weights(3)]
    mean = take_mean(files)
    np.testing.assert_allclose(weigh(mean), np.mean([weigh(one) for one in files], axis=0), rtol=1e-4, atol=1e-4)
    rows = np.random.default_rng(4).normal(size=(8, 5)).astype(np.float32)
    logits = [Linear.read(one, "line") for one in files]
    expected = np.mean([line.weights @ rows.T + line.bias for line in logits], axis=0)
    line = Linear.read(mean, "line")
    np.testing.assert_allclose(line.weights @ rows.T + line.bias, expected, rtol=1e-4, atol=1e-5)


def test_files_of_other_models_have_no_mean() -> None:
    with pytest.raises(ValueError, match="of other models"):
        take_mean([make_weights(1), make_weights(2) | {"line": np.zeros(4, np.float32)}])


def test_the_command_writes_a_file(tmp_path: Path) -> None:
    for seed in (1, 2):
        np.savez(tmp_path / f"{seed}.npz", **make_weights(seed))  # type: ignore[arg-type]
    assert main([str(tmp_path / "1.npz"), str(tmp_path / "2.npz"), "--output", str(tmp_path / "mean.npz")]) == 0
    with np.load(tmp_path / "mean.npz") as found:
        assert found["hidden"].shape == (VECTORS + FEATURES, 2 * UNITS)
        assert found["hidden"].dtype == np.float16
