"""Summaries as the worker makes them: from the work that a turn leaves, beside turns and deletions (S1, S3, S4)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.utils import timezone

from apps.conversations.models import Message, Role, Session, Work
from apps.conversations.sessions import delete_session, get_session
from apps.core.db import release_connections
from apps.core.errors import NotFound
from apps.extraction import tasks
from apps.summaries.models import SessionSummary
from tests.summaries.conftest import ANSWER, Say
from tests.support.factories import SessionFactory
from tests.support.scripted_model import Gate, Reply, ScriptedModel

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.spec("S1", "S3", "S4"),
    pytest.mark.long_except("test_a_turn_leaves_the_work_and_the_worker_does_it"),
]


@pytest.fixture
def session(transactional_db: None) -> Session:
    return SessionFactory.create()


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
