"""Background work of accounts. A task is one call of a service."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.accounts.services.login_lockout import forget_old_attempts
from apps.accounts.services.sessions import forget_ended_sessions


@shared_task
def tidy_logins() -> None:
    """Forget attempts and sessions that are neither counted nor shown any more."""
    now = timezone.now()
    forget_old_attempts(now=now)
    forget_ended_sessions(now=now)
