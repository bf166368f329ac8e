"""A worker that is killed while it delivers loses nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone
from redis import Redis

from apps.accounts.models import User
from apps.conversations.queue import send_task
from apps.memory.entries import create_memory
from tests.support.processes import wait_until
from tests.support.scripted_model import ScriptedModel
from tests.support.workers import run_worker
from tests.webhooks.conftest import Receiver, make_hook

# Seconds: until what a killed worker had claimed is due again.
LEASE = 5


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_what_a_killed_worker_was_sending_is_sent_again(
    receiver: Receiver, scripted_model: ScriptedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = Redis.from_url(settings.REDIS_URL)
    broker.flushall()
    monkeypatch.setenv("WEBHOOKS", "private")
    monkeypatch.setenv("SECRET_KEY", settings.SECRET_KEY)  # what the hook's secret is encrypted with
    mei = User.objects.create(username="mei")
    hook = make_hook(mei, receiver.url)
    receiver.goes_on.clear()
    create_memory(user=mei, category="fact", key="city", value="York", now=timezone.now())

    def arrives(count: int) -> bool:
        if not broker.llen("celery"):
            send_task("apps.webhooks.tasks.deliver")  # as beat does
        return len(receiver.requests) >= count

    log = tmp_path / "worker.log"
    with run_worker(model=scripted_model, lease_seconds=LEASE, log=log) as worker:
        wait_until(lambda: arrives(1))
        worker.kill()
    assert hook.deliveries.get().delivered_at is None
    receiver.goes_on.set()
    with run_worker(name="another", model=scripted_model, lease_seconds=LEASE, log=log):
        wait_until(lambda: arrives(2) and hook.deliveries.get().delivered_at is not None)
    ids = {headers["webhook-id"] for headers, _body in receiver.requests}
    assert ids == {str(hook.deliveries.get().id)}
