"""What 1, 10 and 100 million people would take: sums over measured units, for docs/scale.md.

    python -m benchmarks.sums            # print the table
    python -m benchmarks.sums --write    # write it into docs/scale.md

Units are what `benchmarks.storage` and `benchmarks.hosts` measured; habits are assumptions, and all of them are here.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from math import ceil

from rich.console import Console

from benchmarks.citus_map import DOCUMENT

BEGIN, END = "<!-- sums: begin -->", "<!-- sums: end -->"
PEOPLE = (1_000_000, 10_000_000, 100_000_000)
MB, GB, TB = 10**6, 10**9, 10**12


@dataclass(frozen=True, slots=True)
class Units:
    """Bytes of rows with their indexes (`benchmarks.storage`), and ms of a core a turn (`benchmarks.hosts`)."""

    message: int = 228 + 827 + 300
    """The last is text: messages of a real chat are that much longer than the benchmark's."""
    message_vector: int = 8_423 + 516
    """Without the 4 KB in the vector index, where only collections of 8,000 and more are."""
    turn: int = 2_854 + 1_602
    atomic_memory: int = 362 + 503 + 352 + 226
    long_term_memory: int = 419 + 662 + 352 + 226
    memory_vector: int = 4_103 + 172
    session: int = 262 + 492 + 459 + 360
    account: int = 328 + 451 + 737 + 1_311
    web_ms: float = 25.9
    database_ms: float = 17.5
    worker_ms: float = 15.0 + 18.5
    streams_of_a_process: int = 200
    connections_of_a_process: int = 16


@dataclass(frozen=True, slots=True)
class Habits:
    """What an ordinary person does. `peak`: turns of the busiest second, against the average of a day."""

    turns_a_year: int = 1_000
    sessions_a_year: int = 50
    atomic_memories_a_year: int = 300
    long_term_memories_a_year: int = 60
    vector_days: int = 90
    peak: float = 4.0
    reply_seconds: float = 10.0
    busy: float = 0.6
    """How much of a core's time is used at the peak."""


@dataclass(frozen=True, slots=True)
class Sums:
    """What a number of people take, a year after they came."""

    people: int
    storage: float
    growth: float
    message_vectors: float
    directory: float
    turns_per_second: float
    web_cores: int
    database_cores: int
    worker_cores: int
    streams: int
    web_processes: int
    connections: int
    written_per_second: float


def calculate(people: int, *, units: Units, habits: Habits) -> Sums:
    """Return the sums for a number of people."""
    messages = 2 * habits.turns_a_year
    with_vector = messages * habits.vector_days / 365
    kept = messages * units.message + habits.turns_a_year * units.turn + habits.sessions_a_year * units.session
    kept += habits.atomic_memories_a_year * (units.atomic_memory + units.memory_vector)
    kept += habits.long_term_memories_a_year * (units.long_term_memory + units.memory_vector)
    vectors = with_vector * units.message_vector
    turns = people * habits.turns_a_year / (365 * 86_400) * habits.peak
    processes = max(
        ceil(turns * units.web_ms / 1000 / habits.busy), ceil(turns * habits.reply_seconds / units.streams_of_a_process)
    )
    stored_a_turn = (kept + messages * units.message_vector) / habits.turns_a_year
    return Sums(
        people=people,
        storage=people * (kept + vectors),
        growth=people * kept,
        message_vectors=people * vectors,
        directory=people * units.account,
        turns_per_second=turns,
        web_cores=ceil(turns * units.web_ms / 1000 / habits.busy),
        database_cores=ceil(turns * units.database_ms / 1000 / habits.busy),
        worker_cores=ceil(turns * units.worker_ms / 1000 / habits.busy),
        streams=ceil(turns * habits.reply_seconds),
        web_processes=processes,
        connections=processes * units.connections_of_a_process,
        written_per_second=turns * stored_a_turn,
    )


def render(columns: list[Sums]) -> str:
    """Return the sums as Markdown, a column for each number of people."""
    rows = {
        "on disk after a year, of all tables and indexes": [f"{one.storage / TB:,.1f} TB" for one in columns],
        "more each further year": [f"{one.growth / TB:,.1f} TB" for one in columns],
        "of it vectors of messages": [f"{one.message_vectors / TB:,.1f} TB" for one in columns],
        "accounts and tokens (the directory)": [f"{one.directory / GB:,.0f} GB" for one in columns],
        "turns/s at the peak": [f"{one.turns_per_second:,.0f}" for one in columns],
        "cores: web · database · workers": [
            f"{one.web_cores:,} · {one.database_cores:,} · {one.worker_cores:,}" for one in columns
        ],
        "open streams; web processes": [f"{one.streams:,}; {one.web_processes:,}" for one in columns],
        "connections of these, without a pooler": [f"{one.connections:,}" for one in columns],
        "rows and indexes written at the peak": [f"{one.written_per_second / MB:,.0f} MB/s" for one in columns],
    }
    lines = ["| | " + " | ".join(f"{one.people // 10**6} million people" for one in columns) + " |"]
    lines.append("|---|" + "---|" * len(columns))
    lines += [f"| {name} | " + " | ".join(values) + " |" for name, values in rows.items()]
    return "\n".join(lines)


def render_all() -> str:
    """Return the table of docs/scale.md."""
    return render([calculate(people, units=Units(), habits=Habits()) for people in PEOPLE])


def read_document() -> str:
    """Return the table that docs/scale.md has."""
    return DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()


def main() -> None:
    """Print the sums, or write them into the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write them into docs/scale.md")
    options = parser.parse_args()
    if not options.write:
        Console(width=200).print(render_all(), markup=False)
        return
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    DOCUMENT.write_text(f"{before}{BEGIN}\n{render_all()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
