"""Jiyi beside mem0 in one run: recall, adding, and searching among the memories of many people.

    python -m benchmarks.compare_mem0 FOLDER... [--sizes 6000 100000] [--json FILE]

FOLDERs are in BEIR's layout (see `apps.core.beir`). Both use the same embedded PostgreSQL with pgvector, each with a
database of its own, and the same local embedder, each in its own process; mem0 (from the package index, with
``infer=False``) has an environment of its own, which is installed first. The people of the folders are repeated under
further names, with varied vectors, until there are as many memories as each of the sizes says. All memories are added
through the services of either side, and all searches are filtered to the asking user.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any
from unittest.mock import patch
from zlib import crc32

from rich.console import Console
from rich.progress import track
from rich.table import Table

from apps.core.beir import CorpusRow, Folder, InvalidFolder, Query, read_folders
from benchmarks.running import describe_machine, get_spread, make_console, run_in_new_data_folder
from benchmarks.vectors import Matrix, embed_texts, vary_vectors

if TYPE_CHECKING:
    from apps.accounts.models import User
    from apps.memory.management.commands.evaluate_retrieval import Ranking
    from benchmarks.mem0_side import Mem0

# Of recall; the greater one is how many results every search asks for.
DEPTHS = (5, 10)
LIMIT = max(DEPTHS)
BATCH = 100
# Questions that one side is asked before it is the other's turn.
BLOCK = 25
# Searches of each side before any is timed.
WARM_UP = 20
PEOPLE = "people"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with the memories `rows`, in order. `queries` ask for them; somebody who was cut short has none.

    `copy`: 1 for the people of the folders, 2 for those who repeat them once, and so on.
    """

    name: str
    rows: Sequence[CorpusRow]
    queries: Sequence[Query]
    copy: int = 1


def split_people(folder: Folder) -> list[Person]:
    """Return the people of a folder, in order of their first row."""
    rows: dict[str, list[CorpusRow]] = defaultdict(list)
    queries: dict[str, list[Query]] = defaultdict(list)
    for row in folder.corpus:
        rows[row.user_id].append(row)
    for query in folder.queries:
        queries[query.user_id].append(query)
    return [Person(name=f"{folder.name}/{name}", rows=rows[name], queries=queries[name]) for name in rows]


def grow_people(folders: Sequence[Folder], *, sizes: Sequence[int]) -> list[list[Person]]:
    """Return, for each number of memories, the people who join those before so that there are exactly as many.

    `sizes` grow. The people of all folders come once, then again under further names, and so on; the last one of each
    size is cut to fit.
    """
    originals = [person for folder in folders for person in split_people(folder)]
    endless = (replace(person, name=f"{person.name}#{copy}", copy=copy) for copy in count(1) for person in originals)
    steps: list[list[Person]] = []
    held = 0
    for size in sizes:
        step: list[Person] = []
        while held < size:
            person = next(endless)
            if len(person.rows) > size - held:
                person = replace(person, rows=person.rows[: size - held], queries=())
            step.append(person)
            held += len(person.rows)
        steps.append(step)
    return steps


def draw_questions(people: Sequence[Person], *, number: int, seed: int) -> list[tuple[Person, Query]]:
    """Draw questions: every query that can be asked once before any is asked again, each of one of the people it fits.

    The same arguments give the same questions. Raises ValueError where nobody has a query.
    """
    draw = random.Random(seed)
    asked_by: dict[str, list[tuple[Person, Query]]] = defaultdict(list)
    for person in people:
        for query in person.queries:
            asked_by[f"{person.name.rpartition('#')[0]}/{query.id}"].append((person, query))
    if not asked_by:
        raise ValueError("the number of memories is smaller than that of the first person with queries")

    def draw_keys() -> Iterator[str]:
        while True:
            yield from draw.sample(sorted(asked_by), len(asked_by))

    chosen = [draw.choice(asked_by[key]) for key in islice(draw_keys(), number)]
    return [
        (person, replace(query, text=make_distinct(query.text, place)))
        for place, (person, query) in enumerate(chosen, start=seed * number)
    ]


def make_distinct(text: str, number: int) -> str:
    """Return `text` with white space behind it that no other number gives.

    Its words and its vector stay the same, and no cache of query vectors knows it.
    """
    return text.rstrip() + " " + f"{number:b}".translate({ord("0"): " ", ord("1"): "\t"})


