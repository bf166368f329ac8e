"""A real llama.cpp server with a small real model, for the tests marked ``llm``.

As a program (``python -m tests.support.llama``) it serves until it is told to stop, or its parent is gone, and prints
its base URL when ready. `run_llama` starts it so: a crash or a hang of native code must not take the tests along.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONTEXT_TOKENS = 4096
"""What each of the `PARALLEL` requests at a time may use, prompt and answer together."""

PARALLEL = 2
_READY_SECONDS = 60
_STOP_SECONDS = 10
_PR_SET_PDEATHSIG = 1


@contextmanager
def run_llama() -> Iterator[str]:
    """Run the server in a process of its own for the time of the block; give its base URL, ending in ``/v1``."""
    command = [sys.executable, "-m", "tests.support.llama"]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield _read_base_url(process)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _read_base_url(process: subprocess.Popen[str]) -> str:
    """Return the line that the server prints when it is ready; RuntimeError if it ends or takes too long."""
    assert process.stdout is not None
    with _alarm(_READY_SECONDS):
        for line in process.stdout:
            if line.startswith("http://"):
                return line.strip()
    raise RuntimeError(f"The llama.cpp server ended with status {process.wait()} before it was ready.")


@contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in the main thread if the block takes longer."""

    def give_up(*_: object) -> None:
        raise TimeoutError(f"The llama.cpp server was not ready within {seconds} s.")

    previous = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
