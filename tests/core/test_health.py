"""``/healthz``. That all parts become healthy is tested where all are started: ``tests/embedded/test_up.py``."""

from __future__ import annotations

import json
from datetime import timedelta
from unittest.mock import ANY

import pytest
from django.db import OperationalError
from django.test import AsyncClient, RequestFactory
from django.utils import timezone
from health_check.base import HealthCheck
from health_check.exceptions import ServiceUnavailable

from apps.conversations.models import Message, Work
from apps.core import health
from apps.core.db import in_database
from tests.support.factories import SessionFactory


class Well(HealthCheck):
    async def run(self) -> None:
        return


class Broken(HealthCheck):
    async def run(self) -> None:
        raise ServiceUnavailable("secret-host refused")


NOTHING = {"due": 0, "claimed": 0, "failed": 0, "oldest_seconds": 0}
NOTHING_LEFT = dict.fromkeys(("embed", "extract", "summarize"), NOTHING)


def leave_work() -> None:
    session = SessionFactory.create()
    message = Message.objects.create(session=session, user=session.user, role="user", content="secret", position=1)
    Work.objects.create(
        kind="embed",
        user=session.user,
        session=session,
        message=message,
        created_at=timezone.now() - timedelta(hours=1),
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("part", "status", "told"), [(Well, 200, "ok"), (Broken, 503, "failed")])
async def test_one_broken_part_is_503_and_its_reason_stays_inside(
    monkeypatch: pytest.MonkeyPatch, async_client: AsyncClient, part: type[HealthCheck], status: int, told: str
) -> None:
    monkeypatch.setattr(health, "PARTS", {"database": Well, "queue": part})
    response = await async_client.get("/healthz")
    assert response.status_code == status
    assert response.json() == {"database": "ok", "queue": told, "backlog": NOTHING_LEFT}
    assert "no-store" in response["Cache-Control"]


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
async def test_database_and_queue_are_really_asked_and_a_missing_worker_is_told(async_client: AsyncClient) -> None:
    response = await async_client.get("/healthz")
    assert response.status_code == 503
    assert response.json() == {"database": "ok", "queue": "ok", "worker": "failed", "backlog": NOTHING_LEFT}


@pytest.mark.django_db(transaction=True)
async def test_a_backlog_is_told_in_counts_and_fails_nothing(
    monkeypatch: pytest.MonkeyPatch, async_client: AsyncClient
) -> None:
    monkeypatch.setattr(health, "PARTS", {"database": Well})
    await in_database(leave_work)
    response = await async_client.get("/healthz")
    assert response.status_code == 200
    backlog = response.json()["backlog"]
    assert backlog["embed"]["oldest_seconds"] >= 3600
    assert backlog == {**NOTHING_LEFT, "embed": {**NOTHING, "due": 1, "oldest_seconds": ANY}}


async def test_a_backlog_that_cannot_be_read_is_null(monkeypatch: pytest.MonkeyPatch, rf: RequestFactory) -> None:
    def count_backlog() -> dict[str, int]:
        raise OperationalError("secret-host refused")

    monkeypatch.setattr(health, "PARTS", {"database": Broken})
    response = await health.healthz(rf.get("/healthz"), count_backlog=count_backlog)
    assert (response.status_code, json.loads(response.content)) == (503, {"database": "failed", "backlog": None})


@pytest.mark.django_db(transaction=True)
async def test_a_web_process_is_ready_with_the_database_alone(async_client: AsyncClient) -> None:
    response = await async_client.get("/readyz")  # no worker runs here
    assert (response.status_code, response.json()) == (200, {"database": "ok"})
    assert "no-store" in response["Cache-Control"]


async def test_without_the_database_it_is_alive_but_not_ready(
    monkeypatch: pytest.MonkeyPatch, async_client: AsyncClient
) -> None:
    monkeypatch.setattr(health, "PARTS", {"database": Broken})
    ready, alive = await async_client.get("/readyz"), await async_client.get("/livez")
    assert (ready.status_code, ready.json()) == (503, {"database": "failed"})
    assert (alive.status_code, alive.json()) == (200, {"web": "ok"})


class FakeInspect:
    """Answers as workers do, those of `up` or others."""

    def __init__(self, workers: list[set[str]]) -> None:
        self.workers = workers
        self.limits: list[int | None] = []

    def __call__(self, *, timeout: float, limit: int | None) -> FakeInspect:
        self.limits.append(limit)
        return self

    def active_queues(self) -> dict[str, list[dict[str, str]]] | None:
        heard = self.workers[: self.limits[-1]]
        return {str(n): [{"name": name} for name in queues] for n, queues in enumerate(heard)} or None


@pytest.mark.parametrize(
    ("workers", "limits", "well"),
    [
        ([{"celery", "embedding"}, {"model"}], [2], True),
        ([{"celery", "embedding", "model"}], [2], True),
        ([{"model"}, {"model"}, {"celery", "embedding"}], [2, None], True),
        ([{"celery", "embedding"}], [2, None], False),
        ([], [2, None], False),
    ],
    ids=["those of up", "one for all", "several of a kind", "none for the model", "none"],
)
def test_every_queue_needs_a_worker(
    monkeypatch: pytest.MonkeyPatch, workers: list[set[str]], limits: list[int | None], well: bool
) -> None:
    inspect = FakeInspect(workers)
    monkeypatch.setattr(health.current_app.control, "inspect", inspect)
    if well:
        health.Workers().run()
    else:
        with pytest.raises(ServiceUnavailable, match=r"No worker takes tasks from: .*model"):
            health.Workers().run()
    assert inspect.limits == limits
