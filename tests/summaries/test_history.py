"""Every change of a session's summary is recorded and can be undone; what was deleted cannot (L7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from apps.conversations.models import Session
from apps.conversations.sessions import delete_session
from apps.core.errors import Conflict
from apps.memory.changes.undo import undo_operation
from apps.memory.models import Change
from apps.summaries.drafting import PreparedSummaries, SessionDraft, SessionNote
from apps.summaries.models import SessionSummary
from apps.summaries.services import (
    create_session_summary,
    delete_session_summary,
    get_recent_session_summaries,
    store_summaries,
    update_session_summary,
)
from tests.support.factories import SessionFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("L7")]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def session() -> Session:
    return SessionFactory()


def write(session: Session, snippet: str) -> SessionSummary:
    return create_session_summary(user=session.user, session_id=session.id, title="旅行", snippet=snippet, now=NOW)


def draft(session: Session, snippet: str, *, since: int, until: int) -> None:
    note = SessionNote(title="trip", snippet=snippet)
    drafted = SessionDraft(note=note, since=since, covered_until=until)
    store_summaries(user=session.user, prepared=PreparedSummaries(session_id=session.id, session=drafted), now=NOW)


def undo(session: Session, operation: UUID) -> UUID:
    return undo_operation(user=session.user, operation=operation, now=LATER)


def shown(session: Session) -> list[str]:
    return [summary.snippet for summary in get_recent_session_summaries(user=session.user, limit=5)]


def test_what_the_machine_and_the_person_write_is_recorded(session: Session) -> None:
    draft(session, "去杭州", since=0, until=2)
    draft(session, "去杭州和上海", since=2, until=12)
    summary = SessionSummary.objects.get()
    update_session_summary(user=session.user, summary_id=summary.id, changes={"snippet": "去上海"}, now=LATER)
    changes = Change.objects.order_by("id")
    assert [(change.action, change.origin, change.actor) for change in changes] == [
        ("create", "extraction", None),
        ("refresh", "extraction", None),
        ("edit", "api", session.user),
    ]
    assert {(change.object_id, change.session_id, change.kind) for change in changes} == {
        (summary.id, session.id, "summary")
    }
    assert changes[2].before == {"title": "trip", "snippet": "去杭州和上海", "edited": False}
    assert changes[2].after == {"title": "trip", "snippet": "去上海", "edited": True}


def test_changes_are_undone_and_done_again(session: Session) -> None:
    summary = write(session, "去杭州")
    creation = Change.objects.get().operation
    undoing = undo(session, creation)
    assert shown(session) == []
    undo(session, undoing)
    assert shown(session) == ["去杭州"]
    update_session_summary(user=session.user, summary_id=summary.id, changes={"snippet": "去上海"}, now=NOW)
    undoing = undo(session, Change.objects.get(action="edit").operation)
    assert shown(session) == ["去杭州"]
    undo(session, undoing)
    assert shown(session) == ["去上海"]


def test_a_deletion_is_final_and_leaves_no_text(session: Session) -> None:
    summary = write(session, "去杭州")
    operation = Change.objects.get().operation
    delete_session_summary(user=session.user, summary_id=summary.id, now=NOW)
    assert not Change.objects.exclude(before=None, after=None).exists()
    with pytest.raises(Conflict):
        undo(session, operation)


def test_the_record_goes_with_the_session(session: Session) -> None:
    write(session, "去杭州")
    delete_session(user=session.user, session_id=session.id)
    assert not Change.objects.exists()
