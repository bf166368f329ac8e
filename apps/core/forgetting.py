"""When a process forgets what it remembers of texts: within a second of an erasure, and every few minutes anyway (R3).

An erasure leaves a mark in the cache, and every process that serves or works looks at it once a second, from a thread:
one that waits for work has to forget as well. A cache that cannot be asked may hide a mark, so it counts as one.

What was under way when somebody was erased may read a text once more that it holds. So it is forgotten again a little
later, and then after pauses that double: soon after what takes seconds, and without reading everything anew each time
for what takes minutes.
"""

from __future__ import annotations

import threading
import time
from typing import Final
from uuid import uuid4

import structlog
from django.core.cache import cache

from apps.core.text.remembering import forget_texts

logger = structlog.get_logger(__name__)

MARK: Final = "last_erasure"
MARK_KEPT_SECONDS: Final = 3600.0

SECONDS_BETWEEN_LOOKS: Final = 1.0
FIRST_PAUSE: Final = 10.0
"""Seconds from an erasure to the next time. So what is read `t` seconds after one is forgotten by 2·t + 10."""

LONGEST_SECONDS: Final = 300.0
"""The longest pause. What is deleted one by one leaves no mark: it is remembered for so long at most."""


def mark_erasure() -> None:
    """Have every process forget what it remembers of texts, this one at once. Raises `RedisError` without the cache."""
    forget_texts()
    cache.set(MARK, str(uuid4()), MARK_KEPT_SECONDS)


class Forgetter:
    """Looks at the mark, and forgets where it is another one or the pause since the last time is over."""

    def __init__(self, *, now: float) -> None:
        self._mark: str | None = None
        self._forgotten_at = now
        self._pause = LONGEST_SECONDS
        self._is_blind = False

    def look(self, *, now: float) -> None:
        """Forget if it is time to. `now`: in seconds, of whatever clock."""
        if self._is_marked():
            self._pause = FIRST_PAUSE
        elif now - self._forgotten_at >= self._pause:
            self._pause = min(2 * self._pause, LONGEST_SECONDS)
        else:
            return
        forget_texts()
        self._forgotten_at = now

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


def start_forgetting() -> None:
    """Look at the mark from now on, as long as this process lives."""
    threading.Thread(target=_run, name="forgetting", daemon=True).start()


def _run() -> None:
    forgetter = Forgetter(now=time.monotonic())
    while True:
        time.sleep(SECONDS_BETWEEN_LOOKS)
        forgetter.look(now=time.monotonic())
