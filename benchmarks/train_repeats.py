"""Fits the models of `apps.memory.atomic.repeats` and writes their weights.

    python -m benchmarks.train_repeats [--cases FILE...] [--output FILE]

From the conversations, diaries and statements that `benchmarks.train_endings` learns from (FILEs; by default all of
these). Takes some minutes; the same inputs give the same weights.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from apps.memory.atomic.phrases import SIZE, list_phrases
from apps.memory.atomic.repeats import join_pairs, read_match
from apps.memory.atomic.vectors import Floats, make_statement
from benchmarks.ending_rows import load_diaries, load_groups
from benchmarks.fitting import average, fit_line, fit_network, fit_table
from benchmarks.repeat_rows import (
    make_case_rows,
    make_diary_rows,
    make_passing_rows,
    make_statement_rows,
    make_stranger_rows,
)
from benchmarks.train_endings import run
from tests.quality.cases import ContradictionCase

OUTPUT = Path(__file__).parents[1] / "apps" / "memory" / "atomic" / "data" / "repeats.npz"

_UNITS, _PENALTY, _PASSES, _NETWORKS = 24, 0.15, 12, 2
_TABLE_PENALTY, _TABLE_RATE, _TABLE_PASSES, _LEAST = 1e-4, 0.1, 6, 3
_MORE_PENALTY, _MORE_STEPS = 10, 5


def train(cases: Sequence[ContradictionCase]) -> dict[str, Floats]:
    """Return the weights by name."""
    diaries = load_diaries()
    rows = [
        *make_case_rows(cases),
        *make_stranger_rows(cases),
        *make_passing_rows(cases, diaries),
        *make_diary_rows(diaries),
        *make_statement_rows(load_groups()),
    ]
    pairs = [(make_statement(row.old), make_statement(row.new)) for row in rows]
    vectors = np.concatenate([join_pairs([old], new) for old, new in pairs])
    features = np.stack([read_match(old, new) for old, new in pairs])
    means, scales = features.mean(axis=0), 2 * (features.std(axis=0) + 0.1)
    inputs = np.concatenate([vectors, (features - means) / scales], axis=1).astype(np.float32)
    again = np.array([row.again for row in rows], np.float32)
    shares = np.array([row.share for row in rows], np.float32)
    layers = average(
        [
            fit_network(inputs, again, shares, units=_UNITS, penalty=_PENALTY, passes=_PASSES, seed=seed)
            for seed in range(_NETWORKS)
        ]
    )
    phrases, phrases_bias = fit_table(
        [list_phrases(row.old, row.new) for row in rows],
        again,
        shares,
        size=SIZE,
        penalty=_TABLE_PENALTY,
        passes=_TABLE_PASSES,
        rate=_TABLE_RATE,
        least=_LEAST,
        seed=0,
    )
    known = np.array([row.more is not None for row in rows])  # what is about another fact tells more, too
    more, more_bias = fit_line(
        inputs[known],
        np.array([row.more for row in rows if row.more is not None], np.float32),
        shares[known],
        penalty=_MORE_PENALTY,
        steps=_MORE_STEPS,
    )
    return {
        "means": means,
        "scales": scales,
        "hidden": layers.hidden,
        "hidden_bias": layers.hidden_bias,
        "output": layers.output,
        "output_bias": np.float32(layers.output_bias),
        "phrases": phrases,
        "phrases_bias": np.float32(phrases_bias),
        "more": more,
        "more_bias": np.float32(more_bias),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write the weights."""
    return run(train, output=OUTPUT, description=__doc__, arguments=arguments)


if __name__ == "__main__":
    sys.exit(main())
