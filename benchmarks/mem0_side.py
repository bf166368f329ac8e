"""mem0 in a comparison: `benchmarks.mem0_program` in mem0's own environment, with a database of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import psycopg
from django.db import connection

from apps.core.beir import CorpusRow, Query
from apps.embedded.layout import DATABASE_NAME, database_url
from apps.embedded.process import spawn
from apps.memory.management.commands.evaluate_retrieval import Ranking
from benchmarks.vectors import Matrix
from tests.clients.environments import PROJECT, clean_environment, install_python

DATABASE = "mem0"


class Mem0:
    """mem0 in its process. Found memories go by the IDs of the rows that they were made of."""

    name = "mem0"

    def __init__(self, process: subprocess.Popen[bytes], *, folder: Path, address: str) -> None:
        self._process = process
        self._folder = folder
        self._address = address
        self._known: dict[str, str] = {}

    def add(
        self, table: str, person: str, rows: Sequence[CorpusRow], *, batch: int, vectors: Matrix | None = None
    ) -> float:
        """Add memories through ``add``, `batch` messages a call; returns the seconds.

        With `vectors` its embedder looks them up there; without, it makes them.
        """
        contents, file = [f"{row.speaker}: {row.text}" for row in rows], self._folder / "given.npy"
        if vectors is not None:
            np.save(file, vectors)
        given = None if vectors is None else str(file)
        done = self.call(
            "add", collection=table, user=quote(person, safe=""), contents=contents, batch=batch, vectors=given
        )
        self._known |= dict(zip(done["ids"], (row.id for row in rows), strict=True))
        return float(done["seconds"])

    def search(self, table: str, person: str, query: Query, *, limit: int) -> Ranking:
        """Ask a person's memories; the time includes embedding the question."""
        found = self.call("search", collection=table, user=quote(person, safe=""), text=query.text, limit=limit)
        ranked = [self._known[memory] for memory in found["ids"]]
        return Ranking(query=query, ranked=ranked, milliseconds=found["milliseconds"], late=False)

    def settle(self) -> None:
        """Do what autovacuum does sooner or later: the planner knows the tables, and their pages are in order."""
        with psycopg.connect(self._address, autocommit=True) as database:
            database.execute("VACUUM ANALYZE")

    def call(self, do: str, **fields: Any) -> Any:
        """Have one command carried out and return its result. Raises RuntimeError with mem0's error."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **fields}).encode() + b"\n")
        self._process.stdin.flush()
        return self.wait()

    def wait(self) -> Any:
        """Return the result of the command under way."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the process ended"}
        if "error" in answer:
            log = (self._folder / "mem0.log").read_text(errors="replace")
            raise RuntimeError("\n".join([f"mem0: {answer['error']}", *log.splitlines()[-15:]]))
        return answer["result"]


@contextmanager
def run_mem0(data_folder: Path) -> Iterator[Mem0]:
    """Run mem0 on a database of its own in the embedded server of `data_folder`, installed first unless it is there."""
    environment = install_python("mem0", lock=PROJECT / "requirements" / "mem0.txt")
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {DATABASE}")
    address = database_url(data_folder).removesuffix(DATABASE_NAME) + DATABASE
    folder = data_folder / "mem0"
    folder.mkdir()
    settings = {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder), "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
    # numpy has to choose the same kernels on both sides.
    settings |= {name: value for name, value in os.environ.items() if name.startswith("OPENBLAS_")}
    with (folder / "mem0.log").open("wb") as errors:
        process = spawn(
            [environment.interpreter, "-m", "benchmarks.mem0_program", address, folder],
            death_signal=signal.SIGKILL,  # it ends with us, however we end
            cwd=PROJECT,
            env={**clean_environment(folder), **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    with process:
        try:
            mem0 = Mem0(process, folder=folder, address=address)
            mem0.wait()
            yield mem0
        finally:
            process.kill()
