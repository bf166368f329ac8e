"""Jiyi beside mem0 in one run: recall, adding, and searching among the memories of many people.

    python -m benchmarks.compare_mem0 FOLDER... [--sizes 6000 100000] [--json FILE] [--png FILE]

FOLDERs are in BEIR's layout (see `apps.core.beir`). Both use the same embedded PostgreSQL with pgvector, each with a
database of its own, and the same local embedder, each in its own process; mem0 (from the package index, with
``infer=False``) has an environment of its own, which is installed first. The people of the folders are repeated under
further names until there are as many memories as each of the sizes says. All searches are filtered to the asking user.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rich.console import Console

from apps.core.beir import InvalidFolder
from apps.memory.evaluation.metrics import compute_recall
from apps.memory.evaluation.types import Folder, Ranking
from benchmarks.clients import Rate
from benchmarks.compare_mem0_report import describe_goals, make_charts, make_tables
from benchmarks.contents import Embedded, PeopleVectors, embed_texts
from benchmarks.corpora import Person, Question, TooFewMemories, draw_questions, get_content, grow_people, read_folders
from benchmarks.environments import Environment, NotInstalled, install
from benchmarks.figures import get_spread
from benchmarks.outputs import add_outputs, check_outputs, prepare_outputs, write_outputs
from benchmarks.progress import INTERRUPTED, Advance, interruptible, make_console, show_progress
from benchmarks.running import describe_machine, run_in_new_data_folder

if TYPE_CHECKING:
    from benchmarks.jiyi_side import Jiyi
    from benchmarks.mem0_side import Mem0

DEPTHS = (5, 10)
"""Of recall; the greater one is how many results every search asks for."""

LIMIT = max(DEPTHS)

BATCH = 100
"""Memories added in one call, where it is not one."""

BLOCK = 25
"""Questions that one side is asked before it is the other's turn."""

WARM_UP = 20
"""Searches of each side before any is timed."""

LONGEST = 1_000
"""Characters of the longest text that is added: the embedder reads it as a whole."""


@dataclass(frozen=True, slots=True)
class Options:
    """How much is measured. `seconds`: of each side's search by `clients` threads at each size. `noise`: of copies."""

    sizes: Sequence[int]
    questions: int
    adds: int
    clients: int
    seconds: float
    noise: float


def measure(
    folders: Sequence[Folder], options: Options, *, environment: Environment, console: Console
) -> dict[str, Any]:
    """Measure everything on servers of this run's own; returns the report."""
    with run_in_new_data_folder() as data_folder:
        from benchmarks.jiyi_side import Jiyi
        from benchmarks.mem0_side import run_mem0

        with run_mem0(environment, data_folder=data_folder) as mem0:
            jiyi = Jiyi()
            jiyi.warm_up()
            report = {
                **describe_machine(),
                "versions": mem0.describe(),
                "noise": options.noise,
                "folders": [folder.name for folder in folders],
                "recall": {folder.name: _compare_recall(folder, jiyi, mem0, console=console) for folder in folders},
                "sizes": _measure_sizes(folders, options, jiyi, mem0, console=console),
            }
    return {**report, "goals": describe_goals(report)}


def _compare_recall(folder: Folder, jiyi: Jiyi, mem0: Mem0, *, console: Console) -> dict[str, Any]:
    figures = {}
    for side in (jiyi, mem0):
        steps = len(folder.corpus) + len(folder.queries)
        with show_progress(f"{folder.name}: {side.name}", total=steps, console=console) as advance:
            figures[side.name] = summarize(side.rank(folder, limit=LIMIT, advance=advance))
    return figures


def summarize(rankings: Sequence[Ranking]) -> dict[str, Any]:
    """Return recall, time in milliseconds, and the mean number of results, of at least two rankings."""
    spread = get_spread([ranking.milliseconds for ranking in rankings])
    recall = {
        f"recall@{k}": round(fmean(compute_recall(each.ranked, each.query.relevant, k=k) for each in rankings), 4)
        for k in DEPTHS
    }
    results = fmean(len(ranking.ranked) for ranking in rankings)
    late = sum(ranking.late for ranking in rankings)
    times = {"p50_ms": spread.p50, "p95_ms": spread.p95}
    return {**recall, **times, "results": round(results, 2), "queries": len(rankings), "late": late}


