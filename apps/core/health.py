"""Health for people and for programs: ``/healthz`` (every part), ``/readyz`` and ``/livez`` (this web process)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from celery import current_app
from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from health_check.base import HealthCheck
from health_check.checks import Database
from health_check.contrib.redis import Redis
from health_check.exceptions import ServiceUnavailable
from redis.asyncio import Redis as RedisClient

from apps.core.db import in_database

WORKER_SECONDS = 1
# As many as `manage.py up` starts: when so many have answered nobody waits for more, unless a queue has none.
USUAL_WORKERS = 2


class Workers(HealthCheck):
    """Every queue has a worker that takes tasks from it."""

    def run(self) -> None:
        missing: set[str] = set()
        for limit in (USUAL_WORKERS, None):
            inspect = current_app.control.inspect(timeout=WORKER_SECONDS, limit=limit)
            answers = inspect.active_queues() or {}
            missing = set(current_app.amqp.queues) - {queue["name"] for queues in answers.values() for queue in queues}
            if not missing:
                return
        raise ServiceUnavailable(f"No worker takes tasks from: {', '.join(sorted(missing))}")


PARTS: dict[str, Callable[[], HealthCheck]] = {
    "database": Database,
    "queue": lambda: Redis(client_factory=lambda: RedisClient.from_url(settings.REDIS_URL)),
    "worker": Workers,
}


@never_cache
async def healthz(_request: HttpRequest, *, count_backlog: Callable[[], Mapping[str, Any]]) -> JsonResponse:
    """``{part: "ok" | "failed", "backlog": counts}``, with 200 when all parts are well and 503 otherwise.

    The backlog (null when it cannot be read) is information: however long it is, nothing has failed, and a restart
    would not shorten it. Needs no account and tells no more than this.
    """
    checks = (make().get_result(None) for make in PARTS.values())
    backlog, *results = await asyncio.gather(_read_backlog(count_backlog), *checks)
    health = {name: "failed" if result.error else "ok" for name, result in zip(PARTS, results, strict=True)}
    status = 200 if set(health.values()) == {"ok"} else 503
    return JsonResponse({**health, "backlog": backlog}, status=status)


@never_cache
async def readyz(_request: HttpRequest) -> JsonResponse:
    """``{"database": "ok" | "failed"}``, with 200 or 503: whether a proxy may send requests to this web process.

    Workers and the queue do not count: without them replies go on, and their work waits in the database.
    """
    result = await PARTS["database"]().get_result(None)
    return JsonResponse({"database": "failed" if result.error else "ok"}, status=503 if result.error else 200)


@never_cache
async def livez(_request: HttpRequest) -> JsonResponse:
    """``{"web": "ok"}``: this process answers. It asks nobody else, so no outage elsewhere gets it restarted."""
    return JsonResponse({"web": "ok"})


async def _read_backlog(count_backlog: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any] | None:
    try:
        return await in_database(count_backlog)
    except DatabaseError:
        return None
