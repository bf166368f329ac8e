"""What hash partitions by user would save: the tables of atomic memories and of their vectors, whole and in partitions.

    python -m benchmarks.partitions [--memories 100000] [--users 1000] [--partitions 32] [--json FILE]

One embedded PostgreSQL in a temporary folder has both, with the same rows, in two schemas; the keys of the partitions
begin with the user, as PostgreSQL wants it. Each question is searched for in both, as in a turn, and by turns: by
`SET search_path`, the product's own statements read the one or the other. Rows are stored by turns as well.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from benchmarks.citus_map import COLUMN, lead_by_user
from benchmarks.contents import Embedded
from benchmarks.figures import get_spread
from benchmarks.progress import INTERRUPTED, interruptible, make_console, show_progress
from benchmarks.running import describe_machine, run_in_new_data_folder
from benchmarks.sentences import make_question, make_sentence
from benchmarks.sharing import ORDINARY, share_memories

if TYPE_CHECKING:
    from apps.accounts.models import User

TABLES = ("atomic_memory", "atomic_embedding")
"""Those that a search reads, the one that others refer to first."""

PATHS = {"whole": "public", "partitions": "partitions, public"}

LIMIT = 10

WARM_UP = 10
"""Rounds before any is timed."""

_COLUMNS = """
SELECT quote_ident(attname) FROM pg_attribute
WHERE attrelid = %(table)s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum
"""

_INDEXES = """
SELECT pg_get_indexdef(indexrelid), indisprimary FROM pg_index WHERE indrelid = %(table)s::regclass ORDER BY indexrelid
"""

_FOREIGN_KEYS = """
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = %(table)s::regclass AND contype = 'f' ORDER BY oid
"""

_GO_ON_COUNTING = """
SELECT setval(sequence::regclass, nextval(pg_get_serial_sequence('public.{table}', 'id')))
FROM pg_get_serial_sequence('partitions.{table}', 'id') AS sequence WHERE sequence IS NOT NULL
"""

_BYTES = """
SELECT sum(pg_total_relation_size(part)) FROM unnest(%(tables)s::regclass[]) AS given,
    LATERAL (SELECT given AS part UNION SELECT relid FROM pg_partition_tree(given)) AS parts
"""


def measure(*, memories: int, users: int, partitions: int, questions: int, console: Console) -> dict[str, Any]:
    """Fill both kinds of tables, and search and store in each by turns; returns the report."""
    (sharing,) = share_memories([memories], users=users, big=1)
    with run_in_new_data_folder():
        from benchmarks.growth import Growth

        with show_progress("Embedding sentences", total=1_000, console=console) as advance:
            pool = Embedded([make_sentence(10**9 + number) for number in range(1_000)], advance=advance).matrix
        growth = Growth(users=users, pool=pool)
        with show_progress(f"Loading {memories:,} memories", total=memories, console=console) as advance:
            growth.grow(sharing, advance=advance)
        with show_progress("Making partitions", total=len(TABLES), console=console) as advance:
            for table in TABLES:
                _make_partitions(table, partitions)
                advance(1)
        people = growth.draw_users(sharing.groups[ORDINARY], seed=1)
        with show_progress("Searching", total=WARM_UP + questions, console=console) as advance:
            searches = _time_by_turns(lambda number: _search(next(people), number), questions, advance)
        with show_progress("Storing", total=WARM_UP + questions, console=console) as advance:
            held = _list_held()
            stores = _time_by_turns(lambda number: _store(user := next(people), held[user.pk]), questions, advance)
        return {
            **describe_machine(),
            "memories": memories,
            "users": users,
            "partitions": partitions,
            "search": searches,
            "store": stores,
            "mib": {name: round(_count_bytes(path) / 2**20) for name, path in PATHS.items()},
        }


def _make_partitions(table: str, partitions: int) -> None:
    """A copy of the table in partitions: with its rows, its indexes, and its foreign keys."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA IF NOT EXISTS partitions")
        cursor.execute(f"""
            CREATE TABLE partitions.{table}
            (LIKE public.{table} INCLUDING ALL EXCLUDING INDEXES EXCLUDING STATISTICS EXCLUDING COMMENTS)
            PARTITION BY HASH ({COLUMN})
        """)
        for number in range(partitions):
            cursor.execute(
                f"CREATE TABLE partitions.{table}_{number} PARTITION OF partitions.{table}"
                f" FOR VALUES WITH (MODULUS {partitions}, REMAINDER {number})"
            )
        columns = ", ".join(_read_columns(f"public.{table}"))
        cursor.execute(f"INSERT INTO partitions.{table} ({columns}) SELECT {columns} FROM public.{table}")
        cursor.execute(_GO_ON_COUNTING.format(table=table))
        cursor.execute(_INDEXES, {"table": f"public.{table}"})
        for definition, primary in cursor.fetchall():
            made = definition.replace(f"ON public.{table} ", f"ON partitions.{table} ")
            if primary:
                cursor.execute(f"ALTER TABLE partitions.{table} ADD PRIMARY KEY ({COLUMN}, id)")
            else:
                cursor.execute(lead_by_user(made) if " UNIQUE " in made and COLUMN not in made else made)
        cursor.execute(_FOREIGN_KEYS, {"table": f"public.{table}"})
        keys = [definition for (definition,) in cursor.fetchall()]
        cursor.execute(f"SET search_path TO {PATHS['partitions']}")
        for definition in keys:
            cursor.execute(
                f"ALTER TABLE partitions.{table} ADD {definition.replace(' DEFERRABLE INITIALLY DEFERRED', '')}"
            )
        cursor.execute("SET search_path TO public")
        cursor.execute(f"VACUUM ANALYZE partitions.{table}")


