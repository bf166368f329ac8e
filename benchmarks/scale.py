"""Measure how searching atomic memories slows down as many people's memories grow.

    python -m benchmarks.scale [--sizes 10000 100000 1000000] [--users 2000] [--big 50000] [--json FILE]

One embedded PostgreSQL in a temporary folder grows from size to size. One person has very many memories, the others
share the rest. Sentences are invented in both languages, terms are computed as the product does, vectors are mixtures
of those of a few thousand sentences. Each size is searched as in a turn, by three groups of people: ordinary ones, a
few whose memories stay as many at all sizes, and the one with very many.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.running import Spread, describe_machine, get_spread, make_console, run_in_new_data_folder
from benchmarks.sentences import make_question, make_sentence
from benchmarks.vectors import Matrix, embed_texts, mix_vectors

if TYPE_CHECKING:
    from apps.accounts.models import User
    from apps.memory.vectors.queries import QueryEmbedding

# People whose memories stay as many from size to size: how fast they are found depends on the others' alone.
STEADY = 4
ORDINARY, STEADY_GROUP, BIG = "ordinary people", "people who stay the same", "the one with very many"

# Results of every search, and the depth of recall.
LIMIT = 10
# Searches of each group before any is timed.
WARM_UP = 10
MEMORIES_OF_A_SESSION = 20
# The first number of the sentences whose vectors are mixed, far from those of memories.
POOL_NUMBERS = 2_000_000_000

_FIRST = datetime(2024, 1, 1, tzinfo=UTC)
_ROWS_AT_ONCE = 5_000
# Two cosines this near each other are the same: they were added up in another order.
_SAME = 1e-5

# The order is by something else than the distance, so that no index is used.
_NEAREST = """
SELECT 1 - (vector.embedding <=> %(vector)s::halfvec) AS similarity
FROM atomic_embedding AS vector JOIN atomic_memory AS memory ON memory.id = vector.memory_id
WHERE vector.user_id = %(user)s AND vector.model_id = %(model)s AND memory.status = 'active' AND NOT memory.muted
ORDER BY similarity DESC
LIMIT %(limit)s
"""


def share_memories(sizes: Sequence[int], *, users: int, big: int) -> list[list[int]]:
    """Return the number of memories of each person at each of the growing sizes; nobody ever has fewer than before.

    The first person has `big` of them, but no more than half. The `STEADY` next ones have at all sizes what an ordinary
    person has at the greatest, as far as an eighth of the smallest size allows. The rest is shared evenly.
    """
    if users < STEADY + 2:
        raise ValueError(f"there must be at least {STEADY + 2} users")
    if sizes[0] < 2 * users:
        raise ValueError("the smallest size must be at least twice the number of users")
    steady = max(1, min((sizes[-1] - min(big, sizes[-1] // 2)) // (users - 1), sizes[0] // 8 // STEADY))
    others = users - STEADY - 1
    shares = []
    for size in sizes:
        of_big = min(big, size // 2)
        each, more = divmod(size - of_big - STEADY * steady, others)
        shares.append([of_big, *[steady] * STEADY, *[each + 1] * more, *[each] * (others - more)])
    return shares


def list_groups(users: int) -> dict[str, range]:
    """Return the positions of the members of each group."""
    return {ORDINARY: range(STEADY + 1, users), STEADY_GROUP: range(1, STEADY + 1), BIG: range(1)}


class Growth:
    """The people and their memories so far. Memory number n is `make_sentence(n)` and has vector n of the mixtures."""

    def __init__(self, *, users: int, pool: Matrix) -> None:
        from apps.accounts.models import User
        from apps.conversations.models import Session
        from apps.memory.vectors.embedders import list_models_in_use

        self.users = User.objects.bulk_create(
            User(username=f"benchmark-{uuid.uuid4()}", is_active=False) for _ in range(users)
        )
        self.counts = [0] * users
        self._pool = pool
        self._sessions: dict[int, tuple[Session, int]] = {}
        (self._model,) = list_models_in_use()

    def grow(self, counts: Sequence[int], *, console: Console) -> None:
        """Copy in what everybody lacks of their share, and index it.

        The memories of different people come in random order, so that nobody's rows lie together.
        """
        from django.db import connection

        before, total = sum(self.counts), sum(counts)
        owners = [
            user
            for user, (held, wanted) in enumerate(zip(self.counts, counts, strict=True))
            for _ in range(wanted - held)
        ]
        random.Random(total).shuffle(owners)
        starts = track(range(0, len(owners), _ROWS_AT_ONCE), f"Loading up to {total:,} memories", console=console)
        with _without_vector_indexes():
            for at in starts:
                self._copy(owners[at : at + _ROWS_AT_ONCE], first=before + at)
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
        self.counts = list(counts)

    def _copy(self, owners: Sequence[int], *, first: int) -> None:
        from apps.conversations.models import Session
        from apps.memory.kinds import ATOMIC
        from apps.memory.models import AtomicMemory

        sessions, memories = [], []
        for number, owner in enumerate(owners, start=first):
            user, said_at = self.users[owner], _FIRST + timedelta(minutes=number)
            session, used = self._sessions.get(owner, (None, 0))
            if session is None or used == MEMORIES_OF_A_SESSION:
                session, used = Session(user=user), 0
                sessions.append(session)
            self._sessions[owner] = session, used + 1
            times = {"timestamp": said_at, "create_time": said_at, "updated_at": said_at}
            memory = AtomicMemory(user=user, session_id=session.id, **times)
            ATOMIC.assign(memory, {"content": make_sentence(number)})
            memories.append(memory)
        Session.objects.bulk_create(sessions)
        AtomicMemory.objects.bulk_create(memories)
        vectors = mix_vectors(self._pool, start=first, count=len(memories))
        keys = [(memory.user_id, memory.id) for memory in memories]
        _copy_embeddings(keys, model_id=self._model.id, vectors=vectors)


def _copy_embeddings(keys: Sequence[tuple[int, uuid.UUID]], *, model_id: int, vectors: Matrix) -> None:
    """Store a vector (a row of `vectors`) for the user and memory of each key; missing dimensions are zero.

    Writes PostgreSQL's binary COPY format, in which each value follows its size in bytes.
    """
    from django.db import connection

    from apps.core.llm.embedding import DIMENSIONS

    layout = [("fields", ">i2"), ("user_size", ">i4"), ("user", ">i8"), ("memory_size", ">i4"), ("memory", "V16")]
    layout += [("model_size", ">i4"), ("model", ">i8"), ("vector_size", ">i4"), ("dimensions", ">i2")]
    rows = np.zeros(len(keys), dtype=[*layout, ("unused", ">i2"), ("vector", ">f2", (DIMENSIONS,))])
    rows["fields"], rows["user_size"], rows["memory_size"], rows["model_size"] = 4, 8, 16, 8
    rows["vector_size"], rows["dimensions"] = 4 + 2 * DIMENSIONS, DIMENSIONS
    rows["user"], rows["model"] = [user for user, _memory in keys], model_id
    rows["memory"] = np.frombuffer(b"".join(memory.bytes for _user, memory in keys), dtype="V16")
    rows["vector"][:, : vectors.shape[1]] = vectors
    statement = "COPY atomic_embedding (user_id, memory_id, model_id, embedding) FROM STDIN (FORMAT BINARY)"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8) + rows.tobytes() + b"\xff\xff")


@contextmanager
def _without_vector_indexes() -> Iterator[None]:
    """Drop the indexes of vectors, which grow slowly row by row, and build them after the block."""
    from django.db import connection

    from apps.memory.vectors.embedders import index_large_collections

    with connection.cursor() as cursor:
        cursor.execute("SELECT indexname, indexdef FROM pg_indexes WHERE strpos(indexdef, ' USING hnsw ') > 0")
        found = cursor.fetchall()
        for name, _definition in found:
            cursor.execute(f'DROP INDEX "{name}"')
        yield
        index_large_collections()  # as workers would
        # Parallel workers would share the graph in /dev/shm, which is small in containers.
        cursor.execute("SET maintenance_work_mem = '1GB'; SET max_parallel_maintenance_workers = 0")
        for _name, definition in found:
            cursor.execute(definition)
        cursor.execute("RESET maintenance_work_mem; RESET max_parallel_maintenance_workers")


def measure(options: argparse.Namespace, *, console: Console) -> dict[str, Any]:
    """Measure every size on servers of this run's own; returns the report."""
    shares = share_memories(options.sizes, users=options.users, big=options.big)
    with run_in_new_data_folder():
        sentences = [make_sentence(number) for number in range(POOL_NUMBERS, POOL_NUMBERS + options.pool)]
        with console.status("Embedding sentences"):
            growth = Growth(users=options.users, pool=embed_texts(sentences))
        numbers = count()  # of questions: none is asked twice
        sizes = []
        for size, counts in zip(options.sizes, shares, strict=True):
            growth.grow(counts, console=console)
            groups = _search(growth, options, numbers=numbers, console=console)
            sizes.append({"memories": size, "groups": groups, "disk_mib": _read_disk_size()})
    return {**describe_machine(), "users": options.users, "big": options.big, "sizes": sizes}


