"""Writers of one session at once: none deadlocks with another, and what is deleted stays deleted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from apps.chat.tasks import delete_idle_temporary_sessions
from apps.conversations.models import Message, Session
from apps.conversations.rounds import close_round, reopen_round
from apps.conversations.sessions import delete_session
from apps.memory.models import WorkingMemory
from apps.memory.working import count_turn, record_analysis, record_form
from tests.support.factories import open_message
from tests.support.workers import Run

pytestmark = pytest.mark.django_db(transaction=True)


def count(session: Session) -> Any:
    return count_turn(user=session.user, session_id=session.id, now=timezone.now(), ttl_minutes=30)


@pytest.mark.spec("W4")
def test_a_session_deleted_while_its_reply_is_stored_goes_with_the_reply(session: Session, run_until_blocked: Run):
    opened = open_message(session)
    with transaction.atomic():
        close_round(opened=opened, reply="好", emotion=None, now=timezone.now())
        deletion = run_until_blocked(delete_session, user=session.user, session_id=session.id)
    assert deletion.result() == 1
    assert (Session.objects.count(), Message.objects.count()) == (0, 0)


@pytest.mark.spec("W4")
def test_a_session_deleted_while_a_message_is_stored_goes_with_the_message(session: Session, run_until_blocked: Run):
    with transaction.atomic():
        open_message(session)
        deletion = run_until_blocked(delete_session, user=session.user, session_id=session.id)
    assert deletion.result() == 1
    assert (Session.objects.count(), Message.objects.count()) == (0, 0)


@pytest.mark.spec("W4", "C6")
def test_a_session_deleted_while_a_message_is_taken_up_again_goes_with_it(session: Session, run_until_blocked: Run):
    opened = open_message(session, lease=timedelta(seconds=-1))
    lease = timedelta(minutes=1)
    with transaction.atomic():
        reopen_round(user=session.user, message_id=opened.message_id, now=timezone.now(), lease=lease)
        deletion = run_until_blocked(delete_session, user=session.user, session_id=session.id)
        count(session)
    assert deletion.result() == 1
    assert (Message.objects.count(), WorkingMemory.objects.count()) == (0, 0)


@pytest.mark.spec("H1", "W3")
def test_a_form_sent_while_a_reply_is_stored_and_the_reply_are_both_kept(session: Session, run_until_blocked: Run):
    opened, snapshot = open_message(session), count(session)
    now = timezone.now()
    with transaction.atomic():
        close_round(opened=opened, reply="好", emotion=None, now=now)
        record_analysis(
            user=session.user,
            snapshot=snapshot,
            topic="旅行",
            variables={"a": 1},
            last_emotion="happy",
            max_bytes=65536,
            now=now,
        )
        form = run_until_blocked(
            record_form, user=session.user, session_id=session.id, title="行程", fields={"去": "北京"}, now=now
        )
    assert list(form.result().variables.values) == ["a", "hitl_行程"]
    assert (form.result().current_topic, form.result().turn_count) == ("旅行", 1)
    assert Message.objects.filter(role="assistant").count() == 1


@pytest.mark.spec("C7")
def test_a_temporary_session_that_wakes_up_during_the_sweep_stays(session: Session, run_until_blocked: Run):
    Session.objects.update(temporary=True, last_active_at=timezone.now() - timedelta(hours=1))
    with transaction.atomic():
        open_message(session)
        sweep = run_until_blocked(delete_idle_temporary_sessions)
    assert sweep.result() == 0
    assert Message.objects.get().session == session