def _measure_sizes(
    folders: Sequence[Folder], options: Options, jiyi: Jiyi, mem0: Mem0, *, console: Console
) -> list[dict[str, Any]]:
    """Grow the memories of both from size to size, and measure each."""
    steps = grow_people(folders, sizes=options.sizes)
    contents = list(dict.fromkeys(get_content(row) for step in steps for person in step for row in person.rows))
    with show_progress("Embedding the memories", total=len(contents), console=console) as advance:
        embedded = Embedded(contents, advance=advance)
    vectors = PeopleVectors(embedded, noise=options.noise)
    figures, people = [], []
    for number, (size, step) in enumerate(zip(options.sizes, steps, strict=True)):
        people += step
        figures.append(
            {
                "memories": size,
                "people": len(people),
                "load_seconds": {
                    side.name: round(_load(side, step, vectors, total=size, console=console), 1)
                    for side in (jiyi, mem0)
                },
                **_search(people, options, jiyi, mem0, seed=number + 1, console=console),
                "add": _add(embedded, options, jiyi, mem0, console=console),
            }
        )
    return figures


def _load(
    side: Jiyi | Mem0, people: Sequence[Person], vectors: PeopleVectors, *, total: int, console: Console
) -> float:
    rows = sum(len(person.rows) for person in people)
    with show_progress(f"{side.name}: loading up to {total:,} memories", total=rows, console=console) as advance:
        return side.load(people, vectors, total=total, advance=advance)


