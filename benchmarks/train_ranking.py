"""Train the weights of atomic retrieval on BEIR folders, and judge them on what they were not trained on.

    python -m benchmarks.train_ranking FOLDER... [--ablate] [--dry-run]

The score of a memory is linear in its features (`apps.memory.recall.features`); statements and turns of a conversation
have weights of their own, and each folder has one of the two. The weights are those under which the relevant memories
of a query are likeliest, by a softmax over all of the person's memories (ListNet, Cao et al. 2007); all folders of a
kind count alike. The figures printed are of weights that never saw the folder: those of the other folders of its kind.
The weights written are trained on everything.
"""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import django
import numpy as np
from rich.progress import track
from rich.table import Table

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
django.setup()

from apps.core.beir import CorpusRow, Folder, InvalidFolder, read_folders  # noqa: E402 - Django has to be set up before
from apps.core.text.search import bm25_terms  # noqa: E402
from apps.core.text.sentences import drop_speakers  # noqa: E402
from apps.memory.recall.atomic import WEIGHTS_FILE  # noqa: E402
from apps.memory.recall.features import (  # noqa: E402
    FEATURES,
    AtomicRecall,
    AtomicRows,
    Floats,
    Integers,
    compute_features,
    find_turns,
)
from apps.memory.recall.query import AtomicQuery  # noqa: E402
from benchmarks.running import make_console  # noqa: E402
from benchmarks.vectors import embed_texts  # noqa: E402

