"""Background work of the gateway. A task is one call of a service."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.gateway.oauth import services


@shared_task
def clear_oauth() -> None:
    """Delete tokens that have expired, and applications that nobody connected."""
    services.clear_oauth(now=timezone.now())