def _search(growth: Growth, options: argparse.Namespace, *, numbers: Iterator[int], console: Console) -> dict[str, Any]:
    """Return the times and the recall of each group. The groups take turns, so that a slowdown hits all of them."""
    groups = list_groups(options.users)
    people = {name: [growth.users[member] for member in members] for name, members in groups.items()}
    draw = random.Random(sum(growth.counts))
    times: dict[str, list[float]] = {name: [] for name in groups}
    for _ in track(range(WARM_UP + options.questions), "Searching", console=console):
        for name, users in people.items():
            times[name].append(_time_search(draw.choice(users), make_question(next(numbers))))
    figures = {}
    for name, members in groups.items():
        asked = track(range(options.judged), f"Comparing {name} with exact scans", console=console)
        found = [_judge(draw.choice(people[name]), _embed(make_question(next(numbers)))) for _ in asked]
        figures[name] = {
            "members": len(members),
            "memories_of_each": median(growth.counts[member] for member in members),
            "milliseconds": asdict(get_spread(times[name][WARM_UP:])),
            "recall": round(fmean(found), 4),
        }
    return figures


def _embed(question: str) -> QueryEmbedding:
    from apps.memory.vectors.queries import embed_query

    embedding = embed_query(question, deadline=60)
    assert embedding is not None
    return embedding


