"""Advisory file locks (flock): the kernel gives them back however their holder ends."""

from __future__ import annotations

import fcntl
from typing import IO


def try_lock(file: IO[str] | int) -> bool:
    """Take the lock on ``file`` for ourselves, or return False when somebody else holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
