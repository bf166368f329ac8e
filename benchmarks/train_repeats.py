"""Fits the models of `apps.memory.atomic.repeats` and writes their weights.

    python -m benchmarks.train_repeats [--cases FILE...] [--output FILE]

From the conversations, diaries and statements that `benchmarks.train_endings` learns from (FILEs; by default all of
these). Takes ten minutes; the same inputs give the same weights.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from apps.memory.atomic.networks import Linear, Weights
from apps.memory.atomic.phrases import list_phrases
from apps.memory.atomic.repeats import join_pairs, read_match
from apps.memory.atomic.vectors import make_statement
from benchmarks.ending_rows import load_diaries, load_groups
from benchmarks.fitting import fit_line
from benchmarks.repeat_rows import (
    Row,
    make_case_rows,
    make_diary_rows,
    make_passing_rows,
    make_statement_rows,
    make_stranger_rows,
)
from benchmarks.training import fit_pair, run, track
from tests.quality.cases import ContradictionCase

_UNITS, _PENALTY, _PASSES = 24, 0.15, 12
_MORE_PENALTY, _MORE_STEPS = 10, 5


def train(cases: Sequence[ContradictionCase]) -> Weights:
    """Return the weights by name."""
    diaries = load_diaries()
    sources: list[Callable[[], Iterable[Row]]] = [
        lambda: make_case_rows(cases),
        lambda: make_stranger_rows(cases),
        lambda: make_passing_rows(cases, diaries),
        lambda: make_diary_rows(diaries),
        lambda: make_statement_rows(load_groups()),
    ]
    rows = [row for make in track(sources, "Pairs") for row in make()]
    pairs = [(make_statement(row.old), make_statement(row.new)) for row in track(rows, "Statements")]
    vectors = np.concatenate([join_pairs([old], new) for old, new in track(pairs, "Vectors")])
    features = np.stack([read_match(old, new) for old, new in track(pairs, "Features")])
    shares = np.array([row.share for row in rows], np.float32)
    repeat = fit_pair(
        vectors,
        features,
        [list_phrases(row.old, row.new) for row in rows],
        np.array([row.again for row in rows], np.float32),
        shares,
        units=_UNITS,
        penalty=_PENALTY,
        passes=_PASSES,
    )
    known = np.array([row.more is not None for row in rows])  # what is about another fact tells more, too
    more = Linear(
        *fit_line(
            repeat.network.join(vectors[known], features[known]),
            np.array([row.more for row in rows if row.more is not None], np.float32),
            shares[known],
            penalty=_MORE_PENALTY,
            steps=_MORE_STEPS,
        )
    )
    return {**repeat.write(), **more.write("more")}


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write the weights."""
    return run(train, name="repeats", description=__doc__, arguments=arguments)


if __name__ == "__main__":
    sys.exit(main())
