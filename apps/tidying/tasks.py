"""Background work of tidying. A task is one call of a service."""

from __future__ import annotations

from typing import Any

from celery import Task, shared_task
from django.conf import settings
from django.utils import timezone

from apps.conversations.worker import DATABASE_ERRORS
from apps.tidying import services
from apps.tidying.run import claim_run, do_run

# A run renews its lease before each call of the model.
LONGEST_SECONDS = 6 * settings.WORK_LEASE_SECONDS


@shared_task(
    bind=True,
    autoretry_for=DATABASE_ERRORS,
    default_retry_delay=2,
    max_retries=None,
    soft_time_limit=LONGEST_SECONDS,
    time_limit=LONGEST_SECONDS + 30,
)
def tidy(self: Task[Any, Any]) -> None:
    """Do the run that has been due longest, and later the next."""
    token = str(self.request.id)
    run = claim_run(token=token, now=timezone.now())
    if run is not None:
        do_run(run, token=token)
        services.wake_tidier()


@shared_task
def tidy_for_idle() -> None:
    """Ask for the runs that are due by their people's settings; wake a worker for what waits."""
    services.request_for_idle(now=timezone.now())
    services.wake_tidier()
