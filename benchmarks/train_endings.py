"""Fits the models of `apps.memory.atomic.endings` and writes their weights.

    python -m benchmarks.train_endings [--cases FILE...] [--output FILE]

From the statements, conversations and diaries in ``benchmarks/endings`` (README.md there) and the labelled
conversations of ``tests/quality`` that are for that (FILEs; by default all of these). Takes half an hour; the same
inputs give the same weights.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from apps.memory.atomic.endings import read_new, read_olds, read_pair
from apps.memory.atomic.networks import Linear, Weights
from apps.memory.atomic.phrases import list_phrases
from apps.memory.atomic.vectors import Floats, Statement, join_vectors, make_statement
from benchmarks.ending_rows import Maker, Row, load_diaries, load_groups, make_case_rows, make_diary_rows, tell
from benchmarks.fitting import fit_line
from benchmarks.training import fit_pair, run, track
from tests.quality.cases import ContradictionCase

_PENALTY = 0.3
_LINE_PENALTY = 1 / 0.3
_UNITS = 64
_PASSES = 14
_STATEMENTS_SHARE = 0.3


def read_statement(text: str) -> Statement:
    """The text as it would be stored, with its vector."""
    return make_statement(tell(text))


def train(cases: Sequence[ContradictionCase]) -> Weights:
    """Return the weights by name."""
    maker = Maker(load_groups(), seed=0)
    statements = [list(rows) for rows in (maker.make_pairs(), maker.make_states(), maker.make_changes())]
    pairs, states, changes = (
        [*of_cases, *of_diaries, *(replace(row, share=row.share * _STATEMENTS_SHARE) for row in of_statements)]
        for of_cases, of_diaries, of_statements in zip(
            make_case_rows(cases), make_diary_rows(load_diaries()), statements, strict=True
        )
    )
    olds = read_olds([read_statement(row.old) for row in track(states, "States")])
    state = Linear(*fit_line(olds, *_labels(states), penalty=_LINE_PENALTY))
    news = np.stack([read_new(read_statement(row.new)) for row in track(changes, "Changes")])
    change = Linear(*fit_line(news, *_labels(changes), penalty=_LINE_PENALTY))
    end = fit_pair(
        np.concatenate(
            [join_vectors([read_statement(row.old)], read_statement(row.new)) for row in track(pairs, "Vectors")]
        ),
        np.stack([read_pair(tell(row.old), tell(row.new)) for row in track(pairs, "Features")]),
        [list_phrases(tell(row.old), tell(row.new)) for row in pairs],
        *_labels(pairs),
        units=_UNITS,
        penalty=_PENALTY,
        passes=_PASSES,
    )
    return {**state.write("state"), **change.write("change"), **end.write()}


def _labels(rows: Sequence[Row]) -> tuple[Floats, Floats]:
    labels = np.array([row.label for row in rows], np.float32)
    return labels, np.array([row.share for row in rows], np.float32)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write the weights."""
    return run(train, name="endings", description=__doc__, arguments=arguments)


if __name__ == "__main__":
    sys.exit(main())
