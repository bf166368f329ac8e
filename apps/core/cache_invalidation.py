"""Clearing the text caches of every process: within a second of an erasure, and every few minutes anyway (R3).

An erasure leaves a mark in the shared cache, and every web and worker process looks at it once a second, from a thread,
so that an idle worker clears its caches, too. A shared cache that cannot be asked may hide a mark, so it counts as one.

A task that was running during the erasure may read one of the deleted texts again. So the caches are cleared again a
little later, and then after pauses that double: soon enough for what takes seconds, and without reading everything anew
each time for what takes minutes.
"""

from __future__ import annotations

import threading
import time
from typing import Final
from uuid import uuid4

import structlog
from django.core.cache import cache

from apps.core.text.text_cache import clear_text_caches

logger = structlog.get_logger(__name__)

MARK: Final = "last_erasure"
MARK_KEPT_SECONDS: Final = 3600.0

SECONDS_BETWEEN_LOOKS: Final = 1.0
FIRST_PAUSE: Final = 10.0
"""Seconds from an erasure to the next clearing. So what is read `t` seconds after one is gone by 2·t + 10."""

LONGEST_SECONDS: Final = 300.0
"""The longest pause. Deleting single items leaves no mark: what was cached of them lives so long at most."""


def mark_erasure() -> None:
    """Have every process clear its text caches, this one at once. Raises `RedisError` without the shared cache."""
    clear_text_caches()
    cache.set(MARK, str(uuid4()), MARK_KEPT_SECONDS)


class CacheInvalidator:
    """Looks at the mark; clears the text caches when it has changed, or when the pause since the last time is over."""

    def __init__(self, *, now: float) -> None:
        self._mark: str | None = None
        self._cleared_at = now
        self._pause = LONGEST_SECONDS
        self._is_blind = False

    def look(self, *, now: float) -> None:
        """Clear the caches if it is time to. `now`: in seconds, of any clock."""
        if self._is_marked():
            self._pause = FIRST_PAUSE
        elif now - self._cleared_at >= self._pause:
            self._pause = min(2 * self._pause, LONGEST_SECONDS)
        else:
            return
        clear_text_caches()
        self._cleared_at = now

    def _is_marked(self) -> bool:
        try:
            mark: str | None = cache.get(MARK)
        except Exception as error:  # whatever it is: the thread that looks must not end
            if not self._is_blind:  # once, not with every look
                logger.warning("erasures_not_seen", cause=type(error).__name__)
            self._is_blind = True
            return True
        self._is_blind = False
        is_another = mark != self._mark
        self._mark = mark
        return is_another


def start_cache_invalidation() -> None:
    """Look at the mark from now on, in a thread, as long as this process lives."""
    threading.Thread(target=_run, name="cache-invalidation", daemon=True).start()


def _run() -> None:
    invalidator = CacheInvalidator(now=time.monotonic())
    while True:
        time.sleep(SECONDS_BETWEEN_LOOKS)
        invalidator.look(now=time.monotonic())
