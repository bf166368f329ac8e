"""``/healthz``: whether each part of the installation works, for people and for whatever restarts containers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from health_check.base import HealthCheck
from health_check.checks import Database
from health_check.contrib.celery import Ping
from health_check.contrib.redis import Redis
from redis.asyncio import Redis as RedisClient

_WORKER_SECONDS = 1

PARTS: dict[str, Callable[[], HealthCheck]] = {
    "database": Database,
    "queue": lambda: Redis(client_factory=lambda: RedisClient.from_url(settings.REDIS_URL)),
    "worker": lambda: Ping(timeout=timedelta(seconds=_WORKER_SECONDS), limit=1),
}


@never_cache
async def healthz(_request: HttpRequest) -> JsonResponse:
    """``{part: "ok" | "failed"}``, with 200 when all are well and 503 otherwise. Needs no account and tells no more."""
    results = await asyncio.gather(*(make().get_result(None) for make in PARTS.values()))
    health = {name: "failed" if result.error else "ok" for name, result in zip(PARTS, results, strict=True)}
    return JsonResponse(health, status=200 if set(health.values()) == {"ok"} else 503)
