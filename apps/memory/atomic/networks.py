"""The small models over texts that `endings` and `repeats` are made of, with weights that were learned before. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from apps.memory.atomic.phrases import Codes
from apps.memory.atomic.vectors import Floats

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Linear:
    """A logistic regression."""

    weights: Floats
    bias: float

    def score(self, rows: Floats) -> Floats:
        """Return a probability for each row."""
        return squash(rows @ self.weights + self.bias)


@dataclass(frozen=True, slots=True)
class Network:
    """A hidden layer over a pair: its vectors, and its standardised features."""

    means: Floats
    scales: Floats
    hidden: Floats
    hidden_bias: Floats
    output: Floats
    output_bias: float

    def weigh(self, vectors: Floats, features: Floats) -> Floats:
        """Return the log-odds of each pair: rows of its vectors and of its features."""
        inputs = np.concatenate([vectors, (features - self.means) / self.scales], axis=1)
        active = np.maximum(inputs @ self.hidden + self.hidden_bias, 0)
        return np.asarray(active @ self.output + self.output_bias, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Phrases:
    """A logistic regression over the phrases of a pair, longer texts damped by the root of how many they have."""

    weights: Floats
    bias: float

    def weigh(self, phrases: Sequence[Codes]) -> Floats:
        """Return the log-odds of each pair: codes of `list_phrases`."""
        sums = [self.weights[codes].sum() / np.sqrt(len(codes) + 1) for codes in phrases]
        return np.array(sums, dtype=np.float32) + np.float32(self.bias)


def squash(logits: Floats) -> Floats:
    """Return the probabilities of log-odds."""
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))), dtype=np.float32)


def load_weights(name: str) -> dict[str, Floats]:
    """Return the weights in ``data/{name}.npz`` by their names."""
    with files(__package__).joinpath(f"data/{name}.npz").open("rb") as file, np.load(file) as found:
        return {key: found[key].astype(np.float32) for key in found.files}


def make_network(values: Mapping[str, Floats]) -> Network:
    """Return the network among the weights of a file."""
    return Network(
        means=values["means"],
        scales=values["scales"],
        hidden=values["hidden"],
        hidden_bias=values["hidden_bias"],
        output=values["output"],
        output_bias=float(values["output_bias"]),
    )


def check_shapes(name: str, values: Mapping[str, Floats], shapes: Mapping[str, Shape]) -> None:
    """Raise `ValueError` where the shape of any weights in ``data/{name}.npz`` is not that of what they are for."""
    misfits = [
        f"{key} is {values[key].shape}, not {shape}" for key, shape in shapes.items() if values[key].shape != shape
    ]
    if misfits:
        raise ValueError(
            f"data/{name}.npz does not fit the features ({'; '.join(misfits)}): "
            f"run python -m benchmarks.train_{name} after a change to them."
        )
