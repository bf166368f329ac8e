"""Background work of the doors. A task is one call of a service."""

from __future__ import annotations

from typing import Any

from celery import Task, shared_task
from django.utils import timezone

from apps.conversations.worker import DATABASE_ERRORS
from apps.doors.imports.running import run_imports as continue_imports
from apps.doors.imports.services import wake_importer
from apps.doors.mcp import oauth


@shared_task
def clear_oauth() -> None:
    """Delete tokens that have expired, and applications that nobody connected."""
    oauth.clear_oauth(now=timezone.now())


@shared_task(bind=True, autoretry_for=DATABASE_ERRORS, default_retry_delay=2, max_retries=None)
def run_imports(self: Task[Any, Any]) -> None:
    """Continue imports for a few seconds, and again later for what is left."""
    if continue_imports(token=str(self.request.id)):
        wake_importer()
