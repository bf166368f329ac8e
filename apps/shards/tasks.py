"""Background work of the directory. A task is one call of a service."""

from __future__ import annotations

from celery import shared_task

from apps.shards import recovering


@shared_task
def finish_moves() -> None:
    """End moves that somebody died over."""
    recovering.finish_moves()
