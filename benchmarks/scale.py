"""How search and storage of atomic memories grow with the number of memories of many people.

    python -m benchmarks.scale [--sizes 10000 100000 1000000] [--users 2000] [--big 50000] [--json FILE] [--png FILE]

One embedded PostgreSQL in a temporary folder grows from size to size. One person has very many memories, the others
share the rest. Sentences are invented in both languages, terms are computed as the product does, vectors are mixtures
of those of a few thousand sentences. Each size is searched as in a turn, by three groups of people: ordinary ones, a
few whose memories stay as many at all sizes, and the one with very many.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count, islice
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from rich.console import Console

from benchmarks.contents import Embedded, embed_texts
from benchmarks.environments import NotInstalled
from benchmarks.figures import get_spread
from benchmarks.outputs import add_outputs, check_outputs, prepare_outputs, write_outputs
from benchmarks.progress import INTERRUPTED, interruptible, make_console, show_progress
from benchmarks.running import describe_machine, run_in_new_data_folder
from benchmarks.scale_report import describe_goals, make_charts, make_tables
from benchmarks.sentences import make_question, make_sentence
from benchmarks.sharing import Sharing, share_memories

if TYPE_CHECKING:
    from apps.accounts.models import User
    from apps.memory.embeddings.queries import QueryEmbedding
    from benchmarks.growth import Growth

LIMIT = 10
"""Results of every search, and the depth of recall."""

BATCH = 100
"""Memories stored in one call of the service."""

WARM_UP = 10
"""Searches of each group and kind before any is timed."""

POOL_NUMBERS = 2_000_000_000
"""The first number of the sentences whose vectors are mixed, far from those of memories."""

ADDED_NUMBERS = 3_000_000_000
"""The first number of the sentences that are stored through the service."""


@dataclass(frozen=True, slots=True)
class Options:
    """How much is measured. `pool`: sentences whose vectors are mixed. `questions`: timed ones of each group and kind.

    `judged`: questions of each group whose recall is measured. `adds`: memories stored through the service in each way.
    """

    sizes: Sequence[int]
    users: int
    big: int
    pool: int
    questions: int
    judged: int
    adds: int


def measure(options: Options, *, console: Console) -> dict[str, Any]:
    """Measure every size on servers of this run's own; returns the report."""
    sharings = share_memories(options.sizes, users=options.users, big=options.big)
    with run_in_new_data_folder() as folder:
        from benchmarks.growth import Growth
        from benchmarks.server_figures import read_disk_sizes, read_server_memory

        sentences = [make_sentence(number) for number in range(POOL_NUMBERS, POOL_NUMBERS + options.pool)]
        with show_progress("Embedding sentences", total=options.pool, console=console) as advance:
            pool = Embedded(sentences, advance=advance).matrix
        growth = Growth(users=options.users, pool=pool)
        numbers = count()  # of questions: none is asked twice
        figures = []
        for size, sharing in zip(options.sizes, sharings, strict=True):
            new = size - sum(growth.counts)
            with show_progress(f"Loading up to {size:,} memories", total=new, console=console) as advance:
                load = growth.grow(sharing, advance=advance)
            figures.append(
                {
                    "memories": size,
                    "load": _describe_load(load.rows, load.copy_seconds, load.index_seconds),
                    "groups": _search(growth, sharing, options, numbers=numbers, console=console),
                    "service": _add(options, console=console),
                    "disk_mib": read_disk_sizes(),
                    "server_memory_mib": asdict(read_server_memory(folder)),
                }
            )
    report = {**describe_machine(), "users": options.users, "big": options.big, "sizes": figures}
    return {**report, "goals": describe_goals(report)}


def _describe_load(rows: int, copy_seconds: float, index_seconds: float) -> dict[str, Any]:
    """`index_seconds` is for all rows there are, `copy_seconds` for the new ones."""
    rate = round(rows / (copy_seconds + index_seconds), 1)
    return {
        "rows": rows,
        "copy_seconds": round(copy_seconds, 1),
        "index_seconds": round(index_seconds, 1),
        "rows_per_second": rate,
    }


def _search(
    growth: Growth, sharing: Sharing, options: Options, *, numbers: Iterator[int], console: Console
) -> dict[str, Any]:
    """Return the times and the recall of each group. The groups take turns, so that a slowdown hits all of them."""
    from apps.memory.embeddings.queries import embed_query

    embed_query("warm-up", deadline=60)
    people = {name: growth.draw_users(members, seed=sum(growth.counts)) for name, members in sharing.groups.items()}
    times: dict[str, dict[str, list[float]]] = {name: {"given": [], "included": []} for name in people}
    late = 0
    rounds = WARM_UP + options.questions
    with show_progress("Searching", total=rounds, console=console) as advance:
        for number in range(rounds):
            for name, drawn in people.items():
                question = make_question(next(numbers))
                embedding = _embed(question)
                given, _ = _time_search(next(drawn), question, embedding=embedding)
                included, in_time = _time_search(next(drawn), make_question(next(numbers)), embedding=None)
                if number >= WARM_UP:
                    late += not in_time
                    times[name]["given"].append(given)
                    times[name]["included"].append(included)
            advance(1)
    recall = {}
    with show_progress("Comparing with exact scans", total=len(people) * options.judged, console=console) as advance:
        for name, drawn in people.items():
            found = []
            for user in islice(drawn, options.judged):
                found.append(_judge(user, _embed(make_question(next(numbers)))))
                advance(1)
            recall[name] = round(fmean(found), 4)
    return {
        name: {
            "members": len(members),
            "memories_of_each": median(growth.counts[member] for member in members),
            **{way: asdict(get_spread(values)) for way, values in times[name].items()},
            "recall": recall[name],
            "late": late,
        }
        for name, members in sharing.groups.items()
    }


