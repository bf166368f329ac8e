"""What PostgreSQL takes: disk of the tables of atomic memory, and memory of the server's processes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from django.db import connection

from apps.embedded.layout import DataLayout
from apps.memory.models import AtomicEmbedding, AtomicMemory

MIB = 2**20

_SIZES = """
SELECT relation.relname, pg_table_size(relation.oid)
FROM pg_class AS relation
WHERE relation.oid = %(table)s::regclass
UNION ALL
SELECT part.relname, pg_relation_size(part.oid)
FROM pg_index JOIN pg_class AS part ON part.oid = indexrelid
WHERE indrelid = %(table)s::regclass
"""


@dataclass(frozen=True, slots=True)
class ServerMemory:
    """Memory of the server's processes in MiB.

    `shared`: what they share with each other, counted once (the proportional set size). `largest`: the resident set of
    the largest process, which includes what it has touched of the shared buffers. The file cache of the operating
    system is in neither.
    """

    shared: float
    largest: float


def read_disk_sizes() -> dict[str, float]:
    """Return the MiB on disk of each table of atomic memory (with what is stored out of line) and of each index."""
    sizes: dict[str, float] = {}
    with connection.cursor() as cursor:
        for model in (AtomicMemory, AtomicEmbedding):
            cursor.execute(_SIZES, {"table": model._meta.db_table})
            sizes |= {name: round(float(size) / MIB, 2) for name, size in cursor.fetchall()}
    return sizes


def read_server_memory(folder: Path) -> ServerMemory:
    """Return what the embedded PostgreSQL of this data folder takes now."""
    postmaster = int((DataLayout.at(folder).state("postgres") / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    found = [_read_memory(pid) for pid in (postmaster, *map(int, children))]
    return ServerMemory(
        shared=round(sum(shared for shared, _resident in found) / 1024, 1),
        largest=round(max(resident for _shared, resident in found) / 1024, 1),
    )


def _read_memory(pid: int) -> tuple[int, int]:
    """The proportional and the resident set size of a process in KiB; zeros if it has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0, 0
    return _read_field(text, "Pss"), _read_field(text, "Rss")


def _read_field(text: str, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) if found else 0
