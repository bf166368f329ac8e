"""A cache that hangs is given up once, not by every request: the others go on without it at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from apps.core.cache import PAUSE_SECONDS, Breaker, BreakingCache
from tests.support.hanging import HangingServer


@pytest.fixture
def hanging() -> Iterator[HangingServer]:
    server = HangingServer()
    yield server
    server.close()


@pytest.mark.parametrize(
    "use",
    [
        lambda cache: cache.get("a"),
        lambda cache: cache.set("a", 1),
        lambda cache: cache.incr("a"),
        lambda cache: cache.delete("a"),
        lambda cache: cache.get_many(["a", "b"]),
    ],
)
def test_a_server_that_hangs_is_not_asked_again_by_the_next_ones(
    hanging: HangingServer, use: Callable[[Any], Any]
) -> None:
    cache = BreakingCache(hanging.url, {"OPTIONS": {"socket_timeout": 0.05}})
    with pytest.raises(RedisTimeoutError):
        use(cache)
    asked = hanging.asked
    for _ in range(20):
        with pytest.raises(RedisConnectionError, match="asked again soon"):
            use(cache)
    assert hanging.asked == asked


def fail(error: RedisError) -> Callable[[], Any]:
    def act() -> None:
        raise error

    return act


def test_after_a_pause_one_call_tries_and_its_success_is_everybodys() -> None:
    now = [0.0]
    breaker = Breaker(clock=lambda: now[0])
    with pytest.raises(RedisTimeoutError):
        breaker.run(fail(RedisTimeoutError()))

    now[0] += PAUSE_SECONDS

    def try_beside() -> str:
        with pytest.raises(RedisConnectionError):
            breaker.run(lambda: "another")
        return "one"

    assert breaker.run(try_beside) == "one"
    assert breaker.run(lambda: "all") == "all"


@pytest.mark.parametrize("error", [RedisTimeoutError(), RedisConnectionError("refused")])
def test_a_call_that_fails_after_the_pause_begins_another(error: RedisError) -> None:
    now = [0.0]
    breaker = Breaker(clock=lambda: now[0])
    with pytest.raises(RedisTimeoutError):
        breaker.run(fail(RedisTimeoutError()))
    now[0] += PAUSE_SECONDS
    with pytest.raises(type(error)):
        breaker.run(fail(error))
    with pytest.raises(RedisConnectionError, match="asked again soon"):
        breaker.run(lambda: "not asked")


@pytest.mark.parametrize("error", [RedisConnectionError("refused"), RedisError("wrong type")])
def test_what_fails_at_once_is_asked_each_time(error: RedisError) -> None:
    breaker = Breaker()
    for _ in range(3):
        with pytest.raises(type(error)):
            breaker.run(fail(error))
    assert breaker.run(lambda: "all") == "all"
