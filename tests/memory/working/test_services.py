"""What a turn found is merged into the working memory it started from, and into no other (W3, W4, L6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.memory.models import WorkingMemory
from apps.memory.working import (
    WorkingMemorySnapshot,
    count_turn,
    delete_working_memory,
    record_analysis,
    update_working_memory,
)
from tests.support.factories import SessionFactory

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)


@pytest.fixture
def session() -> Session:
    return SessionFactory.create()


def count(session: Session, *, minutes: int) -> WorkingMemorySnapshot:
    return count_turn(user=session.user, session_id=session.id, now=NOW + timedelta(minutes=minutes), ttl_minutes=30)


def record(snapshot: WorkingMemorySnapshot, *, minutes: int, **variables: Any) -> WorkingMemorySnapshot | None:
    return record_analysis(
        user=User.objects.get(),
        snapshot=snapshot,
        topic="旧",
        variables=variables,
        last_emotion="sad",
        max_bytes=65536,
        now=NOW + timedelta(minutes=minutes),
    )


@pytest.mark.spec("W3")
def test_what_was_written_during_the_turn_is_kept(session: Session):
    snapshot = count(session, minutes=0)
    update_working_memory(
        user=session.user, session_id=session.id, now=NOW, changes={"context_variables": {"by hand": 1}}
    )
    recorded = record(snapshot, minutes=1, a=2)
    assert recorded is not None
    assert dict(recorded.variables.values) == {"by hand": 1, "a": 2}
    assert WorkingMemory.objects.get().context_variables == {"by hand": 1, "a": 2}


@pytest.mark.spec("W4", "L6")
def test_what_was_deleted_during_the_turn_does_not_come_back_with_the_next_message(session: Session):
    first = count(session, minutes=0)
    record(first, minutes=1, deleted="secret")
    before = count(session, minutes=2)
    delete_working_memory(user=session.user, session_id=session.id)
    for minutes in range(3, 3 + before.revision + 1):  # as many writes as the deleted one had seen
        after = count(session, minutes=minutes)
    assert after.revision == before.revision
    assert record(before, minutes=9, late=1) is None
    row = WorkingMemory.objects.get()
    assert (row.context_variables, row.current_topic, row.last_emotion) == ({}, None, None)
    assert row.turn_count == before.revision + 1


@pytest.mark.spec("W4")
def test_what_idled_out_during_the_turn_does_not_come_back_with_the_next_message(session: Session):
    before = count(session, minutes=0)
    count(session, minutes=31)
    assert record(before, minutes=32, late=1) is None
    row = WorkingMemory.objects.get()
    assert (row.context_variables, row.current_topic, row.last_emotion, row.turn_count) == ({}, None, None, 1)
