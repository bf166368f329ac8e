"""When a process forgets what it remembers of texts: within a second of an erasure, and every few minutes anyway (R3).

An erasure leaves a mark in the cache, and every process that serves or works looks at it once a second, from a thread:
one that waits for work has to forget as well. A cache that cannot be asked may hide a mark, so it counts as one.
"""

from __future__ import annotations

import threading
import time
from typing import Final
from uuid import uuid4

from django.core.cache import cache
from redis.exceptions import RedisError

from apps.core.text.remembering import forget_texts

MARK: Final = "last_erasure"
MARK_KEPT_SECONDS: Final = 3600.0

SECONDS_BETWEEN_LOOKS: Final = 1.0
LONGEST_SECONDS: Final = 300.0
"""What is deleted one by one leaves no mark: it is remembered for so long at most."""


def mark_erasure() -> None:
    """Have every process forget what it remembers of texts, this one at once. Raises `RedisError` without the cache."""
    forget_texts()
    cache.set(MARK, str(uuid4()), MARK_KEPT_SECONDS)


class Forgetter:
    """Looks at the mark, and forgets where it is another one or the last time is `LONGEST_SECONDS` ago."""

    def __init__(self, *, now: float) -> None:
        self._mark: str | None = None
        self._forgotten_at = now

    def look(self, *, now: float) -> None:
        """Forget if it is time to. `now`: in seconds, of whatever clock."""
        if self._is_marked() or now - self._forgotten_at >= LONGEST_SECONDS:
            forget_texts()
            self._forgotten_at = now

    def _is_marked(self) -> bool:
        try:
            mark: str | None = cache.get(MARK)
        except RedisError:
            return True
        is_another = mark != self._mark
        self._mark = mark
        return is_another


def start_forgetting() -> None:
    """Look at the mark from now on, as long as this process lives."""
    threading.Thread(target=_run, name="forgetting", daemon=True).start()


def _run() -> None:
    forgetter = Forgetter(now=time.monotonic())
    while True:
        time.sleep(SECONDS_BETWEEN_LOOKS)
        forgetter.look(now=time.monotonic())
