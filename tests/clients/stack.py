"""The whole product as `make run` starts it, in front of a given model server, and a person's requests to it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.clients.environments import PROJECT
from tests.support.processes import find_processes, wait_until


@dataclass(frozen=True)
class Account:
    """A token and where it is good. `headers` are sent with each request of ours, not by the clients."""

    url: str
    token: str
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def base_url(self) -> str:
        """What a client of OpenAI's is given."""
        return f"{self.url}/v1"

    def connection(self, **more: Any) -> dict[str, Any]:
        """What a client program is told on its standard input."""
        return {"url": self.url, "base_url": self.base_url, "token": self.token, **more}

    def as_person(self, name: str) -> Account:
        """The same service token, for one of its end users."""
        return Account(self.url, self.token, (("X-End-User", name),))

    def get(self, path: str, **parameters: Any) -> Any:
        """What REST answers."""
        with self._client() as client:
            return client.get(path, params=parameters).raise_for_status().json()

    def post(self, path: str, body: dict[str, Any]) -> Any:
        with self._client() as client:
            return client.post(path, json=body).raise_for_status().json()

    def list_messages(self) -> list[tuple[str, str]]:
        """Role and content of all messages of all sessions, oldest session first."""
        sessions = self.get("/chat/sessions", limit=200)["results"]
        found = []
        for session in reversed(sessions):
            messages = self.get(f"/chat/sessions/{session['id']}/messages", limit=200)["results"]
            found += [(message["role"], message["content"]) for message in messages]
        return found

    def list_sessions(self) -> list[str]:
        return [session["id"] for session in self.get("/chat/sessions", limit=200)["results"]]

    def find_memories(self, words: str) -> list[str]:
        """The contents of atomic memories that REST's search finds."""
        results = self.get("/memory/atomic/search", q=words)["results"]
        return [result["memory"]["content"] for result in results]

    def _client(self) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self.token}", **dict(self.headers)}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=120)


@dataclass(frozen=True)
class Stack:
    """A running product with a data folder of its own."""

    folder: Path
    url: str
    environment: dict[str, str]

    def make_account(self, name: str, *options: str) -> Account:
        """A person (or with ``--service`` a service) and a token for it."""
        command = [sys.executable, "manage.py", "create_token", name, "--create", *options]
        done = subprocess.run(
            command, cwd=PROJECT, env=self.environment, capture_output=True, text=True, check=True, timeout=100
        )
        return Account(self.url, done.stdout.strip())


@contextmanager
def run_stack(folder: Path, *, model_url: str, **variables: str) -> Iterator[Stack]:
    """``manage.py up`` on a free port, with embedded servers and `model_url` as its chat model; stopped in the end.

    What is sent before its web process is up waits for it.
    """
    nothing = dict.fromkeys(("DATABASE_URL", "REDIS_URL", "HOST", "PORT", "CHAT_MODEL", "EMBEDDING_BASE_URL"), "")
    environment = {
        **os.environ,
        **nothing,
        "JIYI_DATA_DIR": str(folder),
        "OPENAI_API_KEY": "test",
        "OPENAI_BASE_URL": model_url,
        "EMBEDDING_MODEL": "local",
        "LOG_LEVEL": "INFO",
        **variables,
    }
    log = folder / "output"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--port", "0"],
            cwd=PROJECT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    with process:
        try:
            wait_until(lambda: b"Jiyi is running at" in log.read_bytes() or process.poll() is not None, seconds=180)
            found = re.search(r"Jiyi is running at (http://127\.0\.0\.1:\d+)/", log.read_text())
            assert found, log.read_text()
            yield Stack(folder=folder, url=found[1], environment=environment)
        finally:
            process.terminate()
            try:
                process.wait(timeout=120)
            except subprocess.TimeoutExpired:
                process.kill()
    wait_until(lambda: find_processes(folder) == {})
