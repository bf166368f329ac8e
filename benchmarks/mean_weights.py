"""Writes the mean of several files of weights: models whose log-odds are the means of those of all.

    python -m benchmarks.mean_weights FILE FILE... --output FILE

All were learned from the same features (by `benchmarks.train_endings` or `benchmarks.train_repeats`), from other cases.
Their mean is steadier than each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from apps.memory.atomic.networks import Weights
from apps.memory.atomic.vectors import Floats
from benchmarks.training import write_weights

_JOINED = frozenset({"means", "scales", "hidden", "hidden_bias", "output"})


def take_mean(files: Sequence[Weights]) -> Weights:
    """Return the weights whose log-odds are the mean of those of all.

    The hidden units of the networks stand side by side, on features that are standardised as the last file has it;
    all else weighs what it weighs on average. Raises `ValueError` for files of other models.
    """
    last = files[-1]
    if any(_shapes(one) != _shapes(last) for one in files):
        raise ValueError("The files are of other models, or of other features.")
    mean = {key: np.mean([one[key] for one in files], axis=0).astype(np.float32) for key in last.keys() - _JOINED}
    networks = [_restandardise(one, means=last["means"], scales=last["scales"]) for one in files]
    return {
        **mean,
        "means": last["means"],
        "scales": last["scales"],
        "hidden": np.concatenate([hidden for hidden, _bias in networks], axis=1),
        "hidden_bias": np.concatenate([bias for _hidden, bias in networks]),
        "output": np.concatenate([one["output"] for one in files]) / np.float32(len(files)),
    }


def _shapes(weights: Weights) -> dict[str, tuple[int, ...]]:
    return {key: value.shape for key, value in weights.items()}


def _restandardise(weights: Weights, *, means: Floats, scales: Floats) -> tuple[Floats, Floats]:
    """The hidden layer for features that are standardised by other means and scales."""
    hidden, features = weights["hidden"].copy(), len(means)
    of_features = hidden[-features:].copy()
    hidden[-features:] = of_features * (scales / weights["scales"])[:, None]
    moved = ((means - weights["means"]) / weights["scales"]) @ of_features
    return hidden, np.asarray(weights["hidden_bias"] + moved, np.float32)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the files and write their mean."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args(arguments)
    mean = take_mean([{key: value.astype(np.float32) for key, value in np.load(file).items()} for file in given.files])
    write_weights(mean, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
