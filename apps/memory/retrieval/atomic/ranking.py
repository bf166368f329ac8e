"""The score of a memory: the sum of its features, each times its weight (A4). Pure, no Django."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from apps.memory.retrieval.atomic.features import FEATURES
from apps.memory.retrieval.atomic.types import AtomicRecall, Flags, Floats, Integers

SAID_BEFORE = -3.0
"""The weight of what was said already; measured in docs/retrieval.md."""

# The evidence, in standard deviations, that a memory needs among very many, and how much less where there are few: the
# more memories there are, the likelier one of them is near a message by chance. Measured in docs/retrieval.md.
OUTSTANDING, FEW_MEMORIES = 3.5, 110.0

WEIGHTS_FILE = Path(__file__).with_name("weights.toml")


@cache
def load_weights() -> Mapping[str, float]:
    """Return the weight of each feature, as ``python -m benchmarks.train_ranking`` wrote it; earlier lines count alike.

    Raises `ValueError` where the file and `FEATURES` do not name the same ones.
    """
    weights = tomllib.loads(WEIGHTS_FILE.read_text("utf-8"))["weights"]
    if weights.keys() != FEATURES.keys():
        raise ValueError(f"{WEIGHTS_FILE.name} is of other features; run python -m benchmarks.train_ranking")
    trained = {name: float(weights[name]) for name in FEATURES}
    return {
        **trained,
        "earlier_meaning": trained["meaning"],
        "earlier_words": trained["words"],
        "said_before": SAID_BEFORE,
    }


def weigh(features: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the points that each feature gives to each row: the parts of which the score is the sum."""
    return {name: features[name] * weight for name, weight in load_weights().items()}


def rank(scores: Floats, *, times: Floats) -> Integers:
    """Return the rows' numbers, best first; equal scores by time, newest first, then in their order."""
    order: Integers = np.lexsort((-times, -scores))
    return order


def find_outstanding(recall: AtomicRecall, evidence: Floats) -> Flags:
    """Return which rows stand out from the person's other memories: whatever an embedder's cosines are like (A4).

    Of very few memories it is every one above average: a higher threshold would cut what chance explains no worse than
    what it keeps. Where only the best of very many were read all do: there are no others to stand out from.
    """
    count = len(recall.rows)
    if count < recall.memory_count:
        return np.ones(count, dtype=np.bool_)
    return np.asarray(evidence >= find_threshold(count), np.bool_)


def find_threshold(count: int) -> float:
    """Return the evidence, in standard deviations, by which one of so many texts stands out from the others."""
    return max(0.0, OUTSTANDING - FEW_MEMORIES / max(count, 1))
