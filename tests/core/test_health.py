"""``/healthz``. That all parts become healthy is tested where all are started: ``tests/core/management/test_up.py``."""

from __future__ import annotations

import pytest
from django.test import AsyncClient
from health_check.base import HealthCheck
from health_check.exceptions import ServiceUnavailable

from apps.core import health


class Well(HealthCheck):
    async def run(self) -> None:
        return


class Broken(HealthCheck):
    async def run(self) -> None:
        raise ServiceUnavailable("secret-host refused")


async def test_all_well_is_200(monkeypatch: pytest.MonkeyPatch, async_client: AsyncClient) -> None:
    monkeypatch.setattr(health, "PARTS", {"database": Well, "queue": Well})
    response = await async_client.get("/healthz")
    assert response.status_code == 200
    assert response.json() == {"database": "ok", "queue": "ok"}
    assert "no-store" in response["Cache-Control"]


async def test_one_broken_part_is_503_and_its_reason_stays_inside(
    monkeypatch: pytest.MonkeyPatch, async_client: AsyncClient
) -> None:
    monkeypatch.setattr(health, "PARTS", {"database": Well, "queue": Broken})
    response = await async_client.get("/healthz")
    assert response.status_code == 503
    assert response.json() == {"database": "ok", "queue": "failed"}


@pytest.mark.django_db(transaction=True)
async def test_database_and_queue_are_really_asked_and_a_missing_worker_is_told(async_client: AsyncClient) -> None:
    response = await async_client.get("/healthz")
    assert response.status_code == 503
    assert response.json() == {"database": "ok", "queue": "ok", "worker": "failed"}
