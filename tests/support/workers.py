"""Worker processes of the product, as `manage.py up` starts them, on the tests' database and broker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db import connection

from apps.core.db import release_connections
from tests.support.processes import wait_until
from tests.support.scripted_model import MODEL, ScriptedModel

PROJECT = Path(__file__).resolve().parents[2]
QUEUES = "celery,embedding,model"

BLOCKED = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
Run = Callable[..., "Future[Any]"]


def database_url() -> str:
    """The test database as another process reaches it."""
    given = connection.settings_dict
    port = f":{given['PORT']}" if given["PORT"] else ""
    return f"postgresql://{given['USER']}:{given['PASSWORD']}@{quote(given['HOST'], safe='')}{port}/{given['NAME']}"


@dataclass(frozen=True)
class Worker:
    """A running worker: a parent and the child that does the work."""

    process: subprocess.Popen[bytes]

    def find_child(self) -> int:
        """The process ID of its child."""
        pid = self.process.pid
        children: list[str] = []

        def look() -> bool:  # a killed one is replaced in a moment
            children[:] = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            return len(children) == 1

        wait_until(look)
        return int(children[0])

    def kill(self) -> None:
        """End it at once, with its child, as the kernel does when memory runs out."""
        child = self.find_child()
        self.process.kill()
        self.process.wait()
        wait_until(lambda: not Path(f"/proc/{child}").exists())

    def kill_child(self) -> None:
        """End the child alone."""
        os.kill(self.find_child(), signal.SIGKILL)


@contextmanager
def run_worker(*, model: ScriptedModel, lease_seconds: int, log: Path, name: str = "worker") -> Iterator[Worker]:
    """One worker of this name for all queues, with the scripted server as both models; killed in the end."""
    environment = {
        **os.environ,
        "DATABASE_URL": database_url(),
        "REDIS_URL": settings.REDIS_URL,
        "JIYI_DATA_DIR": str(settings.DATA_DIR),
        "OPENAI_API_KEY": "test",
        "OPENAI_BASE_URL": model.base_url,
        "CHAT_MODEL": MODEL,
        "EMBEDDING_MODEL": "scripted-embedder",
        "WORK_LEASE_SECONDS": str(lease_seconds),
        "WORK_RETRY_SECONDS": "0.2",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "celery", "--quiet", "--app", "project", "worker", "--queues", QUEUES]
    command += ["--hostname", f"{name}@%h"]
    options = ["--concurrency", "1", "--without-gossip", "--without-mingle", "--without-heartbeat"]
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*command, *options, "--loglevel", "WARNING"],
            cwd=PROJECT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Worker(process)
    finally:
        process.kill()
        process.wait()


def run_together(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run the jobs at the same moment, each in a thread of its own; return their results. Raises what one raises."""
    barrier = Barrier(len(jobs))

    def run(job: Callable[[], Any]) -> Any:
        try:
            barrier.wait()
            return job()
        finally:
            release_connections()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))
