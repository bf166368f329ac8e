"""Periodic work on the ledger of calls. A task is one call of a service."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.costs import ledger


@shared_task
def sum_up_old_calls() -> None:
    """Replace old calls by sums of a day, so that the ledger does not grow with every call for ever (Q1)."""
    ledger.sum_up_old_calls(now=timezone.now())
