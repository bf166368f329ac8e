"""Caches: one that hangs is given up once, and those of texts are cleared everywhere after an erasure (R3)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError
from structlog.testing import capture_logs

from apps.accounts.services.erasure import erase_user
from apps.core.cache import LONGEST_SECONDS, MARK, PAUSE_SECONDS, Breaker, BreakingCache, CacheInvalidator, mark_erasure
from apps.core.text.text_cache import cache_texts
from tests.support.factories import UserFactory
from tests.support.hanging import HangingServer
from tests.support.workers import PROJECT


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


TEXT = "用户养了一只叫豆豆的猫。"


@cache_texts(10)
def count(text: str) -> int:
    """A function whose results are cached."""
    return len(text)


@pytest.fixture
def invalidator(servers: None) -> CacheInvalidator:
    """One that has seen the mark, with something cached since."""
    cache.delete(MARK)
    invalidator = CacheInvalidator(now=0)
    invalidator.look(now=0)
    count.cache_clear()
    count(TEXT)
    return invalidator


@pytest.mark.spec("R3")
def test_without_an_erasure_it_is_cached_for_a_while_but_not_for_good(invalidator: CacheInvalidator):
    invalidator.look(now=LONGEST_SECONDS - 1)
    assert count.cache_info().currsize == 1
    invalidator.look(now=LONGEST_SECONDS)
    assert count.cache_info().currsize == 0
    count(TEXT)
    invalidator.look(now=2 * LONGEST_SECONDS - 1)
    assert count.cache_info().currsize == 1


@pytest.mark.spec("R3")
def test_an_erasure_is_seen_once_by_everybody(invalidator: CacheInvalidator):
    other = CacheInvalidator(now=0)
    other.look(now=0)
    mark_erasure()
    assert count.cache_info().currsize == 0, "the process that erases clears at once"
    for each in (invalidator, other):
        count(TEXT)
        each.look(now=1)
        assert count.cache_info().currsize == 0
        count(TEXT)
        each.look(now=2)
        assert count.cache_info().currsize == 1
    mark_erasure()
    count(TEXT)
    invalidator.look(now=3)
    assert count.cache_info().currsize == 0


@pytest.mark.long
@pytest.mark.spec("R3")
def test_what_a_running_task_read_is_cleared_soon_after_it_ended(invalidator: CacheInvalidator):
    """However long a reply or a job holds a text of somebody erased meanwhile: at most about as long again."""
    mark_erasure()
    cleared_at = []
    for now in range(1, 1000):
        invalidator.look(now=now)
        if not count.cache_info().currsize:
            cleared_at.append(now)
        count(TEXT)  # read, and not kept by anybody, until the next look
    assert cleared_at == [1, 11, 31, 71, 151, 311, 611, 911]


@pytest.mark.spec("R3")
def test_the_pauses_begin_anew_with_another_erasure(invalidator: CacheInvalidator):
    mark_erasure()
    for now in (1, 11, 31):
        invalidator.look(now=now)
    mark_erasure()
    for now in (35, 44):
        invalidator.look(now=now)
        count(TEXT)
    invalidator.look(now=45)
    assert count.cache_info().currsize == 0


@pytest.mark.parametrize("error", [RedisError("away"), RuntimeError("what nobody thought of")])
@pytest.mark.spec("R3")
def test_whatever_the_cache_raises_may_hide_an_erasure_and_ends_nothing(
    invalidator: CacheInvalidator, monkeypatch: pytest.MonkeyPatch, error: Exception
):
    def fail(key: str) -> None:
        raise error

    with monkeypatch.context() as broken, capture_logs() as logs:
        broken.setattr(cache, "get", fail)
        for now in (1, 2):
            count(TEXT)
            invalidator.look(now=now)
            assert count.cache_info().currsize == 0
    assert logs == [{"event": "erasures_not_seen", "log_level": "warning", "cause": type(error).__name__}]
    count(TEXT)
    invalidator.look(now=3)
    assert count.cache_info().currsize == 1


BEGIN_WORKER = """
import os
os.environ["JIYI_WORKER_PID"] = str(os.getppid())
import project
from celery.signals import worker_process_init
import django
django.setup()
worker_process_init.send(sender=None)
"""
# How a worker's child, and a web process, begin.
BEGIN_WEB = """
import asyncio
from project.asgi import application

async def begin():
    started = asyncio.Event()
    async def receive():
        if started.is_set():
            await asyncio.Event().wait()
        return {"type": "lifespan.startup"}
    async def send(message):
        assert message == {"type": "lifespan.startup.complete"}
        started.set()
    serving = asyncio.create_task(application({"type": "lifespan"}, receive, send))
    await started.wait()
    serving.cancel()

asyncio.run(begin())
"""

READ = """
import sys, time
from apps.core.text.keywords import stem

stem(sys.stdin.readline().strip())
print(stem.cache_info().currsize, flush=True)
until = time.monotonic() + 30
while stem.cache_info().currsize and time.monotonic() < until:
    time.sleep(0.05)
print("remembered" if stem.cache_info().currsize else "forgotten", flush=True)
"""


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "begin", [pytest.param(BEGIN_WORKER, id="worker", marks=pytest.mark.long), pytest.param(BEGIN_WEB, id="web")]
)
@pytest.mark.spec("R3")
def test_an_idle_process_clears_what_was_erased(begin: str):
    cache.delete(MARK)
    environment = {**os.environ, "REDIS_URL": settings.REDIS_URL, "DJANGO_SETTINGS_MODULE": "project.settings"}
    with subprocess.Popen(
        [sys.executable, "-c", begin + READ],
        cwd=PROJECT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{TEXT}\n")
            process.stdin.flush()
            assert int(process.stdout.readline()) >= 1  # and words of its own start
            erase_user(user=UserFactory.create())
            assert process.stdout.readline() == "forgotten\n"
        finally:
            process.kill()