class Jiyi:
    """The product in this process, on the embedded servers that are running. Found memories go by their rows' IDs."""

    name = "Jiyi"

    def __init__(self) -> None:
        from apps.memory.vectors.queries import embed_query

        embed_query("warm-up", deadline=60)
        self._users: dict[tuple[str, str], User] = {}
        self._known: dict[uuid.UUID, str] = {}

    def add(
        self, table: str, person: str, rows: Sequence[CorpusRow], *, batch: int, vectors: Matrix | None = None
    ) -> float:
        """Store memories through the service, `batch` at once; returns the seconds. `vectors`: theirs, if given."""
        from django.utils import timezone

        from apps.accounts.services.people import create_scratch_user
        from apps.core.llm.embedding import fit, split_text
        from apps.core.llm.embedding_local import LocalEmbedder
        from apps.memory.lifecycle import create_atomic_memories
        from apps.memory.types import AtomicDraft

        user = self._users[table, person] = create_scratch_user(username=f"benchmark-{uuid.uuid4()}")
        drafts = [AtomicDraft(content=f"{row.speaker}: {row.text}", timestamp=row.timestamp) for row in rows]
        memories = []

        def store() -> float:
            start = time.perf_counter()
            for at in range(0, len(drafts), batch):
                memories.extend(create_atomic_memories(user=user, drafts=drafts[at : at + batch], now=timezone.now()))
            return time.perf_counter() - start

        if vectors is None:
            seconds = store()
        else:
            known = {
                part: vector  # of a text in several parts, each has the vector of the whole
                for draft, vector in zip(drafts, fit(vectors), strict=True)
                for part in split_text(draft.content, max_characters=LocalEmbedder().max_characters)
            }
            look_up = lambda _embedder, texts, **_options: [known[text] for text in texts]  # noqa: E731
            with patch.object(LocalEmbedder, "embed", look_up):
                seconds = store()
        self._known |= {memory.id: row.id for memory, row in zip(memories, rows, strict=True)}
        return seconds

    def search(self, table: str, person: str, query: Query, *, limit: int) -> Ranking:
        """Ask a person's memories; the time includes embedding the question."""
        from apps.memory.management.commands.evaluate_retrieval import ask

        return ask(self._users[table, person], query, known=self._known, limit=limit)

    def settle(self) -> None:
        """Do what autovacuum does sooner or later."""
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")


def measure(folders: Sequence[Folder], options: argparse.Namespace, *, console: Console) -> dict[str, Any]:
    """Measure everything on servers of this run's own; returns the report."""
    with run_in_new_data_folder() as data_folder:
        from benchmarks.mem0_side import run_mem0

        with run_mem0(data_folder) as mem0:
            sides = (Jiyi(), mem0)
            return {
                **describe_machine(),
                "recall": {folder.name: _compare_recall(folder, sides, console=console) for folder in folders},
                "sizes": list(_measure_sizes(folders, options, sides, console=console)),
            }


def _compare_recall(folder: Folder, sides: Sequence[Jiyi | Mem0], *, console: Console) -> dict[str, Any]:
    """Compare recall on a folder that is alone in a table of its own."""
    figures, table, people = {}, f"folder_{uuid.uuid4().hex}", split_people(folder)
    queries = [(person, query) for person in people for query in person.queries]
    for side in sides:
        for person in track(people, f"{folder.name}: adding to {side.name}", console=console):
            side.add(table, person.name, person.rows, batch=BATCH)
        side.settle()
        asked = track(queries, f"{folder.name}: searching {side.name}", console=console)
        figures[side.name] = summarize([side.search(table, person.name, query, limit=LIMIT) for person, query in asked])
    return figures


def summarize(rankings: Sequence[Ranking]) -> dict[str, Any]:
    """Return recall, time in milliseconds, and the mean number of results, of at least two rankings."""
    from apps.memory.management.commands.evaluate_retrieval import compute_recall

    spread = get_spread([ranking.milliseconds for ranking in rankings])
    recall = {
        f"recall@{k}": round(fmean(compute_recall(each.ranked, each.query.relevant, k=k) for each in rankings), 4)
        for k in DEPTHS
    }
    results = round(fmean(len(ranking.ranked) for ranking in rankings), 2)
    times = {"p50_ms": spread.p50, "p95_ms": spread.p95}
    return {**recall, **times, "results": results, "late": sum(ranking.late for ranking in rankings)}


