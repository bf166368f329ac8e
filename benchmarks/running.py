"""The product and a scripted model as real processes on a data folder of their own, for benchmarks."""

from __future__ import annotations

import os
import platform
import re
import signal
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx2
from rich.console import Console

from apps.embedded.process import spawn
from tests.support.scripted_model import MODEL, PIECE_CHARS
from tests.support.servers import make_data_folder, remove_data_folder

_PROJECT = Path(__file__).resolve().parents[1]
# How long a process may take to start, to answer and to stop: a busy machine needs a minute for what takes seconds.
_PATIENCE_SECONDS = 300
_CLEARED = (
    *("DATABASE_URL", "REDIS_URL", "DEBUG", "THROTTLE_RATE"),
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "CHAT_MODEL", "EMBEDDING_MODEL", "EMBEDDING_BASE_URL"),
)


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and 95th percentile, in milliseconds."""

    p50: float
    p95: float

    def __str__(self) -> str:
        return f"{self.p50:.1f} / {self.p95:.1f}"


def get_spread(values: Sequence[float]) -> Spread:
    """Return the percentiles of at least two values, interpolated between neighbours."""
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return Spread(p50=round(cuts[49], 2), p95=round(cuts[94], 2))


def describe_machine() -> dict[str, Any]:
    """Return what figures were measured on, for a report."""
    return {"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count()}


def make_console() -> Console:
    """Return a console that is wide enough for tables where they go to a file or a pipe."""
    return Console(width=None if sys.stdout.isatty() else 140)


@contextmanager
def run_in_new_data_folder() -> Iterator[Path]:
    """Set Django up on embedded servers in a temporary folder, migrated and empty, and delete it all afterwards.

    Nothing of the caller's environment or ``.env`` may lead elsewhere. Once per process.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C, so that servers and folder go
    folder = make_data_folder()
    os.environ.update(dict.fromkeys(_CLEARED, ""))
    os.environ.update(JIYI_DATA_DIR=str(folder), DJANGO_SETTINGS_MODULE="project.settings", OMP_NUM_THREADS="1")
    try:
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connection

        from apps.embedded.servers import hold_servers

        with hold_servers(folder):  # durable, as in production
            call_command("migrate", verbosity=0, interactive=False)
            try:
                yield folder
            finally:
                connection.close()
                connection.close_pool()
    finally:
        remove_data_folder(folder)


@contextmanager
def run_scripted_model(*, pause: float = 0, piece_chars: int = PIECE_CHARS) -> Iterator[str]:
    """Run the scripted model server in a process of its own; yields its base URL. `pause`: seconds between pieces."""
    command = [sys.executable, "-m", "tests.support.scripted_model", "--host", "127.0.0.1"]
    command += ["--pause", str(pause), "--piece-chars", str(piece_chars)]
    with _run(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()


@dataclass(frozen=True, slots=True)
class Web:
    """A running web process and the address it answers at."""

    address: str
    pid: int

    def read_peak_memory(self) -> float:
        """Return the most memory, in MiB, that the process has taken so far."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


@contextmanager
def run_web(*, model_url: str) -> Iterator[Web]:
    """Run the web process as ``manage.py up`` does, connected to the scripted model; yields it once it answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        # As in `up`: asyncio does not set it on the connections of a socket that came by file descriptor.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        command = [sys.executable, "-m", "uvicorn", "project.asgi:application", "--no-access-log"]
        command += ["--fd", str(listener.fileno()), "--timeout-graceful-shutdown", "5"]
        environment = {"OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": "benchmark", "CHAT_MODEL": MODEL}
        with _run(command, environment=environment, pass_fds=[listener.fileno()]) as process:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            # The socket takes connections at once, but nobody answers them before the dictionaries are read.
            httpx2.get(f"{address}/readyz", timeout=_PATIENCE_SECONDS).raise_for_status()
            yield Web(address, process.pid)


@contextmanager
def _run(
    command: list[str],
    *,
    environment: Mapping[str, str] | None = None,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    pass_fds: Sequence[int] = (),
) -> Iterator[subprocess.Popen[bytes]]:
    process = spawn(
        command,
        death_signal=signal.SIGTERM,  # it ends with us, however we end
        cwd=_PROJECT,
        env={**os.environ, **(environment or {})},
        stdout=stdout,
        pass_fds=pass_fds,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=_PATIENCE_SECONDS)
        if process.stdout is not None:
            process.stdout.close()
