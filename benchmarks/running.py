"""The product and a scripted model as real processes on a data folder of their own, for benchmarks."""

from __future__ import annotations

import os
import platform
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx2

from apps.embedded.process import spawn
from tests.support.processes import wait_until
from tests.support.scripted_model import MODEL, PIECE_CHARS
from tests.support.servers import make_data_folder, remove_data_folder

_PROJECT = Path(__file__).resolve().parents[1]
_PATIENCE_SECONDS = 300
"""How long a process may take to start, to answer and to stop: a busy machine needs a minute for what takes seconds."""
_CLEARED = (
    *("DATABASE_URL", "REDIS_URL", "DEBUG", "THROTTLE_RATE"),
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "CHAT_MODEL", "EMBEDDING_MODEL", "EMBEDDING_BASE_URL"),
)


@dataclass(frozen=True, slots=True)
class Product:
    """A running ``manage.py up``: its process ID, its data folder, and the address it answers at."""

    pid: int
    folder: Path
    address: str


def describe_machine() -> dict[str, Any]:
    """Return what figures were measured on, for a report."""
    return {"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count()}


@contextmanager
def run_in_new_data_folder() -> Iterator[Path]:
    """Set Django up on embedded servers in a temporary folder, migrated and empty; all of it is gone afterwards.

    Nothing of the caller's environment or ``.env`` may lead elsewhere. Once per process.
    """
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
def run_scripted_model(
    *, pause: float = 0, piece_chars: int = PIECE_CHARS, host: str = "127.0.0.1", reply_file: Path | None = None
) -> Iterator[str]:
    """Run the scripted model server in a process of its own; yields its base URL. `pause`: seconds between pieces."""
    command = [sys.executable, "-m", "tests.support.scripted_model", "--host", host]
    command += ["--reply-file", str(reply_file)] if reply_file else []
    command += ["--pause", str(pause), "--piece-chars", str(piece_chars)]
    with _run(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()


@contextmanager
def run_web(*, model_url: str) -> Iterator[str]:
    """Run the web process as ``manage.py up`` does; yields its address once it answers.

    `model_url`: "" for the offline model.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        # As in `up`: asyncio does not set it on the connections of a socket that came by file descriptor.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        command = [sys.executable, "-m", "uvicorn", "project.asgi:application", "--no-access-log"]
        command += ["--fd", str(listener.fileno()), "--timeout-graceful-shutdown", "5"]
        connected = {"OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": "benchmark", "CHAT_MODEL": MODEL}
        environment = connected if model_url else {}
        with _run(command, environment=environment, pass_fds=[listener.fileno()]) as process:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            _processes[address] = process.pid
            # The socket takes connections at once, but nobody answers them before the dictionaries are read.
            httpx2.get(f"{address}/readyz", timeout=_PATIENCE_SECONDS).raise_for_status()
            yield address


_processes: dict[str, int] = {}


def read_memory(address: str) -> float:
    """Return the most memory, in MiB, that the web process of `run_web` at this address has taken so far."""
    status = Path(f"/proc/{_processes[address]}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


@contextmanager
def run_product(folder: Path) -> Iterator[Product]:
    """Run ``manage.py up`` on the data folder of `run_in_new_data_folder`, with the offline model."""
    log = folder / "up.log"
    command = [sys.executable, "manage.py", "up", "--port", "0"]
    with log.open("wb") as output, _run(command, stdout=output, stderr=subprocess.STDOUT) as process:
        address = re.compile(r"Jiyi is running at (http://\S+?)/? ")
        wait_until(lambda: address.search(log.read_text()) or process.poll() is not None, seconds=_PATIENCE_SECONDS)
        found = address.search(log.read_text())
        if found is None:
            raise RuntimeError(f"manage.py up did not start: {log.read_text()}")
        yield Product(pid=process.pid, folder=folder, address=found[1])


@contextmanager
def _run(
    command: list[str],
    *,
    environment: Mapping[str, str] | None = None,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    stderr: int | IO[bytes] | None = None,
    pass_fds: list[int] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    process = spawn(
        command,
        death_signal=signal.SIGTERM,  # it ends with us, however we end
        cwd=_PROJECT,
        env={**os.environ, **(environment or {})},
        stdout=stdout,
        stderr=stderr,
        pass_fds=pass_fds or (),
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=_PATIENCE_SECONDS)
        if process.stdout is not None:
            process.stdout.close()
