"""The cache in Valkey, and clearing what processes keep of texts after an erasure (R3).

Everybody who uses the cache goes on without it where it fails. Once it has not answered in time it is not asked for
`PAUSE_SECONDS`; then one call tries again: a cache that hangs costs a process one wait, not every request one.

An erasure leaves a mark in the cache, and every web and worker process looks at it once a second, from a thread, so
that an idle worker clears its caches, too. A task that was running during the erasure may read one of the deleted
texts again. So they are cleared again a little later, and then after pauses that double.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final
from uuid import uuid4

import structlog
from django.core.cache import cache
from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from apps.core.text.text_cache import clear_text_caches

PAUSE_SECONDS = 15.0


class Breaker:
    """Says whether to ask a server. Safe to use from several threads at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._closed_until: float | None = None

    def run(self, act: Callable[[], Any]) -> Any:
        """Return what `act` does. Raises redis' ConnectionError at once while the server is not asked."""
        with self._lock:
            now = self._clock()
            if self._closed_until is not None:
                if now < self._closed_until:
                    raise RedisConnectionError("The cache did not answer in time; it is asked again soon.")
                self._closed_until = now + PAUSE_SECONDS  # this call alone tries
        try:
            result = act()
        except RedisTimeoutError:
            with self._lock:
                self._closed_until = self._clock() + PAUSE_SECONDS
            raise
        if self._closed_until is not None:
            with self._lock:
                self._closed_until = None
        return result


@lru_cache(maxsize=16)
def _get_breaker(servers: tuple[str, ...]) -> Breaker:
    """One for all threads: Django makes a client for each."""
    return Breaker()


class BreakingCacheClient(RedisCacheClient):
    """Django's client, which asks through the breaker of its cache."""

    def __init__(self, servers: list[str], **options: Any) -> None:
        super().__init__(servers, **options)
        breaker = _get_breaker(tuple(servers))

        class BreakingRedis(Redis):
            def execute_command(self, *args: Any, **options: Any) -> Any:
                execute: Callable[..., Any] = super().execute_command
                return breaker.run(lambda: execute(*args, **options))

        self._client = BreakingRedis


class BreakingCache(RedisCache):
    """The cache backend of the settings."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = BreakingCacheClient


logger = structlog.get_logger(__name__)

MARK: Final = "last_erasure"
MARK_KEPT_SECONDS: Final = 3600.0

SECONDS_BETWEEN_LOOKS: Final = 1.0
# Seconds from an erasure to the next clearing. So what is read `t` seconds after one is gone by 2·t + 10.
FIRST_PAUSE: Final = 10.0

# The longest pause. Deleting single items leaves no mark: what was cached of them lives so long at most.
LONGEST_SECONDS: Final = 300.0


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
