"""mem0 in a process and an environment of its own, for `benchmarks.mem0_side`: JSON lines in, JSON lines out.

    python -m benchmarks.mem0_program CONNECTION-STRING FOLDER

Each line on standard input is a command, an object with ``do``; each is answered by one line with ``result`` or
``error``. Everything is timed in here, so the pipe costs mem0 nothing. Of this project only modules are imported that
need nothing but numpy and the local embedder.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
from mem0 import Memory  # not installed where the project's own code runs
from mem0.embeddings.base import EmbeddingBase

from benchmarks.vectors import NATIVE_DIMENSIONS, embed_texts


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
        return [self.embed(text) for text in texts] if self.known else embed_texts(texts).tolist()


class Program:
    """The commands, each a method that takes the fields of its line and returns its result."""

    def __init__(self, *, connection: str, folder: Path) -> None:
        self._connection = connection
        self._folder = folder
        self._embedder = Embedder()
        self._memories: dict[str, Memory] = {}
        self._embedder.embed("warm-up")

    def _open(self, collection: str) -> Memory:
        """Return the memory whose rows are in this table; mem0 makes the table with its indexes."""
        if collection not in self._memories:
            store = {
                "connection_string": self._connection,
                "collection_name": collection,
                "embedding_model_dims": NATIVE_DIMENSIONS,
                "hnsw": True,
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
            memory.vector_store._ensure_collection()
        return self._memories[collection]

    def add(
        self, *, collection: str, user: str, contents: list[str], batch: int = 1, vectors: str | None = None
    ) -> dict[str, Any]:
        """Add memories through mem0's own ``add``, `batch` messages a call.

        `vectors`: a file with their vectors, which are then looked up; without, they are made.
        """
        memory = self._open(collection)
        if vectors is not None:
            self._embedder.known = dict(zip(contents, np.load(vectors).tolist(), strict=True))
        ids: list[str] = []
        start = time.perf_counter()
        for at in range(0, len(contents), batch):
            messages = [{"role": "user", "content": content} for content in contents[at : at + batch]]
            added = memory.add(messages, user_id=user, infer=False)
            ids += [item["id"] for item in added["results"]]
        seconds = time.perf_counter() - start
        self._embedder.known = {}
        return {"ids": ids, "seconds": seconds}

    def search(self, *, collection: str, user: str, text: str, limit: int) -> dict[str, Any]:
        """Search a user's memories."""
        memory = self._open(collection)
        start = time.perf_counter()
        found = memory.search(text, top_k=limit, filters={"user_id": user})
        milliseconds = (time.perf_counter() - start) * 1000
        return {"ids": [item["id"] for item in found["results"]], "milliseconds": milliseconds}


def main() -> None:
    """Answer commands until standard input ends."""
    connection, folder = sys.argv[1:]
    answers, sys.stdout = sys.stdout, sys.stderr  # what others print must not come between the answers
    program = Program(connection=connection, folder=Path(folder))
    print(json.dumps({"result": None}), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"result": getattr(program, command.pop("do"))(**command)}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
