"""Background work of accounts. A task is one call of a service."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.accounts.services.guessing import forget_old_attempts


@shared_task
def tidy_logins() -> None:
    """Forget attempts to log in that are neither counted nor shown any more."""
    forget_old_attempts(now=timezone.now())