def _search(
    people: Sequence[Person], options: Options, jiyi: Jiyi, mem0: Mem0, *, seed: int, console: Console
) -> dict[str, Any]:
    """Ask both the same questions in turns, then let several clients search."""
    scans = mem0.count_index_scans()
    asked = draw_questions(people, number=WARM_UP + options.questions, seed=seed)
    sides: tuple[Jiyi | Mem0, ...] = (jiyi, mem0)
    for side in sides:
        side.search(asked[:WARM_UP], limit=LIMIT)
    measured = asked[WARM_UP:]
    with show_progress("Searching", total=2 * len(measured), console=console) as advance:
        rankings = search_in_turns(sides, measured, advance=advance)
    # Other questions, as those of before are known to the cache of query vectors.
    others = draw_questions(people, number=max(1_000, options.questions), seed=seed + 1_000_000)
    rates: dict[str, list[Rate]] = {side.name: [] for side in sides}
    halves = [others[: len(others) // 2], others[len(others) // 2 :]]
    with show_progress(f"Searching with {options.clients} clients", total=4, console=console) as advance:
        for order, questions in zip((sides, sides[::-1]), halves, strict=True):
            for side in order:
                rates[side.name].append(
                    side.search_at_once(
                        questions, limit=LIMIT, clients=options.clients, seconds=options.seconds / len(halves)
                    )
                )
                advance(1)
    searches = len(asked) + sum(rate.calls for rate in rates[mem0.name])
    return {
        "mem0_index_share": round((mem0.count_index_scans() - scans) / searches, 3),
        "search": {name: summarize(found) for name, found in rankings.items()},
        "clients": options.clients,
        "searches_per_second": {
            name: round(sum(rate.calls for rate in found) / sum(rate.seconds for rate in found), 1)
            for name, found in rates.items()
        },
    }


def search_in_turns(
    sides: Sequence[Jiyi | Mem0], questions: Sequence[Question], *, advance: Advance
) -> dict[str, list[Ranking]]:
    """Ask all sides all questions, in blocks, with the side that begins changing from block to block.

    So a temporary slowdown of the machine hits all of them.
    """
    rankings: dict[str, list[Ranking]] = {side.name: [] for side in sides}
    order = list(sides)
    for start in range(0, len(questions), BLOCK):
        block = questions[start : start + BLOCK]
        for side in order:
            rankings[side.name] += side.search(block, limit=LIMIT)
            advance(len(block))
        order.reverse()
    return rankings


def _add(embedded: Embedded, options: Options, jiyi: Jiyi, mem0: Mem0, *, console: Console) -> dict[str, Any]:
    """Add memories of one more person in every way, and the bare embedder on the same texts: memories a second."""
    ways = [(batch, given) for given in (embedded, None) for batch in (1, BATCH)]
    parts = draw_contents(embedded.texts, parts=1 + len(ways), number=options.adds)
    sides = (jiyi, mem0)
    figures: dict[str, Any] = {"memories": options.adds, jiyi.name: {}, mem0.name: {}, "embedder": {}}
    for side in sides:
        side.add(parts[0], batch=BATCH, embedded=None)  # a warm-up
    with show_progress("Adding", total=len(ways) * 2 + 2, console=console) as advance:
        for contents, (batch, given) in zip(parts[1:], ways, strict=True):
            way = f"{'given' if given else 'embedded'}_{batch}"
            for side in sides:
                figures[side.name][way] = round(options.adds / side.add(contents, batch=batch, embedded=given), 1)
                advance(1)
            if not given:
                figures["embedder"][way] = round(options.adds / _time_embedder(contents, batch=batch), 1)
                advance(1)
    return figures


def draw_contents(texts: Sequence[str], *, parts: int, number: int) -> list[list[str]]:
    """Return `parts` lists of `number` texts each that the embedder reads as a whole, drawn in random order.

    No text comes twice before all have come once, as parts of what is computed for a text may be cached.
    """
    short = sorted(text for text in set(texts) if len(text) <= LONGEST)
    random.Random(0).shuffle(short)
    endless = cycle(short)
    return [list(islice(endless, number)) for _ in range(parts)]


def _time_embedder(contents: Sequence[str], *, batch: int) -> float:
    start = time.perf_counter()
    for at in range(0, len(contents), batch):
        embed_texts(contents[at : at + batch])
    return time.perf_counter() - start


def main() -> None:
    """Measure, print the tables, and write the report and the plot where they are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--sizes", type=int, nargs="+", default=[6_000, 100_000], metavar="N", help="6000 100000")
    parser.add_argument("--questions", type=int, default=300, metavar="N", help="timed searches at each size (300)")
    parser.add_argument("--adds", type=int, default=300, metavar="N", help="memories added in each way (300)")
    parser.add_argument("--clients", type=int, default=8, metavar="N", help="threads that search at once (8)")
    parser.add_argument("--seconds", type=float, default=20, help="how long they do so (20)")
    help_noise = "length of the noise in the vectors of repeated people; 0: they share vectors (0.25)"
    parser.add_argument("--noise", type=float, default=0.25, help=help_noise)
    add_outputs(parser)
    given = parser.parse_args()
    check_outputs(parser, given)
    sizes = sorted(set(given.sizes))
    if (
        sizes[0] < 1
        or given.questions < 2
        or min(given.adds, given.clients) < 1
        or given.seconds <= 0
        or given.noise < 0
    ):
        parser.error(
            "--questions has to be at least 2, --seconds above 0, --noise not negative, and everything else at least 1"
        )
    options = Options(sizes, given.questions, given.adds, given.clients, given.seconds, given.noise)
    try:
        folders = read_folders(given.folders)
        draw_questions(grow_people(folders, sizes=sizes)[0], number=1, seed=0)
    except (InvalidFolder, TooFewMemories) as error:
        parser.error(str(error))
    sys.exit(_run(folders, options, given))


def _run(folders: Sequence[Folder], options: Options, given: argparse.Namespace) -> int:
    console = make_console()
    try:
        with interruptible():
            prepare_outputs(given)
            with console.status("Installing mem0 in an environment of its own, unless it is there"):
                environment = install("mem0")
            report = measure(folders, options, environment=environment, console=console)
            for table in make_tables(report):
                console.print(table)
            write_outputs(given, report, make_charts(report), title="Jiyi and mem0, same PostgreSQL, same embedder")
    except NotInstalled as error:
        console.print(str(error), markup=False)
        return 1
    except KeyboardInterrupt:
        console.print("Stopped. Processes were ended, temporary folders deleted.")
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    main()