def _time_search(user: User, question: str) -> float:
    """Search as a turn does; returns the milliseconds, with embedding the question."""
    from apps.memory.recall.atomic import retrieve_atomic_memories

    start = time.perf_counter()
    retrieve_atomic_memories(user=user, query=question, limit=LIMIT, query_embedding=_embed(question))
    return (time.perf_counter() - start) * 1000


def _judge(user: User, embedding: QueryEmbedding) -> float:
    """Return the share of a person's `LIMIT` nearest memories that is among what is ranked, by the vector alone."""
    from django.db import connection

    from apps.memory.recall.columns import recall_atomic

    parameters = {"vector": embedding.focused_sql, "user": user.pk, "model": embedding.model_id, "limit": LIMIT}
    with connection.cursor() as cursor:
        cursor.execute(_NEAREST, parameters)
        nearest = [similarity for (similarity,) in cursor.fetchall()]
    if not nearest:
        return 1.0
    recall = recall_atomic(user, terms=[], query_embedding=embedding)
    found = [] if recall is None else sorted(recall.rows.cosine.tolist(), reverse=True)[:LIMIT]
    # A memory as near as the farthest of the nearest ones counts as one of them.
    return sum(similarity >= min(nearest) - _SAME for similarity in found[: len(nearest)]) / len(nearest)


def _read_disk_size() -> float:
    """Return the MiB on disk of the tables of atomic memory, with their indexes and what is stored out of line."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size('atomic_memory') + pg_total_relation_size('atomic_embedding')")
        return round(float(cursor.fetchone()[0]) / 2**20, 1)


def make_table(report: Mapping[str, Any]) -> Table:
    """Return the figures as a table, a line for each size and group."""
    table = Table(title="Search, milliseconds, p50 / p95", title_justify="left")
    names = ("memories", "of whom", "memories of each", "search", "recall@10", "MiB on disk")
    for name in names:
        table.add_column(name, justify="left" if name == "of whom" else "right")
    for figures in report["sizes"]:
        for name, group in figures["groups"].items():
            times, of_all = str(Spread(**group["milliseconds"])), f"{figures['disk_mib']:,.0f}"
            cells = (f"{figures['memories']:,}", name, f"{group['memories_of_each']:,.0f}", times)
            table.add_row(*cells, f"{group['recall']:.3f}", of_all, end_section=name == BIG)
    return table


def main() -> None:
    """Measure, print the table, and write the report where one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = [10_000, 100_000, 1_000_000]
    parser.add_argument("--sizes", type=int, nargs="+", default=default, metavar="N", help="10000 100000 1000000")
    parser.add_argument("--users", type=int, default=2_000, metavar="N", help="people who share them (2000)")
    parser.add_argument("--big", type=int, default=50_000, metavar="N", help="of one; at most half of all (50000)")
    parser.add_argument("--pool", type=int, default=4_000, metavar="N", help="sentences whose vectors are mixed (4000)")
    parser.add_argument("--questions", type=int, default=200, metavar="N", help="timed, of each group (200)")
    parser.add_argument("--judged", type=int, default=100, metavar="N", help="for recall, of each group (100)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = parser.parse_args()
    options.sizes = sorted(set(options.sizes))
    if options.questions < 2 or min(options.sizes[0], options.big, options.pool, options.judged) < 1:
        parser.error("--questions has to be at least 2, and everything else at least 1")
    try:
        share_memories(options.sizes, users=options.users, big=options.big)
    except ValueError as error:
        parser.error(str(error))
    console = make_console()
    report = measure(options, console=console)
    console.print(make_table(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