def _measure_sizes(
    folders: Sequence[Folder], options: argparse.Namespace, sides: Sequence[Jiyi | Mem0], *, console: Console
) -> Iterator[dict[str, Any]]:
    """Grow the memories of all sides from size to size, with vectors given, and measure each."""
    people: list[Person] = []
    vectors: dict[str, Matrix] = {}  # of the originals, whose copies have varied ones
    for number, (size, step) in enumerate(zip(options.sizes, grow_people(folders, sizes=options.sizes), strict=True)):
        people += step
        rows, seconds = sum(len(person.rows) for person in step), dict.fromkeys((side.name for side in sides), 0.0)
        for person in track(step, f"Adding up to {size:,} memories", console=console):
            original = person.name.rpartition("#")[0]
            if len(vectors.get(original, ())) < len(person.rows):
                vectors[original] = embed_texts([f"{row.speaker}: {row.text}" for row in person.rows])
            given = vectors[original][: len(person.rows)]
            if person.copy > 1:
                given = vary_vectors(given, seed=crc32(person.name.encode()))
            for side in sides:
                seconds[side.name] += side.add(PEOPLE, person.name, person.rows, batch=BATCH, vectors=given)
        for side in sides:
            side.settle()
        asked = draw_questions(people, number=WARM_UP + options.questions, seed=number + 1)
        rankings: dict[str, list[Ranking]] = {side.name: [] for side in sides}
        for start in track(range(0, len(asked), BLOCK), "Searching", console=console):
            for side in sides:
                rankings[side.name] += [
                    side.search(PEOPLE, person.name, query, limit=LIMIT)
                    for person, query in asked[start : start + BLOCK]
                ]
            sides = sides[::-1]  # so that a temporary slowdown hits all of them
        texts = [row for person in people[: options.adds] for row in person.rows]
        added = random.Random(number).sample(texts, k=min(options.adds, len(texts)))
        vectors_of_added = embed_texts([f"{row.speaker}: {row.text}" for row in added])
        yield {
            "memories": size,
            "people": len(people),
            "search": {name: summarize(found[WARM_UP:]) for name, found in rankings.items()},
            "add_given": {name: round(rows / value, 1) for name, value in seconds.items()},
            "add_given_singly": _measure_adding(sides, added, batch=1, vectors=vectors_of_added),
            "add_embedded": _measure_adding(sides, added, batch=BATCH),
            "add_embedded_singly": _measure_adding(sides, added, batch=1),
        }


def _measure_adding(
    sides: Sequence[Jiyi | Mem0], rows: Sequence[CorpusRow], *, batch: int, vectors: Matrix | None = None
) -> dict[str, float]:
    """Add memories of somebody new to each side, `batch` a call; returns how many a second."""
    somebody = f"somebody {uuid.uuid4()}"
    return {
        side.name: round(len(rows) / side.add(PEOPLE, somebody, rows, batch=batch, vectors=vectors), 1)
        for side in sides
    }


def make_tables(report: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the figures as tables: recall, then search and adding by size."""
    table = Table(title="Recall of the gold evidence among the asking user's memories", title_justify="left")
    columns = ("recall@5", "recall@10", "results", "p50_ms", "p95_ms")
    for name in ("folder", "side", *columns):
        table.add_column(name, justify="right" if name in columns else "left")
    for folder, sides in report["recall"].items():
        for side, figures in sides.items():
            table.add_row(folder, side, *(str(figures[column]) for column in columns))
    yield table
    table = Table(title="Search among the memories of many people; adding, memories a second", title_justify="left")
    # Of each pair: one a call, then `BATCH` a call.
    adding = ("add_given_singly", "add_given", "add_embedded_singly", "add_embedded")
    for name in ("memories", "side", *columns, "given, 1", "given, 100", "embedded, 1", "embedded, 100"):
        table.add_column(name, justify="left" if name == "side" else "right")
    for size in report["sizes"]:
        for side, figures in size["search"].items():
            cells = (*(figures[column] for column in columns), *(size[name][side] for name in adding))
            table.add_row(f"{size['memories']:,}", side, *map(str, cells))
    yield table


def main() -> None:
    """Measure, print the tables, and write the report where one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--sizes", type=int, nargs="+", default=[6_000, 100_000], metavar="N", help="6000 100000")
    parser.add_argument("--questions", type=int, default=300, metavar="N", help="timed searches at each size (300)")
    parser.add_argument("--adds", type=int, default=300, metavar="N", help="memories added with embedding (300)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = parser.parse_args()
    options.sizes = sorted(set(options.sizes))
    if options.sizes[0] < 1 or options.questions < 2 or options.adds < 1:
        parser.error("--questions has to be at least 2, and everything else at least 1")
    try:
        folders = read_folders(options.folders)
        draw_questions(grow_people(folders, sizes=options.sizes)[0], number=1, seed=0)
    except (InvalidFolder, ValueError) as error:
        parser.error(str(error))
    console = make_console()
    report = measure(folders, options, console=console)
    for table in make_tables(report):
        console.print(table)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
