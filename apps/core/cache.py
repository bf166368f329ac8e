"""The cache in Valkey, with a circuit breaker: one that hangs costs a process one wait, not every request one.

Everybody who uses the cache goes on without it where it fails. Once it has not answered in time it is not asked for
`PAUSE_SECONDS`; then one call tries again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

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
