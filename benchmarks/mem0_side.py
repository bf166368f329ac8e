"""mem0 in a comparison: `benchmarks.mem0_program` in mem0's own environment, and what it is asked to do.

It has a database of its own in the embedded server of the run, and a temporary folder for its other files.
"""

from __future__ import annotations

import json
import signal
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import psycopg
from django.db import connection
from psycopg import sql

from apps.core.beir import CorpusRow
from apps.embedded.layout import DATABASE_NAME, database_url
from apps.embedded.process import spawn
from apps.memory.evaluation.types import Folder, Ranking
from benchmarks.bulk import without_vector_indexes
from benchmarks.clients import Rate
from benchmarks.contents import Embedded, PeopleVectors
from benchmarks.corpora import Person, Question, get_content
from benchmarks.environments import PROJECT, Environment, get_numpy_settings
from benchmarks.progress import Advance
from tests.clients.environments import clean_environment

DATABASE = "mem0"
PEOPLE = "people"
"""The table with everybody's memories."""

ADDED = "somebody-who-adds"
"""The user whose memories are deleted again."""

_STOP_SECONDS = 60


class Mem0Failed(Exception):
    """mem0 raised an error or its process ended; the message says which."""


class Mem0:
    """mem0 in its process. Found memories go by the IDs of the rows that they were made of."""

    name = "mem0"

    def __init__(self, process: subprocess.Popen[bytes], *, folder: Path, log: Path, address: str) -> None:
        self._process = process
        self._folder = folder
        self._log = log
        self._address = address
        self._known: dict[str, str] = {}

    def rank(self, folder: Folder, *, limit: int, advance: Advance) -> list[Ranking]:
        """Add a folder through mem0's ``add``, to a table of its own, and ask all its queries."""
        table = f"folder_{uuid.uuid4().hex}"
        by_user: dict[str, list[CorpusRow]] = {}
        for row in folder.corpus:
            by_user.setdefault(row.user_id, []).append(row)
        known: dict[str, str] = {}
        for user, rows in by_user.items():
            contents = [get_content(row) for row in rows]
            added = self.call(
                "add", advance=advance, collection=table, user=_write_user(user), contents=contents, report=True
            )
            known |= dict(zip(added["ids"], (row.id for row in rows), strict=True))
        self._clean(table)
        rankings = []
        for query in folder.queries:
            (found,) = self.call(
                "search", collection=table, questions=[[_write_user(query.user_id), query.text]], limit=limit
            )
            ranked = [known[memory] for memory in found["ids"]]
            rankings.append(Ranking(query=query, ranked=ranked, milliseconds=found["milliseconds"], late=False))
            advance(1)
        with self._connect() as database:
            database.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(table)))
        return rankings

    def load(self, people: Sequence[Person], vectors: PeopleVectors, *, total: int, advance: Advance) -> float:
        """Insert the memories of more people into mem0's vector store; returns the seconds, with its index built."""
        contents = [get_content(row) for person in people for row in person.rows]
        ids = [str(uuid.uuid4()) for _ in contents]
        owners = [(person.name, row.id) for person in people for row in person.rows]
        self._known |= {memory: row for memory, (_name, row) in zip(ids, owners, strict=True)}
        rows, matrix = self._folder / "rows.jsonl", self._folder / "vectors.npy"
        with rows.open("w", encoding="utf-8") as file:
            for memory, (name, _row), content in zip(ids, owners, contents, strict=True):
                file.write(json.dumps([memory, _write_user(name), content]) + "\n")
        np.save(matrix, np.concatenate([vectors.get(person) for person in people]))
        self.call("make_table", collection=PEOPLE)
        self.call("check_payload", collection=PEOPLE)
        with self._connect() as database, without_vector_indexes(database.cursor(), rows=total) as build:
            done = self.call("insert", advance=advance, collection=PEOPLE, rows=str(rows), vectors=str(matrix))
        self._clean(PEOPLE)
        rows.unlink()
        matrix.unlink()
        return float(done["seconds"] + build.seconds)

    def search(self, questions: Sequence[Question], *, limit: int) -> list[Ranking]:
        """Ask one after the other; the time of each includes embedding it."""
        asked = [[_write_user(question.person), question.text] for question in questions]
        answers = self.call("search", collection=PEOPLE, questions=asked, limit=limit)
        return [
            Ranking(
                query=question.query,
                ranked=[self._known[memory] for memory in answer["ids"]],
                milliseconds=answer["milliseconds"],
                late=False,
            )
            for question, answer in zip(questions, answers, strict=True)
        ]

    def search_at_once(self, questions: Sequence[Question], *, limit: int, clients: int, seconds: float) -> Rate:
        """Have several threads of its process search for some seconds."""
        asked = [[_write_user(question.person), question.text] for question in questions]
        done = self.call(
            "search_at_once", collection=PEOPLE, questions=asked, limit=limit, clients=clients, seconds=seconds
        )
        return Rate(calls=done["calls"], seconds=done["seconds"])

    def add(self, contents: Sequence[str], *, batch: int, embedded: Embedded | None) -> float:
        """Add memories through ``add``, `batch` messages a call, and delete them again; returns the seconds of adding.

        With `embedded` its embedder looks their vectors up there; without, it makes them.
        """
        vectors = None
        if embedded is not None:
            vectors = self._folder / "given.npy"
            np.save(vectors, embedded.get(contents))
        done = self.call(
            "add",
            collection=PEOPLE,
            user=ADDED,
            contents=list(contents),
            batch=batch,
            vectors=str(vectors) if vectors else None,
        )
        with self._connect() as database:
            statement = sql.SQL("DELETE FROM {} WHERE payload->>'user_id' = %s").format(sql.Identifier(PEOPLE))
            database.execute(statement, [ADDED])
        return float(done["seconds"])

    def count_index_scans(self) -> int:
        """Return how often mem0's vector index was searched so far."""
        self.call("flush_statistics", collection=PEOPLE)
        statement = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = %s"
        with self._connect() as database:
            row = database.execute(statement, [f"{PEOPLE}_hnsw_idx"]).fetchone()
        return int(row[0]) if row else 0

    def describe(self) -> dict[str, str]:
        """Return the versions of what matters in its environment."""
        return dict(self.call("describe"))

    def call(self, do: str, *, advance: Advance | None = None, **fields: Any) -> Any:
        """Have one command carried out and return its result. Raises `Mem0Failed`."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **fields}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._describe_end() from None
        return self.wait(advance=advance)

    def wait(self, *, advance: Advance | None = None) -> Any:
        """Return the result of the command under way. Raises `Mem0Failed`."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            if "steps" in answer:
                if advance:
                    advance(answer["steps"])
                continue
            if "error" in answer:
                raise Mem0Failed(f"mem0: {answer['error']}\n{_read_end(self._log)}")
            return answer["result"]
        raise self._describe_end()

    def _describe_end(self) -> Mem0Failed:
        return Mem0Failed(f"the process of mem0 ended:\n{_read_end(self._log)}")

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self._address, autocommit=True)

    def _clean(self, table: str) -> None:
        """What autovacuum does sooner or later: the planner knows the table, and its pages are in order."""
        with self._connect() as database:
            database.execute(sql.SQL("VACUUM ANALYZE {}").format(sql.Identifier(table)))


@contextmanager
def run_mem0(environment: Environment, *, data_folder: Path) -> Iterator[Mem0]:
    """Run mem0 on a database of its own in the embedded server of `data_folder`, and end it with the block."""
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {DATABASE}")
    address = database_url(data_folder).removesuffix(DATABASE_NAME) + DATABASE
    folder = data_folder / "mem0"
    folder.mkdir()
    log = folder / "mem0.log"
    settings = {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder), "PYTHONWARNINGS": "ignore", **get_numpy_settings()}
    command: list[str | Path] = [environment.interpreter, "-m", "benchmarks.mem0_program", address, folder]
    with log.open("wb") as errors:
        process = spawn(
            command,
            death_signal=signal.SIGKILL,  # it ends with us, however we end
            cwd=PROJECT,
            env={**clean_environment(folder), **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    try:
        mem0 = Mem0(process, folder=folder, log=log, address=address)
        mem0.wait()
        yield mem0
    finally:
        process.terminate()
        try:
            process.wait(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _write_user(name: str) -> str:
    """Return the name as mem0 accepts one: without white space."""
    return quote(name, safe="")


def _read_end(log: Path) -> str:
    """The last lines of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])
