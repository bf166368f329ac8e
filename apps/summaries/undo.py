"""Bringing the summary of a session back to what it was (L7)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.memory.history.types import Snapshot
from apps.memory.services import TrackedKind
from apps.summaries.audit import EMPTY, snapshot
from apps.summaries.models import SessionSummary


def _lock(_user: User) -> None:
    """Reading locks: writers of a summary hold its session, so only those of the sessions in question have to wait."""


def _read(user: User, ids: Collection[UUID]) -> Mapping[UUID, SessionSummary]:
    summaries = SessionSummary.objects.filter(user=user, id__in=ids)
    sessions = Session.objects.filter(id__in=summaries.values("session_id")).order_by("id")
    held = list(sessions.select_for_update(no_key=True))
    return summaries.filter(session__in=held).select_related("session").in_bulk()


def _restore(*, user: User, rows: Sequence[tuple[SessionSummary, Snapshot | None]], now: datetime) -> None:
    """Write the texts as they were; a summary that was not there before is not wanted, as if it had been deleted."""
    for summary, before in rows:
        state = before or EMPTY
        summary.title, summary.snippet, summary.edited = state["title"], state["snippet"], state["edited"]
        summary.deleted, summary.updated_at = not (summary.title or summary.snippet), now
        if summary.deleted:
            summary.covered_until = summary.session.last_position
        summary.save()


KIND = TrackedKind(lock=_lock, read=_read, snapshot=snapshot, restore=_restore)
