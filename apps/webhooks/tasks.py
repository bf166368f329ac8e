"""Background work of webhooks. A task is one call of a service."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from apps.conversations.worker import DATABASE_ERRORS
from apps.webhooks import services


@shared_task(
    autoretry_for=DATABASE_ERRORS, default_retry_delay=2, max_retries=None, soft_time_limit=settings.WORK_LEASE_SECONDS
)
def deliver() -> None:
    """Send what is due, and again later what is left."""
    if services.deliver(now=timezone.now()):
        services.wake_sender()


@shared_task
def delete_old_deliveries() -> None:
    """Delete deliveries of which nothing is to be done any more."""
    services.delete_old_deliveries(now=timezone.now())
