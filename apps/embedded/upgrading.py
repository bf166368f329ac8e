"""Putting the cluster of a newer PostgreSQL in the place of an old one, without ever leaving none."""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apps.embedded.layout import DataLayout
from apps.embedded.locks import InstallationInUse, try_lock
from apps.embedded.postgres import Postgres, finish_swap, read_major
from apps.embedded.process import get_account, spawn

_START_SECONDS = 60.0
_STOP_SECONDS = 60.0


@contextmanager
def hold_old_server(layout: DataLayout, *, programs: Path) -> Iterator[None]:
    """Run the cluster of an older version with its own programs, for the time of the block.

    Raises RuntimeError when it does not start, `InstallationInUse` when it runs already.
    """
    server = Postgres(layout, programs=programs)
    layout.run.mkdir(parents=True, exist_ok=True)
    layout.log.mkdir(parents=True, exist_ok=True)
    log_path = layout.log / "postgres.old.log"
    with layout.keeper_lock(server.name).open("w") as lock, log_path.open("ab") as log:
        if not try_lock(lock):
            raise InstallationInUse(f"The database of {layout.root} is running. Stop everything that uses it.")
        os.set_inheritable(lock.fileno(), True)
        server.prepare()
        state = layout.state(server.name)
        process = spawn(
            server.command(),
            death_signal=server.stop_signal,
            account=get_account(state),
            reach=state,
            stdout=log,
            stderr=log,
            pass_fds=[lock.fileno()],
        )
        try:
            deadline = time.monotonic() + _START_SECONDS
            while not server.is_ready():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"PostgreSQL {read_major(layout)} did not start; see {log_path}")
                time.sleep(0.05)
            yield
        finally:
            process.send_signal(server.stop_signal)
            try:
                process.wait(timeout=_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()


def measure_state(layout: DataLayout) -> str:
    """Return what changes whenever a server has run on the cluster; "" where there is none.

    A backup made since then, with the same state, holds everything.
    """
    try:
        return hashlib.sha256((layout.state(Postgres.name) / "global" / "pg_control").read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""


def swap_in(layout: DataLayout) -> Path:
    """Let the cluster of ``layout.brought_over``, whose server has stopped, take the place of the old one.

    Returns where the old one is now. Killed at any point, the next start finds the old cluster or the new one:
    a mark says, between the two renamings, that the new one is complete. Raises `InstallationInUse`.
    """
    final = layout.state(Postgres.name)
    with layout.keeper_lock(Postgres.name).open("w") as lock:
        if not try_lock(lock):
            raise InstallationInUse(f"The database of {layout.root} is running. Stop everything that uses it.")
        with DataLayout.at(layout.brought_over).keeper_lock(Postgres.name).open("w") as new:
            fcntl.flock(new, fcntl.LOCK_EX)  # waits for its server to end
        kept = _find_free(final, read_major(layout))
        layout.swap_mark.touch()
        _sync(layout.root)
        final.rename(kept)
        finish_swap(layout)
        _sync(layout.root)
        fcntl.flock(lock, fcntl.LOCK_UN)
    return kept


def _find_free(final: Path, major: int | None) -> Path:
    candidate, number = final.with_name(f"{final.name}.{major}"), 2
    while candidate.exists():
        candidate, number = final.with_name(f"{final.name}.{major}.{number}"), number + 1
    return candidate


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
