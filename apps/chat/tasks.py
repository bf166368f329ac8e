"""Periodic work around turns. Each task is one call of a service."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.conversations.rounds import fail_abandoned_rounds
from apps.conversations.sessions import delete_idle_temporary_sessions as delete_idle_sessions


@shared_task
def fail_abandoned_turns() -> int:
    """Mark messages whose turn died as failed, so that they can be retried (C6)."""
    return fail_abandoned_rounds(now=timezone.now())


@shared_task
def delete_idle_temporary_sessions() -> int:
    """Delete temporary sessions that idled as long as working memory may (C7)."""
    return delete_idle_sessions()
