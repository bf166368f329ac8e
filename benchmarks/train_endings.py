"""Fits the models of `apps.memory.atomic.endings` and writes their weights.

    python -m benchmarks.train_endings [--cases FILE...] [--output FILE]

From the statements, conversations and diaries in ``benchmarks/endings`` (README.md there) and the labelled
conversations of ``tests/quality`` that are for that (FILEs; by default all of these). Takes half an hour; the same
inputs give the same weights.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from apps.memory.atomic.endings import read_new, read_old, read_pair
from apps.memory.atomic.phrases import SIZE, list_phrases
from apps.memory.atomic.vectors import Floats, Statement, join_vectors, make_statement
from benchmarks.ending_rows import (
    STATEMENTS,
    Maker,
    Row,
    load_diaries,
    load_groups,
    make_case_rows,
    make_diary_rows,
    tell,
)
from benchmarks.fitting import average, fit_line, fit_network, fit_table
from tests.quality.cases import ContradictionCase, load_case_file

_CONVERSATIONS = Path(__file__).parents[1] / "tests" / "quality" / "contradictions"
CASES = [
    *(
        _CONVERSATIONS / f"{language}_{half}.jsonl"
        for half in ("open", "open_2", "open_3")
        for language in ("zh", "en")
    ),
    *(STATEMENTS / f"{language}_cases.jsonl" for language in ("zh", "en")),
]
"""The conversations that may be read but for ``open_4``, which says what the models make of words they never saw."""

OUTPUT = Path(__file__).parents[1] / "apps" / "memory" / "atomic" / "data" / "endings.npz"

_PENALTY = 0.3
_LINE_PENALTY = 1 / 0.3
_UNITS = 64
_PASSES = 14
_NETWORKS = 2
"""From different beginnings: their mean is steadier than one."""

_TABLE_PENALTY, _TABLE_RATE, _TABLE_PASSES = 1e-4, 0.1, 6
_LEAST = 3
_STATEMENTS_SHARE = 0.3


def read_statement(text: str) -> Statement:
    """The text as it would be stored, with its vector."""
    return make_statement(tell(text))


def train(cases: Sequence[ContradictionCase]) -> dict[str, Floats]:
    """Return the weights by name."""
    maker = Maker(load_groups(), seed=0)
    statements = [list(rows) for rows in (maker.make_pairs(), maker.make_states(), maker.make_changes())]
    pairs, states, changes = (
        [*of_cases, *of_diaries, *(replace(row, share=row.share * _STATEMENTS_SHARE) for row in of_statements)]
        for of_cases, of_diaries, of_statements in zip(
            make_case_rows(cases), make_diary_rows(load_diaries()), statements, strict=True
        )
    )
    state, state_bias = fit_line(
        np.stack([read_old(read_statement(row.old)) for row in states]), *_labels(states), penalty=_LINE_PENALTY
    )
    change, change_bias = fit_line(
        np.stack([read_new(read_statement(row.new)) for row in changes]), *_labels(changes), penalty=_LINE_PENALTY
    )
    vectors = np.concatenate([join_vectors([read_statement(row.old)], read_statement(row.new)) for row in pairs])
    features = np.stack([read_pair(tell(row.old), tell(row.new)) for row in pairs])
    means, scales = features.mean(axis=0), 2 * (features.std(axis=0) + 0.1)
    rows = np.concatenate([vectors, (features - means) / scales], axis=1).astype(np.float32)
    layers = average(
        [
            fit_network(rows, *_labels(pairs), units=_UNITS, penalty=_PENALTY, passes=_PASSES, seed=seed)
            for seed in range(_NETWORKS)
        ]
    )
    phrases, phrases_bias = fit_table(
        [list_phrases(tell(row.old), tell(row.new)) for row in pairs],
        *_labels(pairs),
        size=SIZE,
        penalty=_TABLE_PENALTY,
        passes=_TABLE_PASSES,
        rate=_TABLE_RATE,
        least=_LEAST,
        seed=0,
    )
    return {
        "state": state,
        "state_bias": np.float32(state_bias),
        "change": change,
        "change_bias": np.float32(change_bias),
        "means": means,
        "scales": scales,
        "hidden": layers.hidden,
        "hidden_bias": layers.hidden_bias,
        "output": layers.output,
        "output_bias": np.float32(layers.output_bias),
        "phrases": phrases,
        "phrases_bias": np.float32(phrases_bias),
    }


def _labels(rows: Sequence[Row]) -> tuple[Floats, Floats]:
    labels = np.array([row.label for row in rows], np.float32)
    return labels, np.array([row.share for row in rows], np.float32)


def run(
    train: Callable[[Sequence[ContradictionCase]], dict[str, Floats]],
    *,
    output: Path,
    description: str | None,
    arguments: Sequence[str] | None,
) -> int:
    """Train on the cases that the command line names, or on all, and write the weights: to `output`, if to no other."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", type=Path, default=CASES)
    parser.add_argument("--output", type=Path, default=output)
    given = parser.parse_args(arguments)
    weights = train([case for path in given.cases for case in load_case_file(path, language=path.name[:2])])
    halves: dict[str, Any] = {name: value.astype(np.float16) for name, value in weights.items()}
    np.savez_compressed(given.output, **halves)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write the weights."""
    return run(train, output=OUTPUT, description=__doc__, arguments=arguments)


if __name__ == "__main__":
    sys.exit(main())