def _embed(question: str) -> QueryEmbedding:
    from apps.memory.embeddings.queries import embed_query

    embedding = embed_query(question, deadline=60)
    assert embedding is not None
    return embedding


def _time_search(user: User, question: str, *, embedding: QueryEmbedding | None) -> tuple[float, bool]:
    """Search as a turn does; returns the milliseconds, with embedding the question unless its vector is given.

    The second value is false where keywords alone answered, as the vector was not there in time.
    """
    from apps.memory.embeddings.queries import embed_query
    from apps.memory.retrieval.atomic import retrieve_atomic_memories

    start = time.perf_counter()
    vector = embedding or embed_query(question)
    retrieve_atomic_memories(user=user, query=question, limit=LIMIT, query_embedding=vector)
    return (time.perf_counter() - start) * 1000, vector is not None


def _judge(user: User, embedding: QueryEmbedding) -> float:
    """Return which share of a person's `LIMIT` nearest memories are among what is ranked, by the vector alone."""
    from apps.memory.retrieval.atomic.candidates import recall_atomic
    from benchmarks.exact import compute_vector_recall, find_nearest

    recall = recall_atomic(user, terms=[], query_embedding=embedding)
    found = [] if recall is None else sorted(recall.rows.cosine.tolist(), reverse=True)[:LIMIT]
    return compute_vector_recall(found, find_nearest(user, embedding, limit=LIMIT))


def _add(options: Options, *, console: Console) -> dict[str, Any]:
    """Store memories of one more person through the service, and delete them again; returns memories a second.

    `given`: the embedder looks the vectors up; `embedded`: it makes them; `embedder`: what it makes with nothing else.
    """
    from benchmarks.jiyi_side import Jiyi

    # Other sentences for each, as parts of what was computed for a text are cached.
    given, embedded, bare = (_invent(way, options.adds) for way in range(3))
    jiyi = Jiyi()
    jiyi.add(_invent(3, BATCH), batch=BATCH, embedded=None)  # a warm-up
    with show_progress("Adding", total=len(given), console=console) as advance:
        vectors = Embedded(given, advance=advance)
        seconds = {
            "given": jiyi.add(given, batch=BATCH, embedded=vectors),
            "embedded": jiyi.add(embedded, batch=BATCH, embedded=None),
        }
        start = time.perf_counter()
        for at in range(0, len(bare), BATCH):
            embed_texts(bare[at : at + BATCH])
        seconds["embedder"] = time.perf_counter() - start
    return {name: round(options.adds / value, 1) for name, value in seconds.items()}


def _invent(way: int, number: int) -> list[str]:
    """Sentences that no memory has, other ones for each way."""
    first = ADDED_NUMBERS + way * 1_000_000
    return [make_sentence(each) for each in range(first, first + number)]


def main() -> None:
    """Measure, print the tables, and write the report and the plot where they are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = [10_000, 100_000, 1_000_000]
    parser.add_argument("--sizes", type=int, nargs="+", default=default, metavar="N", help="10000 100000 1000000")
    parser.add_argument("--users", type=int, default=2_000, metavar="N", help="people who share them (2000)")
    parser.add_argument("--big", type=int, default=50_000, metavar="N", help="of one; at most half of all (50000)")
    parser.add_argument("--pool", type=int, default=4_000, metavar="N", help="sentences whose vectors are mixed (4000)")
    parser.add_argument("--questions", type=int, default=200, metavar="N", help="timed, of each group and kind (200)")
    parser.add_argument(
        "--judged", type=int, default=100, metavar="N", help="questions for recall, of each group (100)"
    )
    parser.add_argument(
        "--adds", type=int, default=1_000, metavar="N", help="memories added through the service (1000)"
    )
    add_outputs(parser)
    given = parser.parse_args()
    check_outputs(parser, given)
    sizes = sorted(set(given.sizes))
    if given.questions < 2 or min(sizes[0], given.big, given.pool, given.judged, given.adds) < 1:
        parser.error("--questions has to be at least 2, and everything else at least 1")
    try:
        share_memories(sizes, users=given.users, big=given.big)
    except ValueError as error:
        parser.error(str(error))
    options = Options(sizes, given.users, given.big, given.pool, given.questions, given.judged, given.adds)
    sys.exit(_run(options, given))


def _run(options: Options, given: argparse.Namespace) -> int:
    console = make_console()
    try:
        with interruptible():
            prepare_outputs(given)
            report = measure(options, console=console)
            for table in make_tables(report):
                console.print(table)
            write_outputs(given, report, make_charts(report), title=f"Atomic memories of {options.users:,} people")
    except NotInstalled as error:
        console.print(str(error), markup=False)
        return 1
    except KeyboardInterrupt:
        console.print("Stopped. Processes were ended, temporary folders deleted.")
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    main()
