"""Reading summaries. Temporary sessions have none (C7), and a deleted one is not there."""

from __future__ import annotations

import uuid

from django.db.models import QuerySet

from apps.accounts.models import User
from apps.core.errors import NotFound
from apps.summaries.models import SessionSummary
from apps.summaries.types import SessionSummarySnapshot


def list_session_summaries(user: User) -> QuerySet[SessionSummary]:
    """The user's session summaries, newest first."""
    return SessionSummary.objects.filter(user=user, deleted=False)


def get_session_summary(user: User, summary_id: uuid.UUID) -> SessionSummary:
    """Return the summary, or raise `NotFound`."""
    summary = list_session_summaries(user).filter(id=summary_id).first()
    if summary is None:
        raise NotFound("There is no such summary.")
    return summary


def get_recent_session_summaries(
    *, user: User, limit: int, exclude_session_id: uuid.UUID | None = None
) -> list[SessionSummarySnapshot]:
    """Return summaries of the `limit` most recently active other sessions that have one, newest first (S2)."""
    rows = list_session_summaries(user).filter(session__temporary=False).order_by("-session__last_active_at", "-id")
    if exclude_session_id is not None:
        rows = rows.exclude(session_id=exclude_session_id)
    fields = ("id", "session_id", "title", "snippet", "created_at", "session__last_active_at")
    return [SessionSummarySnapshot(*row) for row in rows.values_list(*fields)[:limit]]
