"""The small models over texts that `endings` and `repeats` are made of, and how their weights are kept. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Self

import numpy as np

from apps.memory.atomic.phrases import SIZE, Codes
from apps.memory.atomic.vectors import Floats

Weights = Mapping[str, Floats]
"""The arrays of a file of weights, by their names."""

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Regression:
    """A logistic regression: in a file its weights are under its name, its bias under that with ``_bias``."""

    weights: Floats
    bias: float

    @classmethod
    def read(cls, weights: Weights, name: str) -> Self:
        """Return the one of that name in a file."""
        return cls(weights=weights[name], bias=float(weights[f"{name}_bias"]))

    def write(self, name: str) -> Weights:
        """Return what a file holds of it under that name."""
        return {name: self.weights, f"{name}_bias": np.asarray(self.bias, dtype=np.float32)}


@dataclass(frozen=True, slots=True)
class Linear(_Regression):
    """A logistic regression over rows of numbers."""

    def score(self, rows: Floats) -> Floats:
        """Return a probability for each row."""
        return squash(rows @ self.weights + self.bias)


@dataclass(frozen=True, slots=True)
class Phrases(_Regression):
    """A logistic regression over the phrases of a pair, longer texts damped by the root of how many they have."""

    def weigh(self, phrases: Sequence[Codes]) -> Floats:
        """Return the log-odds of each pair: codes of `list_phrases`."""
        sums = [self.weights[codes].sum() / np.sqrt(len(codes) + 1) for codes in phrases]
        return np.array(sums, dtype=np.float32) + np.float32(self.bias)


@dataclass(frozen=True, slots=True)
class Network:
    """A hidden layer over a pair: its vectors, and its standardised features."""

    means: Floats
    scales: Floats
    hidden: Floats
    hidden_bias: Floats
    output: Floats
    output_bias: float

    def join(self, vectors: Floats, features: Floats) -> Floats:
        """Return the inputs of each pair: rows of its vectors, and of its features, standardised."""
        return np.concatenate([vectors, (features - self.means) / self.scales], axis=1)

    def weigh(self, vectors: Floats, features: Floats) -> Floats:
        """Return the log-odds of each pair: rows of its vectors and of its features."""
        active = np.maximum(self.join(vectors, features) @ self.hidden + self.hidden_bias, 0)
        return np.asarray(active @ self.output + self.output_bias, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class PairModel:
    """Whether something is so of a pair of texts is said by two models, whose log-odds add up."""

    network: Network
    phrases: Phrases

    def score(self, vectors: Floats, features: Floats, phrases: Sequence[Codes]) -> Floats:
        """Return the probability for each pair: rows of its vectors and of its features, and its phrases."""
        return squash(self.network.weigh(vectors, features) + self.phrases.weigh(phrases))

    @classmethod
    def read(cls, weights: Weights) -> Self:
        """Return the one in a file."""
        network = Network(
            means=weights["means"],
            scales=weights["scales"],
            hidden=weights["hidden"],
            hidden_bias=weights["hidden_bias"],
            output=weights["output"],
            output_bias=float(weights["output_bias"]),
        )
        return cls(network=network, phrases=Phrases.read(weights, "phrases"))

    def write(self) -> Weights:
        """Return what a file holds of it."""
        return {
            "means": self.network.means,
            "scales": self.network.scales,
            "hidden": self.network.hidden,
            "hidden_bias": self.network.hidden_bias,
            "output": self.network.output,
            "output_bias": np.asarray(self.network.output_bias, dtype=np.float32),
            **self.phrases.write("phrases"),
        }


def raise_odds(probability: float, *, by: float) -> float:
    """Return the probability whose odds are `by` times those of `probability`."""
    odds = probability / (1 - probability) * by
    return odds / (1 + odds)


def squash(logits: Floats) -> Floats:
    """Return the probabilities of log-odds."""
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))), dtype=np.float32)


def load_weights(name: str) -> Weights:
    """Return the weights in ``data/{name}.npz`` by their names."""
    with files(__package__).joinpath(f"data/{name}.npz").open("rb") as file, np.load(file) as found:
        return {key: found[key].astype(np.float32) for key in found.files}


def check_shapes(name: str, weights: Weights, *, lines: Mapping[str, int], vectors: int, features: int) -> None:
    """Raise `ValueError` where the shape of any weights in ``data/{name}.npz`` is not that of what they are for.

    `lines`: the inputs of each `Linear` model; `vectors`, `features`: the numbers in the rows of a `PairModel`.
    """
    units = weights["output"].shape
    shapes: dict[str, Shape] = {line: (inputs,) for line, inputs in lines.items()} | {
        "means": (features,),
        "scales": (features,),
        "hidden": (vectors + features, *units),
        "hidden_bias": units,
        "phrases": (SIZE,),
    }
    misfits = [
        f"{key} is {weights[key].shape}, not {shape}" for key, shape in shapes.items() if weights[key].shape != shape
    ]
    if misfits:
        raise ValueError(
            f"data/{name}.npz does not fit the features ({'; '.join(misfits)}): "
            f"run python -m benchmarks.train_{name} after a change to them."
        )