def _time_by_turns(
    make: Callable[[int], Callable[[], object]], rounds: int, advance: Callable[[int], None]
) -> dict[str, dict[str, float]]:
    """Time what `make` returns, first in the one and then in the other, the next time the other way round."""
    from django.db import connection

    times: dict[str, list[float]] = {name: [] for name in PATHS}
    names = list(PATHS)
    for number in range(WARM_UP + rounds):
        act, before = make(2 * number), make(2 * number + 1)
        for name in names if number % 2 else reversed(names):
            with connection.cursor() as cursor:
                cursor.execute(f"SET search_path TO {PATHS[name]}")
            before()  # plans are made again after the change of schemas
            start = time.perf_counter()
            act()
            if number >= WARM_UP:
                times[name].append((time.perf_counter() - start) * 1000)
        advance(1)
    with connection.cursor() as cursor:
        cursor.execute("SET search_path TO public")
    return {name: asdict(get_spread(values)) for name, values in times.items()}


def _search(user: User, number: int) -> Callable[[], object]:
    """A search as in a turn, without embedding the question."""
    from apps.memory.embeddings.queries import embed_query
    from apps.memory.retrieval.atomic import retrieve_atomic_memories

    question = make_question(number)
    embedding = embed_query(question, deadline=60)
    return lambda: retrieve_atomic_memories(user=user, query=question, limit=LIMIT, query_embedding=embedding)


def _list_held() -> dict[int, uuid.UUID]:
    """A memory of each person."""
    from apps.memory.models import AtomicMemory

    return dict(AtomicMemory.objects.values_list("user_id", "id"))


def _store(user: User, copied: uuid.UUID) -> Callable[[], object]:
    """Storing a memory with its vector: a copy of one that the person has."""
    from django.db import connection, transaction

    statements = {table: _read_columns(f"public.{table}") for table in TABLES}

    def store() -> None:
        made = uuid.uuid4()
        with transaction.atomic(), connection.cursor() as cursor:
            for table, columns in statements.items():
                key = "id" if table == TABLES[0] else "memory_id"
                given = [name for name in columns if name == key or name != "id"]
                values = ", ".join("%(made)s" if name == key else name for name in given)
                cursor.execute(
                    f"INSERT INTO {table} ({', '.join(given)}) SELECT {values} FROM {table}"
                    f" WHERE {COLUMN} = %(user)s AND {key} = %(copied)s",
                    {"made": made, "user": user.pk, "copied": copied},
                )
                assert cursor.rowcount == 1, table

    return store


def _read_columns(table: str) -> list[str]:
    """The columns of a table that can be written."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS, {"table": table})
        return [name for (name,) in cursor.fetchall()]


def _count_bytes(path: str) -> int:
    """What both tables take on disk, with their indexes, in the first schema of the path."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(_BYTES, {"tables": [f"{path.partition(',')[0]}.{table}" for table in TABLES]})
        return int(cursor.fetchall()[0][0])


def make_table(report: dict[str, Any]) -> Table:
    """Return the figures as a table."""
    amount = f"{report['memories']:,} memories of {report['users']:,} people"
    title = f"{amount}, whole and in {report['partitions']} partitions; p50 / p95"
    table = Table(title=title, title_justify="left")
    for name in ("tables", "search, ms", "store, ms", "MiB"):
        table.add_column(name, justify="left" if name == "tables" else "right")
    for name in PATHS:
        spreads = (report[what][name] for what in ("search", "store"))
        table.add_row(name, *(f"{one['p50']} / {one['p95']}" for one in spreads), str(report["mib"][name]))
    return table


def main() -> None:
    """Measure, print the table, and write the report where one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000, help="of all (default: 100,000)")
    parser.add_argument("--users", type=int, default=1_000, help="people who share them (default: 1,000)")
    parser.add_argument("--partitions", type=int, default=32, help="of each table (default: 32)")
    parser.add_argument("--questions", type=int, default=200, help="timed in each kind of table (default: 200)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = parser.parse_args()
    if options.partitions < 2 or options.questions < 2 or options.memories < 2 * options.users or options.users < 6:
        parser.error("at least 2 partitions, 2 questions, 6 users, and twice as many memories as users")
    console = make_console()
    try:
        with interruptible():
            report = measure(
                memories=options.memories,
                users=options.users,
                partitions=options.partitions,
                questions=options.questions,
                console=console,
            )
    except KeyboardInterrupt:
        console.print("Stopped. Processes were ended, temporary folders deleted.")
        sys.exit(INTERRUPTED)
    console.print(make_table(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
