"""The backlog: how much work is due, claimed and failed."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Count, Min, Q
from django.utils import timezone

from apps.accounts.models import User
from apps.conversations.models import Work

Backlog = dict[str, dict[str, int]]
"""By kind of work: `due` (waiting, those put off included), `claimed` (under way), `failed`, and `oldest_seconds`."""


def list_due_kinds(*, now: datetime) -> list[str]:
    """The kinds of which there is work that a run could claim now."""
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    due = Work.objects.filter(free, state=Work.State.DUE, due_at__lte=now)
    return [kind for kind in Work.Kind.values if due.filter(kind=kind).exists()]


def count_backlog(*, user: User | None = None) -> Backlog:
    """How much is left to do of everybody's, or of one person's, by kind; `oldest_seconds` is 0 when nothing is."""
    now = timezone.now()
    left, claimed = Q(state=Work.State.DUE), Q(lease_until__gte=now)
    everything = Work.objects.order_by()
    rows = (
        (everything if user is None else everything.filter(user=user))
        .values("kind")
        .annotate(
            left=Count("id", filter=left),
            claimed=Count("id", filter=left & claimed),
            failed=Count("id", filter=Q(state=Work.State.FAILED)),
            oldest=Min("created_at", filter=left),
        )
    )
    backlog = {kind: {"due": 0, "claimed": 0, "failed": 0, "oldest_seconds": 0} for kind in Work.Kind.values}
    for row in rows:
        backlog[row["kind"]] = {
            "due": row["left"] - row["claimed"],
            "claimed": row["claimed"],
            "failed": row["failed"],
            "oldest_seconds": max(0, int((now - row["oldest"]).total_seconds())) if row["oldest"] else 0,
        }
    return backlog


def list_failed_ids(*, kind: str | None = None, user: User | None = None) -> list[int]:
    """The rows that failed, of one kind or of all, of one person or of everybody, oldest first."""
    failed = Work.objects.filter(state=Work.State.FAILED, **({} if user is None else {"user": user}))
    return list((failed.filter(kind=kind) if kind else failed).order_by("id").values_list("id", flat=True))
