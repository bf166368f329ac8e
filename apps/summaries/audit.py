"""What the audit record keeps of a session's summary (L7)."""

from __future__ import annotations

from apps.memory.history.types import ChangeDraft, Snapshot
from apps.memory.models import Change
from apps.summaries.models import SessionSummary

EMPTY: Snapshot = {"title": "", "snippet": "", "edited": False}
"""What an undone creation leaves: the mark that the session's summary is not wanted, as a deletion does."""


def snapshot(summary: SessionSummary) -> Snapshot:
    """Return what a person could care for of a summary, as JSON."""
    return {"title": summary.title, "snippet": summary.snippet, "edited": summary.edited}


def describe_change(summary: SessionSummary, *, action: Change.Action, before: Snapshot | None) -> ChangeDraft:
    """Return the record of a change of a summary, as it is now; it goes with the session."""
    return ChangeDraft(
        kind=Change.Kind.SUMMARY,
        action=action,
        object_id=summary.id,
        before=before,
        after=snapshot(summary),
        session_id=summary.session_id,
    )
