"""Reading summaries. Temporary sessions have none (C7), and a deleted one is not there."""

from __future__ import annotations

import uuid
from dataclasses import replace

from django.db.models import QuerySet

from apps.accounts.models import User
from apps.core.db import fetch_rows
from apps.core.errors import NotFound
from apps.memory.selectors import REMOVED, cut_ended
from apps.summaries.models import SessionSummary
from apps.summaries.types import SessionSummarySnapshot

_RECENT = """
SELECT summary.id, session_id, summary.title, snippet, summary.created_at, session.last_active_at
FROM session_summary AS summary JOIN chat_session AS session ON session.id = session_id
WHERE summary.user_id = %(user)s AND NOT deleted AND NOT session.temporary
  AND session_id IS DISTINCT FROM %(excluded)s::uuid
ORDER BY session.last_active_at DESC, summary.id DESC
LIMIT %(limit)s
"""


def list_session_summaries(user: User) -> QuerySet[SessionSummary]:
    """The user's session summaries, newest first."""
    return SessionSummary.objects.filter(user=user, deleted=False)


def get_session_summary(user: User, summary_id: uuid.UUID) -> SessionSummary:
    """Return the summary, or raise `NotFound`."""
    summary = list_session_summaries(user).filter(id=summary_id).first()
    if summary is None:
        raise NotFound("This summary does not exist.")
    return summary


def get_recent_session_summaries(
    *, user: User, limit: int, exclude_session_id: uuid.UUID | None = None
) -> list[SessionSummarySnapshot]:
    """Return summaries of the `limit` most recently active other sessions that have one, newest first (S2).

    They are for a model to read: without what was corrected or forgotten since. One that says nothing else is left out.
    """
    rows = fetch_rows(_RECENT, {"user": user.pk, "excluded": exclude_session_id, "limit": limit})
    found = [SessionSummarySnapshot(*row) for row in rows]
    cut = cut_ended(user, [text for summary in found for text in (summary.title, summary.snippet)])
    pairs = zip(found, cut[::2], cut[1::2], strict=True)
    return [replace(summary, title=title, snippet=text) for summary, title, text in pairs if text != REMOVED]
