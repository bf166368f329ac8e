"""Advisory file locks (flock): the kernel gives them back however their holder ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from apps.embedded.layout import DataLayout


class InstallationInUse(Exception):
    """Somebody else has the data folder for themselves; the message says who."""


def try_lock(file: IO[str] | IO[bytes] | int) -> bool:
    """Take the lock on ``file`` for ourselves, or return False when somebody else holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def hold_installation(layout: DataLayout) -> Iterator[None]:
    """Have the data folder for ourselves: one ``up``, restore or upgrade at a time. Else `InstallationInUse`."""
    layout.run.mkdir(parents=True, exist_ok=True)
    with layout.up_lock.open("a+") as lock:
        if not try_lock(lock):
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            raise InstallationInUse(f"Jiyi is already running on {layout.root} (process {holder}).")
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
