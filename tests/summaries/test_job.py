"""Summaries as the worker makes them: from the work that a turn leaves, beside turns and deletions (S1, S3, S4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from apps.conversations.models import Message, Role, Session, Work
from apps.conversations.queue import add_work, claim_session_work
from apps.conversations.sessions import delete_session, get_session
from apps.core.db import release_connections
from apps.core.errors import Conflict, NotFound
from apps.extraction import tasks
from apps.memory.changes import undo
from apps.memory.changes.undo import undo_operation
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.models import Change, LongTermMemory
from apps.summaries import history
from apps.summaries.models import SessionSummary
from apps.summaries.services import create_session_summary, delete_session_summary
from tests.summaries.conftest import ANSWER, Say
from tests.support.scripted_model import Gate, Reply, ScriptedModel

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.spec("S1", "S3", "S4"),
    pytest.mark.long_except("test_a_turn_leaves_the_work_and_the_worker_does_it"),
]


@pytest.fixture
def worker() -> Iterator[ThreadPoolExecutor]:
    """A thread with a database connection of its own."""
    with ThreadPoolExecutor(1) as pool:
        yield pool
        pool.submit(release_connections).result()


def run_worker(worker: ThreadPoolExecutor) -> Future[Any]:
    """Let the worker do all summaries that are due."""
    return worker.submit(lambda: tasks.summarize.apply().get())


def list_work(kind: str) -> list[Work]:
    return list(Work.objects.filter(kind=kind))


def test_a_turn_leaves_the_work_and_the_worker_does_it(
    session: Session, say: Say, model: ScriptedModel, worker: ThreadPoolExecutor
):
    say(session, ["说说租房的合同"] * 11)
    assert len(list_work("summarize")) == 11
    run_worker(worker).result(200)
    assert list_work("summarize") == []
    summary = session.messages.get(role=Role.SUMMARY)
    assert summary.content == "用户谈了租房的事。"
    assert SessionSummary.objects.get().title == "租房"
    assert Work.objects.filter(kind="embed", message=summary).count() == 1
    assert len(model.chat_requests) == 2


def test_turns_go_on_while_the_model_writes(
    session: Session, say: Say, model: ScriptedModel, worker: ThreadPoolExecutor
):
    say(session, ["说说租房的合同"] * 11)
    gate = Gate()
    model.script(ANSWER, Reply((gate, ANSWER)))
    running = run_worker(worker)
    gate.wait_reached()
    say(session, ["现在说说别的"])
    gate.open()
    running.result(200)
    summary = session.messages.get(role=Role.SUMMARY)
    said = list(session.messages.exclude(role=Role.SUMMARY).order_by("position"))
    assert [message.summarized_by_id for message in said] == [summary.id] * 18 + [None] * 6
    assert summary.position == 25 == Session.objects.get().last_position
    say(session, ["再说一句"])
    assert list(session.messages.order_by("position").values_list("position", flat=True)) == list(range(1, 28))


@pytest.mark.spec("W4")
def test_a_session_deleted_while_the_model_writes_stays_deleted(
    session: Session, say: Say, model: ScriptedModel, worker: ThreadPoolExecutor
):
    say(session, ["说说租房的合同"] * 11)
    gate = Gate()
    model.script(ANSWER, Reply((gate, ANSWER)))
    running = run_worker(worker)
    gate.wait_reached()
    delete_session(user=session.user, session_id=session.id)
    gate.open()
    running.result(200)
    assert (Message.objects.count(), SessionSummary.objects.count(), Work.objects.count()) == (0, 0, 0)
    with pytest.raises(NotFound):
        get_session(session.user, session.id)


def test_a_bad_answer_is_tried_again_and_nothing_is_lost(
    session: Session, say: Say, model: ScriptedModel, worker: ThreadPoolExecutor
):
    say(session, ["说说租房的合同"])
    model.script("这不是 JSON")
    run_worker(worker).result(200)
    (work,) = list_work("summarize")
    assert (work.state, work.attempts, work.claim) == ("due", 1, None)
    assert "bad_answer" in work.error
    Work.objects.update(due_at=timezone.now())
    run_worker(worker).result(200)
    assert list_work("summarize") == []
    assert SessionSummary.objects.get().snippet == "谈了租房。"


# A change beside a deletion, each in a thread and a connection of its own: neither blocks the other

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"


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
def test_undoing_beside_deleting(monkeypatch: pytest.MonkeyPatch, whole_session: bool, session: Session) -> None:
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
def test_removing_copies_beside_deleting_the_session(monkeypatch: pytest.MonkeyPatch, session: Session) -> None:
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
