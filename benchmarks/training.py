"""What the trainers of learned models have in common: their command line, how far they are, and models of pairs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import track as show_progress

from apps.memory.atomic.networks import Network, PairModel, Phrases, Weights
from apps.memory.atomic.phrases import SIZE, Codes
from apps.memory.atomic.vectors import Floats
from benchmarks.ending_rows import STATEMENTS
from benchmarks.fitting import average, fit_network, fit_table
from tests.quality.cases import ContradictionCase, load_case_file

_ROOT = Path(__file__).parents[1]
_CONVERSATIONS = _ROOT / "tests" / "quality" / "contradictions"
CASES = [
    *(
        _CONVERSATIONS / f"{language}_{half}.jsonl"
        for half in ("open", "open_2", "open_3")
        for language in ("zh", "en")
    ),
    *(STATEMENTS / f"{language}_cases.jsonl" for language in ("zh", "en")),
]
"""The conversations that may be read but for ``open_4``, which says what the models make of words they never saw."""

_NETWORKS = 2
"""From different beginnings: their mean is steadier than one."""

_TABLE_PENALTY, _TABLE_RATE, _TABLE_PASSES = 1e-4, 0.1, 6
_LEAST = 3

T = TypeVar("T")


def run(
    train: Callable[[Sequence[ContradictionCase]], Weights],
    *,
    name: str,
    description: str | None,
    arguments: Sequence[str] | None,
) -> int:
    """Train on the cases that the command line names, or on all, and write the weights of `name`, for all to use.

    The command line may also say where to write them instead.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", type=Path, default=CASES)
    parser.add_argument("--output", type=Path, default=_ROOT / "apps" / "memory" / "atomic" / "data" / f"{name}.npz")
    given = parser.parse_args(arguments)
    weights = train([case for path in given.cases for case in load_case_file(path, language=path.name[:2])])
    write_weights(weights, given.output)
    return 0


def write_weights(weights: Weights, path: Path) -> None:
    """Write the weights to a file, in half of the precision."""
    halves: dict[str, Any] = {key: value.astype(np.float16) for key, value in weights.items()}
    np.savez_compressed(path, **halves)


def track(steps: Sequence[T], what: str) -> Iterable[T]:
    """Yield the steps, with a bar that tells how far they are, for people; nothing in files and pipes."""
    console = Console(stderr=True)
    return show_progress(steps, what, console=console, disable=not console.is_terminal)


def fit_pair(
    vectors: Floats,
    features: Floats,
    phrases: Sequence[Codes],
    labels: Floats,
    shares: Floats,
    *,
    units: int,
    penalty: float,
    passes: int,
) -> PairModel:
    """Return a model of pairs, a row, its phrases, a label (0 or 1) and a share for each.

    `units`: of each of the networks that are averaged; `penalty`, `passes`: see `fit_network`.
    """
    means, scales = features.mean(axis=0), 2 * (features.std(axis=0) + 0.1)
    rows = np.concatenate([vectors, (features - means) / scales], axis=1).astype(np.float32)
    layers = average(
        [
            fit_network(
                rows,
                labels,
                shares,
                units=units,
                penalty=penalty,
                passes=track(range(passes), f"Network {seed + 1} of {_NETWORKS}"),
                seed=seed,
            )
            for seed in range(_NETWORKS)
        ]
    )
    table, table_bias = fit_table(
        phrases,
        labels,
        shares,
        size=SIZE,
        penalty=_TABLE_PENALTY,
        passes=track(range(_TABLE_PASSES), "Phrases"),
        rate=_TABLE_RATE,
        least=_LEAST,
        seed=0,
    )
    network = Network(
        means=means,
        scales=scales,
        hidden=layers.hidden,
        hidden_bias=layers.hidden_bias,
        output=layers.output,
        output_bias=layers.output_bias,
    )
    return PairModel(network=network, phrases=Phrases(weights=table, bias=table_bias))
