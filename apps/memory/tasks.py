"""Periodic work on memories. Each task is one call of a service."""

from __future__ import annotations

from celery import shared_task

from apps.memory.working import services


@shared_task
def expire_working_memory() -> int:
    """Delete working memory that idled too long (W4)."""
    return services.expire_working_memory()
