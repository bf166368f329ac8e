"""Changes of a summary beside its deletion, each in a thread and a connection of its own: neither blocks the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import pytest
from django.db import connection

from apps.conversations.models import Message, Role, Session, Work
from apps.conversations.queue import add_work, claim_session_work
from apps.conversations.sessions import delete_session
from apps.core.db import release_connections
from apps.core.errors import Conflict, NotFound
from apps.memory.changes import undo
from apps.memory.changes.undo import undo_operation
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.models import Change, LongTermMemory
from apps.summaries import history
from apps.summaries.models import SessionSummary
from apps.summaries.services import create_session_summary, delete_session_summary
from tests.support.factories import SessionFactory

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]


def write(session: Session) -> SessionSummary:
    return create_session_summary(user=session.user, session_id=session.id, title="旅行", snippet="去杭州", now=NOW)


def stop_until_another_waits(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> Event:
    """Make a step of the first wait until the second is stuck behind it, or is through; returns when it is reached."""
    reached, original = Event(), getattr(module, name)

    def step(*args: Any, **named: Any) -> Any:
        reached.set()
        deadline = datetime.now(UTC) + timedelta(seconds=0.5)
        with connection.cursor() as cursor:
            while datetime.now(UTC) < deadline:
                cursor.execute(WAITING)
                if cursor.fetchone() != (0,):
                    break
        return original(*args, **named)

    monkeypatch.setattr(module, name, step)
    return reached


def run_beside(first: Callable[[], Any], second: Callable[[], Any], *, after: Event) -> list[BaseException | None]:
    """Run the second once the first has reached a step; returns what each raised."""

    def run(job: Callable[[], Any]) -> None:
        try:
            job()
        finally:
            release_connections()

    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(run, first)
        assert after.wait(200)
        return [job.exception() for job in (running, pool.submit(run, second))]


@pytest.mark.spec("L7")
@pytest.mark.parametrize("whole_session", [False, True])
def test_undoing_beside_deleting(monkeypatch: pytest.MonkeyPatch, whole_session: bool) -> None:
    session = SessionFactory()
    summary, user = write(session), session.user
    operation = Change.objects.get().operation

    def delete() -> None:
        if whole_session:
            delete_session(user=user, session_id=session.id)
        else:
            delete_session_summary(user=user, summary_id=summary.id, now=NOW)

    undone, deleted = run_beside(
        lambda: undo_operation(user=user, operation=operation, now=NOW),
        delete,
        after=stop_until_another_waits(monkeypatch, undo, "_refuse_final"),
    )
    assert undone is None or (whole_session and isinstance(undone, Conflict | NotFound))
    assert deleted is None or isinstance(deleted, NotFound)  # undoing its creation had deleted it by then
    assert Session.objects.exists() is not whole_session
    assert not SessionSummary.objects.filter(deleted=False).exists()


@pytest.mark.spec("L6", "W4")
def test_removing_copies_beside_deleting_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    session = SessionFactory()
    user = session.user
    write(session)
    memory, _created = create_memory(user=user, category="fact", key="城市", value="杭州", now=NOW)
    message = Message.objects.create(session=session, user=user, role=Role.USER, content="去杭州", position=1)
    add_work(messages=[message], kinds=[Work.Kind.SUMMARIZE], now=NOW)
    assert claim_session_work(
        kind=Work.Kind.SUMMARIZE, token="run", now=NOW, lease=timedelta(hours=1), limit=1, max_characters=None
    )
    reached = stop_until_another_waits(monkeypatch, history, "lock_session")
    forgotten, deleted = run_beside(
        lambda: delete_memories(LONG_TERM, user=user, ids=[memory.id], now=NOW, copies=True),
        lambda: delete_session(user=user, session_id=session.id),
        after=reached,
    )
    assert (forgotten, deleted) == (None, None)
    assert not LongTermMemory.objects.exists()
    assert not Session.objects.exists()
