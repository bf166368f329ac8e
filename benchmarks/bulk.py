"""Very many atomic memories at once, in the product's tables: rows and vectors copied in, the vector index built after.

Rows are those that the product's services would write, without their audit records.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
from django.db import connection

from apps.core.llm.embedding.types import DIMENSIONS
from apps.memory.atomic.text import TEXT_FIELDS, set_content
from apps.memory.embeddings.indexing import index_large_collections
from apps.memory.models import AtomicEmbedding, AtomicMemory

_ROWS_AT_ONCE = 5_000

_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
"""The start of PostgreSQL's binary COPY format; flags and header extension are empty."""

_END = b"\xff\xff"

_EMBEDDING_ROW = np.dtype(
    [
        ("fields", ">i2"),
        ("user_size", ">i4"),
        ("user", ">i8"),
        ("memory_size", ">i4"),
        ("memory", "V16"),
        ("model_size", ">i4"),
        ("model", ">i8"),
        ("vector_size", ">i4"),
        ("dimensions", ">i2"),
        ("unused", ">i2"),
        ("vector", ">f2", (DIMENSIONS,)),
    ]
)
"""A row of `atomic_embedding` in that format: each value follows its size in bytes."""

_GRAPH_BYTES = DIMENSIONS * 2 + 400
"""What one half-precision vector takes while an HNSW index is built: its numbers, its neighbours, and more."""

_MIB = 2**20


class Texts:
    """Sets the content of memories, and derives what is stored with it only once for each text."""

    def __init__(self) -> None:
        self._derived: dict[str, tuple[Any, ...]] = {}

    def set_content(self, memory: AtomicMemory, content: str) -> None:
        """As `apps.memory.atomic.text.set_content`."""
        derived = self._derived.get(content)
        if derived is None:
            set_content(memory, content)
            self._derived[content] = tuple(getattr(memory, field) for field in TEXT_FIELDS)
            return
        for field, value in zip(TEXT_FIELDS, derived, strict=True):
            setattr(memory, field, value)


def copy_embeddings(
    *, model_id: int, user_ids: Sequence[int], memory_ids: Sequence[UUID], vectors: npt.NDArray[np.float32]
) -> None:
    """Store the vectors of memories, a row of `vectors` (memories x up to 1,536 numbers, of length 1) for each of them.

    Missing dimensions are zero, as in the product.
    """
    table = AtomicEmbedding._meta.db_table
    statement = f'COPY "{table}" (user_id, memory_id, model_id, embedding) FROM STDIN (FORMAT BINARY)'
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(_SIGNATURE)
        for start in range(0, len(memory_ids), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            copy.write(
                pack_embeddings(
                    model_id=model_id, user_ids=user_ids[part], memory_ids=memory_ids[part], vectors=vectors[part]
                )
            )
        copy.write(_END)


def pack_embeddings(
    *, model_id: int, user_ids: Sequence[int], memory_ids: Sequence[UUID], vectors: npt.NDArray[np.float32]
) -> bytes:
    """Return rows of `atomic_embedding` as PostgreSQL's binary COPY reads them, without its start and end."""
    rows = np.zeros(len(memory_ids), dtype=_EMBEDDING_ROW)
    rows["fields"] = 4
    rows["user_size"], rows["user"] = 8, user_ids
    rows["memory_size"] = 16
    rows["memory"] = np.frombuffer(b"".join(memory.bytes for memory in memory_ids), dtype="V16")
    rows["model_size"], rows["model"] = 8, model_id
    rows["vector_size"], rows["dimensions"] = 4 + 2 * DIMENSIONS, DIMENSIONS
    rows["vector"][:, : vectors.shape[1]] = vectors
    return rows.tobytes()


@dataclass(slots=True)
class IndexBuild:
    """How long building the dropped indexes took, once they are built."""

    seconds: float = 0.0


@contextmanager
def without_vector_indexes(cursor: Any, *, rows: int) -> Iterator[IndexBuild]:
    """Drop every HNSW index of the cursor's schema for the time of the block, then build them as they were.

    Whoever has many memories by then is in them. An index grows slowly row by row. `rows`: how many the largest table
    will have then, for the memory that building takes. Built with all of the graph in memory where half of the free
    memory suffices.
    """
    cursor.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() AND indexdef LIKE %s",
        ["% USING hnsw %"],
    )
    found = cursor.fetchall()
    for name, _definition in found:
        cursor.execute(f'DROP INDEX "{name}"')
    build = IndexBuild()
    yield build
    start = time.perf_counter()
    index_large_collections()  # as workers would
    memory = choose_build_memory(rows, free=_read_free_memory())
    workers = 1 if memory < _read_free_shared_memory() else 0  # workers share the graph there
    cursor.execute(f"SET maintenance_work_mem = '{memory // _MIB}MB'")
    cursor.execute(f"SET max_parallel_maintenance_workers = {workers}")
    for _name, definition in found:
        cursor.execute(definition)
    cursor.execute("RESET maintenance_work_mem")
    cursor.execute("RESET max_parallel_maintenance_workers")
    build.seconds = time.perf_counter() - start


def choose_build_memory(rows: int, *, free: int) -> int:
    """Return the bytes for building the index of so many vectors: enough for its graph, at most half of `free`."""
    wanted = int(rows * _GRAPH_BYTES * 1.2)
    return max(64 * _MIB, min(wanted, free // 2))


def _read_free_memory() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _read_free_shared_memory() -> int:
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize
