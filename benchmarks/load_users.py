"""The people of the load benchmark, for locust: some hold streams open, others read. Started by `benchmarks.load`.

Environment: ``LOAD_TOKENS`` (a file with an API token a line) and ``LOAD_STREAMS`` (how many people stream; the others
read).
"""

from __future__ import annotations

import itertools
import os
import random
import time
from pathlib import Path
from typing import Any

from locust import HttpUser, constant_throughput, task

TOKENS = itertools.cycle(Path(os.environ["LOAD_TOKENS"]).read_text().split())
STREAMS = int(os.environ["LOAD_STREAMS"])
READS_OF_A_PERSON = 5  # a second

READS = (
    ("list memories", "/memory/long-term?limit=20"),
    ("list sessions", "/chat/sessions?limit=20"),
    ("search memories", "/memory/long-term/search?q=favorite%20city"),
    ("search memories, zh", "/memory/long-term/search?q=%E5%96%9C%E6%AC%A2%E7%9A%84%E9%A2%9C%E8%89%B2"),
    ("search atomic memories", "/memory/atomic/search?q=breakfast"),
    ("profile", "/profile"),
    ("settings", "/memory/settings"),
)


class Person(HttpUser):
    abstract = True

    def on_start(self) -> None:
        self.client.headers["Authorization"] = f"Bearer {next(TOKENS)}"


class Streamer(Person):
    """Holds one streamed reply open after the other, by both doors in turn."""

    fixed_count = STREAMS

    def on_start(self) -> None:
        super().on_start()
        self.session = self.client.post("/chat/sessions", json={}, name="new session").json()["id"]
        self.said = 0

    @task
    def stream(self) -> None:
        self.said += 1
        content = f"What is my favorite city? ({self.said})"
        if self.said % 2:
            path, body = f"/chat/sessions/{self.session}/messages", {"content": content, "stream": True}
            self.read(path, body, first=b"event: delta", last=b"event: done", name="stream of a turn")
        else:
            path = "/v1/chat/completions"
            body = {"model": "jiyi", "stream": True, "messages": [{"role": "user", "content": content}]}
            self.read(path, body, first=b'"delta": {"content"', last=b"[DONE]", name="stream of a completion")

    def read(self, path: str, body: dict[str, Any], *, first: bytes, last: bytes, name: str) -> None:
        start, ended, seen = time.perf_counter(), False, False
        with self.client.post(path, json=body, stream=True, name=name, catch_response=True) as response:
            for line in response.iter_lines():
                if not seen and first in line:
                    seen = True
                    self.environment.events.request.fire(
                        request_type="SSE",
                        name="first token",
                        response_time=(time.perf_counter() - start) * 1000,
                        response_length=0,
                        exception=None,
                        context={},
                    )
                ended = ended or last in line
            if not (seen and ended):
                response.failure("the stream ended early")


class Reader(Person):
    wait_time = constant_throughput(READS_OF_A_PERSON)

    @task
    def read(self) -> None:
        name, path = random.choice(READS)
        self.client.get(path, name=name)