DEPTHS = (5, 10)
# Of the squared weights of standardised features: keeps those small that hardly matter.
PENALTY = 5e-3
_STEPS = 20
_CLOSE = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A query with the features of all rows of its user, shape (n, features), and which of these are relevant.

    `kind`: what the user's rows are, "statement" or "turn".
    """

    folder: str
    kind: str
    features: Floats
    relevant: Floats


def read_judged(folder: Folder) -> Iterator[Judged]:
    """Yield each query of a folder with all memories of its user, without a database."""
    by_user: dict[str, list[CorpusRow]] = defaultdict(list)
    for row in folder.corpus:
        by_user[row.user_id].append(row)
    for user_id, rows in track(by_user.items(), description=f"Reading {folder.name}", transient=True):
        # As the product stores them: "speaker: text", in order within each session.
        numbers = {session: number for number, session in enumerate(dict.fromkeys(row.session_id for row in rows))}
        rows.sort(key=lambda row: (numbers[row.session_id], row.timestamp))
        contents = [f"{row.speaker}: {row.text}" for row in rows]
        documents = [Counter(bm25_terms(content)) for content in contents]
        sessions = [numbers[row.session_id] for row in rows]
        times = [row.timestamp.timestamp() for row in rows]
        newest, vectors = datetime.fromtimestamp(max(times), UTC), embed_texts(contents).astype(np.float64)
        for query in folder.queries:
            if query.user_id != user_id:
                continue
            asked = AtomicQuery(query.text)
            (vector,) = embed_texts([drop_speakers(query.text)]).astype(np.float64)
            recall = make_recall(
                contents,
                asked,
                documents=documents,
                sessions=sessions,
                times=times,
                cosine=vectors @ vector,
            )
            features = compute_features(recall, asked, times=asked.list_times(said_at=newest))
            yield Judged(
                folder=folder.name,
                kind="turn" if find_turns(recall.rows).mean() > 0.5 else "statement",
                features=np.stack([features[name] for name in FEATURES], axis=1),
                relevant=np.array([float(query.relevant.get(row.id, 0) > 0) for row in rows]),
            )


def make_recall(
    contents: Sequence[str],
    query: AtomicQuery,
    *,
    documents: Sequence[Counter[str]] | None = None,
    sessions: Sequence[int] | Integers | None = None,
    times: Sequence[float] | Floats | None = None,
    cosine: Sequence[float] | Floats | None = None,
    earlier_cosine: Sequence[float] | Floats | None = None,
) -> AtomicRecall:
    """Return what a recall of memories with these contents would be, without a database.

    `documents`: the terms of each, where they are known. `sessions`: ascending numbers; unless said, each memory is in
    one of its own. `times`: in seconds; unless said, in the order given.
    """
    count = len(contents)
    documents = documents or [Counter(bm25_terms(content)) for content in contents]
    found = [
        (row, number, float(document[term]))
        for number, term in enumerate(query.terms)
        for row, document in enumerate(documents)
        if term in document
    ]
    row, term, frequency = np.array(found, np.float64).reshape(-1, 3).T
    length = np.array([float(document.total()) for document in documents])

    def column(values: Sequence[float] | Floats | None) -> Floats:
        return np.full(count, np.nan) if values is None else np.array(values, np.float64)

    rows = AtomicRows(
        keys=np.array([number.to_bytes(16, "big") for number in range(count)], "V16"),
        session=np.arange(count) if sessions is None else np.array(sessions, np.int64),
        time=np.arange(float(count)) if times is None else np.array(times, np.float64),
        happened=np.arange(float(count)) if times is None else np.array(times, np.float64),
        created=np.zeros(count),
        length=length,
        cosine=column(cosine),
        earlier_cosine=column(earlier_cosine),
        asks=np.array([content.endswith(("?", "？")) for content in contents]),
        speakers=tuple(content.partition(": ")[0] if ": " in content else "" for content in contents),
        row=row.astype(np.int64),
        term=term.astype(np.int64),
        frequency=frequency,
    )
    return AtomicRecall(
        rows=rows,
        memory_count=count,
        average_length=float(length.mean()),
        document_frequencies=np.bincount(rows.term, minlength=len(query.terms)).astype(np.float64),
    )


def train(judged: Sequence[Judged], columns: Sequence[int]) -> Floats:
    """Return the weight of each of these columns, by Newton's method; the loss is convex, so there is one answer.

    All folders weigh the same, and so do all queries of one.
    """
    per_folder = Counter(query.folder for query in judged)
    weight = np.array([1 / per_folder[query.folder] for query in judged])
    weight /= weight.sum()
    # The rows of all queries stand under each other; `starts` and `sizes` say where those of each query are.
    sizes = np.array([len(query.relevant) for query in judged])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    features = np.concatenate([query.features[:, columns] for query in judged])
    scale = features.std(axis=0)
    scale[scale == 0] = 1.0
    features = features / scale
    weight_of_row = np.repeat(weight, sizes)
    target = weight_of_row * np.concatenate([query.relevant / query.relevant.sum() for query in judged])

    def look(weights: Floats) -> tuple[float, Floats]:
        scores = features @ weights
        top = np.maximum.reduceat(scores, starts)
        odds = np.exp(scores - np.repeat(top, sizes))
        totals = np.add.reduceat(odds, starts)
        loss = float(weight @ (top + np.log(totals)) - target @ scores + PENALTY * weights @ weights / 2)
        return loss, odds / np.repeat(totals, sizes)

    weights: Floats = np.zeros(len(columns))
    loss, likelihood = look(weights)
    for _ in range(_STEPS):
        expected = likelihood * weight_of_row
        gradient = features.T @ (expected - target) + PENALTY * weights
        means = np.add.reduceat(features * likelihood[:, None], starts)
        curvature = (features * expected[:, None]).T @ features - (means * weight[:, None]).T @ means
        step = np.linalg.solve(curvature + PENALTY * np.eye(len(columns)), gradient)
        length = 1.0
        while (found := look(weights - length * step))[0] > loss and length > 1e-4:
            length /= 2
        gained, (loss, likelihood) = loss - found[0], found
        weights = weights - length * step
        if gained < _CLOSE:
            break
    return weights / scale


# What is weighed: a statement is found by itself; what is around it, and who says it, are of turns.
COLUMNS = {"statement": ("meaning", "words"), "turn": tuple(FEATURES)}

# Not trained: where a message names a time, statements from then are asked for, which no folder of statements does.
GIVEN = {"statement": {"time": 2.0}, "turn": {}}


def cross_validate(judged: Sequence[Judged], *, without: str = "") -> dict[str, tuple[float, ...]]:
    """Return the mean recall at each depth of each folder, by weights of the other folders of its kind."""
    figures = {}
    for folder in dict.fromkeys(query.folder for query in judged):
        mine = [query for query in judged if query.folder == folder]
        columns = [place for place, name in enumerate(FEATURES) if name in COLUMNS[mine[0].kind] and name != without]
        others = [query for query in judged if query.kind == mine[0].kind and query.folder != folder]
        weights = train(others or mine, columns)
        recalls = []
        for query in mine:
            found = query.relevant[np.argsort(-(query.features[:, columns] @ weights), kind="stable")]
            recalls.append([float(found[:depth].sum() / found.sum()) for depth in DEPTHS])
        figures[folder] = tuple(np.mean(recalls, axis=0))
    return figures


def write_weights(judged: Sequence[Judged], figures: Mapping[str, Sequence[float]]) -> str:
    """Return the text of the weights' file: the figures as comments, then a table for each kind of memory.

    A kind that no folder has keeps its weights.
    """
    lines = ["# Written by python -m benchmarks.train_ranking. Recall at 5 and 10 by weights that did not see the set:"]
    lines += [f"#   {name}: {' '.join(f'{value:.3f}' for value in row)}" for name, row in figures.items()]
    for kind, names in COLUMNS.items():
        if mine := [query for query in judged if query.kind == kind]:
            columns = [place for place, name in enumerate(FEATURES) if name in names]
            found = dict(zip(names, map(float, train(mine, columns)), strict=True)) | GIVEN[kind]
        else:
            found = tomllib.loads(WEIGHTS_FILE.read_text("utf-8"))[kind]
        lines += ["", f"[{kind}]", *(f"{name} = {weight:.4f}" for name, weight in found.items())]
    return "\n".join(lines) + "\n"


def _show(rows: Mapping[str, Mapping[str, Sequence[float]]]) -> Table:
    table = Table(title="Recall at 5 / 10 by weights that did not see the set", title_justify="left")
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
    console = make_console()
    try:
        judged = [query for folder in read_folders(options.folders) for query in read_judged(folder)]
    except InvalidFolder as error:
        parser.error(str(error))
    figures = cross_validate(judged)
    rows: dict[str, Mapping[str, Sequence[float]]] = {"all features": figures}
    if options.ablate:
        rows |= {f"without {name}": cross_validate(judged, without=name) for name in FEATURES}
    console.print(_show(rows))
    text = write_weights(judged, figures)
    if options.dry_run:
        console.print(text, markup=False, highlight=False)
    else:
        WEIGHTS_FILE.write_text(text, "utf-8")
        console.print(f"Wrote {WEIGHTS_FILE.name}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
