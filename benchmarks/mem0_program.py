"""mem0 in a process and an environment of its own, for `benchmarks.mem0_side`: JSON lines in, JSON lines out.

    python -m benchmarks.mem0_program CONNECTION-STRING FOLDER

Each line on standard input is a command, an object with ``do``; each is answered by any number of ``{"steps": n}`` and
then one line with ``result`` or ``error``. Everything is timed in here, so the pipe costs mem0 nothing. Of this project
only modules are imported that need nothing but numpy and the local embedder.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
import traceback
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from mem0 import Memory  # not installed where the project's own code runs
from mem0.embeddings.base import EmbeddingBase

from benchmarks.clients import run_clients
from benchmarks.contents import NATIVE_DIMENSIONS, embed_texts

POOL_SIZE = 8
"""Connections of mem0's pool; by default it has five, for which eight clients would wait."""

ROWS_AT_ONCE = 500


class Embedder(EmbeddingBase):
    """The product's local embedder as mem0 calls one; texts in `known` are looked up instead."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, list[float]] = {}

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of a text."""
        return self.known.get(text) or embed_texts([text])[0].tolist()

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
        """Return the vectors of texts, made in one call."""
        return embed_texts(texts).tolist()


class Program:
    """The commands, each a method that takes the fields of its line and returns its result."""

    def __init__(self, *, connection: str, folder: Path) -> None:
        self._connection = connection
        self._folder = folder
        self._embedder = Embedder()
        self._memories: dict[str, Memory] = {}
        self._embedder.embed("warm-up")

    def _open(self, collection: str) -> Memory:
        """The memory whose rows are in this table; mem0 makes the table when it first uses it."""
        if collection not in self._memories:
            store = {
                "connection_string": self._connection,
                "collection_name": collection,
                "embedding_model_dims": NATIVE_DIMENSIONS,
                "hnsw": True,
                "minconn": 1,
                "maxconn": POOL_SIZE,
            }
            nobody = {"api_key": "none", "openai_base_url": "http://127.0.0.1:9"}  # never called with infer=False
            config = {
                "vector_store": {"provider": "pgvector", "config": store},
                "embedder": {"provider": "openai", "config": {**nobody, "embedding_dims": NATIVE_DIMENSIONS}},
                "llm": {"provider": "openai", "config": nobody},
                "history_db_path": str(self._folder / f"{collection}.db"),
            }
            memory = self._memories[collection] = Memory.from_config(config)
            memory.embedding_model = self._embedder
        return self._memories[collection]

    def add(
        self,
        *,
        collection: str,
        user: str,
        contents: list[str],
        batch: int = 1,
        vectors: str | None = None,
        report: bool = False,
    ) -> dict[str, Any]:
        """Add memories through mem0's own ``add``, `batch` messages a call.

        `vectors`: a file with their vectors, which are then looked up; without, they are made.
        """
        memory = self._open(collection)
        memory.vector_store._ensure_collection()
        if vectors is not None:
            self._embedder.known = dict(zip(contents, np.load(vectors).tolist(), strict=True))
        ids: list[str] = []
        start = time.perf_counter()
        for at in range(0, len(contents), batch):
            messages = [{"role": "user", "content": content} for content in contents[at : at + batch]]
            added = memory.add(messages, user_id=user, infer=False)
            ids += [item["id"] for item in added["results"]]
            if report:
                say({"steps": len(messages)})
        seconds = time.perf_counter() - start
        self._embedder.known = {}
        return {"ids": ids, "seconds": seconds}

    def insert(self, *, collection: str, rows: str, vectors: str) -> dict[str, Any]:
        """Put rows straight into mem0's vector store, with the payload that ``add`` would give them.

        `rows`: a file with ``[id, user, content]`` on each line; `vectors`: one with a vector for each.
        """
        store = self._open(collection).vector_store
        lines = [json.loads(line) for line in Path(rows).read_text("utf-8").splitlines()]
        matrix = np.load(vectors)
        start = time.perf_counter()
        for at in range(0, len(lines), ROWS_AT_ONCE):
            part = lines[at : at + ROWS_AT_ONCE]
            store.insert(
                vectors=matrix[at : at + ROWS_AT_ONCE].tolist(),
                payloads=[make_payload(user=user, content=content) for _id, user, content in part],
                ids=[row_id for row_id, _user, _content in part],
            )
            say({"steps": len(part)})
        return {"seconds": time.perf_counter() - start}

    def search(self, *, collection: str, questions: list[list[str]], limit: int) -> list[dict[str, Any]]:
        """Search for each ``[user, text]``, one after the other."""
        memory = self._open(collection)
        return [self._ask(memory, question, limit=limit) for question in questions]

    def _ask(self, memory: Memory, question: list[str], *, limit: int) -> dict[str, Any]:
        user, text = question
        start = time.perf_counter()
        found = memory.search(text, top_k=limit, filters={"user_id": user})
        milliseconds = (time.perf_counter() - start) * 1000
        return {"ids": [item["id"] for item in found["results"]], "milliseconds": milliseconds}

    def search_at_once(
        self, *, collection: str, questions: list[list[str]], limit: int, clients: int, seconds: float
    ) -> dict[str, Any]:
        """Search with several threads for some seconds, as `run_clients` does."""
        memory = self._open(collection)
        rate = run_clients(
            lambda question: self._ask(memory, question, limit=limit), questions, clients=clients, seconds=seconds
        )
        return {"calls": rate.calls, "seconds": rate.seconds}

    def flush_statistics(self, *, collection: str) -> None:
        """Have every connection of the pool report what it has counted; they would do so some seconds later."""
        pool = self._open(collection).vector_store.connection_pool
        with ExitStack() as stack:
            for _ in range(pool.get_stats()["pool_size"]):
                stack.enter_context(pool.connection()).execute("SELECT pg_stat_force_next_flush()")

    def describe(self) -> dict[str, str]:
        """Return the versions of the packages that matter."""
        return {name: version(name) for name in ("mem0ai", "psycopg", "numpy")}

    def make_table(self, *, collection: str) -> None:
        """Have mem0 make its table with its indexes."""
        self._open(collection).vector_store._ensure_collection()

    def check_payload(self, *, collection: str) -> None:
        """Raise ValueError if what `insert` puts beside a vector is not what mem0's ``add`` puts there."""
        memory = self._open(collection)
        user, content = "checked", "I like green tea."
        (added,) = memory.add(content, user_id=user, infer=False)["results"]
        stored = dict(memory.vector_store.get(added["id"]).payload)
        memory.delete(added["id"])
        ours = make_payload(user=user, content=content)
        times = ("created_at", "updated_at")
        if stored != ours | {name: stored[name] for name in times if name in stored}:
            raise ValueError(f"mem0 stores {stored}, and this benchmark would insert {ours}")


def make_payload(*, user: str, content: str) -> dict[str, Any]:
    """Return the payload of a memory, with the fields that mem0's ``add`` gives it."""
    from mem0.utils.lemmatization import lemmatize_for_bm25

    now = datetime.now(UTC).isoformat()
    return {
        "user_id": user,
        "role": "user",
        "data": content,
        "hash": hashlib.md5(content.encode()).hexdigest(),
        "created_at": now,
        "updated_at": now,
        "text_lemmatized": lemmatize_for_bm25(content),
    }


def say(answer: dict[str, Any]) -> None:
    """Write one line to the benchmark."""
    print(json.dumps(answer), file=_out, flush=True)


_out = sys.stdout


def main() -> None:
    """Answer commands until standard input ends."""
    connection, folder = sys.argv[1:]
    sys.stdout = sys.stderr  # what others print must not come between the answers
    program = Program(connection=connection, folder=Path(folder))
    say({"result": None})
    for line in sys.stdin:
        command = json.loads(line)
        try:
            say({"result": getattr(program, command.pop("do"))(**command)})
        except Exception as error:
            traceback.print_exc()
            say({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
