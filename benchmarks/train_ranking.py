"""Train the weights of atomic retrieval on BEIR folders, and judge them on what they were not trained on.

    python -m benchmarks.train_ranking FOLDER... [--ablate] [--dry-run]

The score of a memory is linear in its features (`apps.memory.retrieval.atomic.features`). The weights are those under
which the relevant memories of a query are likeliest, by a softmax over all of the person's memories (ListNet, Cao et
al. 2007); a folder counts by the square root of its number of queries. The figures printed are cross-validated: five
folds, leaving out whole people where a folder has at least five, else every fifth query. The weights written are
trained on everything.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import django
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
django.setup()

from apps.core.beir import InvalidFolder  # noqa: E402 - Django has to be set up before
from apps.memory.evaluation.run import read_folders  # noqa: E402
from apps.memory.retrieval.atomic.features import FEATURES  # noqa: E402
from apps.memory.retrieval.atomic.ranking import WEIGHTS_FILE  # noqa: E402
from apps.memory.retrieval.atomic.types import Floats, Integers  # noqa: E402
from benchmarks.ranking_data import FOLDS, Judged, read_judged  # noqa: E402

PENALTY = 5e-3
"""Of the squared weights of standardised features: keeps those small that hardly matter."""

DEPTHS = (5, 10)
_STEPS = 20
_CLOSE = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class _Stack:
    """The rows of many queries under each other. `starts`, `sizes`: where those of each query are."""

    features: Floats
    relevant: Floats
    starts: Integers
    sizes: Integers
    weight: Floats


def stack(judged: Sequence[Judged]) -> _Stack:
    """Put queries together for training; a folder weighs the square root of its queries, which all weigh the same."""
    per_folder = Counter(query.folder for query in judged)
    sizes = np.array([len(query.relevant) for query in judged])
    weight = np.array([per_folder[query.folder] ** -0.5 for query in judged])
    return _Stack(
        features=np.concatenate([query.features for query in judged]),
        relevant=np.concatenate([query.relevant / query.relevant.sum() for query in judged]),
        starts=np.concatenate([[0], np.cumsum(sizes)[:-1]]),
        sizes=sizes,
        weight=weight / weight.sum(),
    )


def train(judged: Sequence[Judged], columns: Sequence[int]) -> Floats:
    """Return the weight of each of these columns, by Newton's method; the loss is convex, so there is one answer."""
    data = stack(judged)
    scale = data.features[:, columns].std(axis=0)
    scale[scale == 0] = 1.0
    features = data.features[:, columns] / scale
    weight_of_row = np.repeat(data.weight, data.sizes)
    target = weight_of_row * data.relevant

    def look(weights: Floats) -> tuple[float, Floats]:
        scores = features @ weights
        top = np.maximum.reduceat(scores, data.starts)
        odds = np.exp(scores - np.repeat(top, data.sizes))
        totals = np.add.reduceat(odds, data.starts)
        loss = float(data.weight @ (top + np.log(totals)) - target @ scores + PENALTY * weights @ weights / 2)
        return loss, odds / np.repeat(totals, data.sizes)

    weights: Floats = np.zeros(len(columns))
    loss, likelihood = look(weights)
    for _ in range(_STEPS):
        expected = likelihood * weight_of_row
        gradient = features.T @ (expected - target) + PENALTY * weights
        means = np.add.reduceat(features * likelihood[:, None], data.starts)
        curvature = (features * expected[:, None]).T @ features - (means * data.weight[:, None]).T @ means
        step = np.linalg.solve(curvature + PENALTY * np.eye(len(columns)), gradient)
        length = 1.0
        while (found := look(weights - length * step))[0] > loss and length > 1e-4:
            length /= 2
        gained, (loss, likelihood) = loss - found[0], found
        weights = weights - length * step
        if gained < _CLOSE:
            break
    return weights / scale


def cross_validate(judged: Sequence[Judged], columns: Sequence[int]) -> dict[str, tuple[float, ...]]:
    """Return the mean recall at each depth of each folder, every query judged by weights that never saw its fold."""
    recalls: dict[str, list[list[float]]] = {query.folder: [] for query in judged}
    for fold in range(FOLDS):
        weights = train([query for query in judged if query.fold != fold], columns)
        for query in judged:
            if query.fold == fold:
                order = np.argsort(-(query.features[:, columns] @ weights), kind="stable")
                found = query.relevant[order]
                recalls[query.folder].append([float(found[:depth].sum() / found.sum()) for depth in DEPTHS])
    return {folder: tuple(np.mean(rows, axis=0)) for folder, rows in recalls.items()}


def write_weights(weights: Floats, figures: Mapping[str, Sequence[float]]) -> str:
    """Return the text of the weights' file: the figures as comments, then one line for each feature."""
    lines = ["# Written by python -m benchmarks.train_ranking. Cross-validated recall at 5 and 10:"]
    lines += [f"#   {name}: {' '.join(f'{value:.3f}' for value in row)}" for name, row in figures.items()]
    lines += ["", "[weights]"]
    lines += [f"{name} = {weight:.4f}" for name, weight in zip(FEATURES, weights, strict=True)]
    return "\n".join(lines) + "\n"


def _read(console: Console, paths: Sequence[Path]) -> list[Judged]:
    folders = read_folders(paths)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    judged: list[Judged] = []
    with Progress(*columns, console=Console(stderr=True), disable=not console.is_terminal) as progress:
        for folder in folders:
            task = progress.add_task(folder.name, total=len(folder.corpus) + len(folder.queries))
            judged += read_judged(folder, advance=lambda task=task: progress.advance(task))  # type: ignore[misc]
    return judged


def _show(rows: Mapping[str, Mapping[str, Sequence[float]]]) -> Table:
    table = Table(title="Recall at 5 / 10, cross-validated", title_justify="left")
    table.add_column("")
    folders = list(next(iter(rows.values())))
    for folder in folders:
        table.add_column(folder, justify="right")
    for label, figures in rows.items():
        table.add_row(label, *(" / ".join(f"{value:.3f}" for value in figures[folder]) for folder in folders))
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, judge, and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--ablate", action="store_true", help="also judge without each feature")
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 160)
    try:
        judged = _read(console, options.folders)
    except InvalidFolder as error:
        parser.error(str(error))
    everything = list(range(len(FEATURES)))
    figures = cross_validate(judged, everything)
    rows: dict[str, Mapping[str, Sequence[float]]] = {"all features": figures}
    if options.ablate:
        for number, name in enumerate(FEATURES):
            rows[f"without {name}"] = cross_validate(judged, [each for each in everything if each != number])
    console.print(_show(rows))
    text = write_weights(train(judged, everything), figures)
    if options.dry_run:
        console.print(text, markup=False, highlight=False)
    else:
        WEIGHTS_FILE.write_text(text, "utf-8")
        console.print(f"Wrote {WEIGHTS_FILE.name}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
