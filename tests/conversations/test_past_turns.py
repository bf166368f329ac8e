"""``POST …/turns``: what was said elsewhere is stored in its order, once, with all background work on it (C9)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
import time_machine
from django.utils import timezone

from apps.conversations.models import Message, Recording, Session, Work
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel

pytestmark = [
    pytest.mark.spec("C9"),
    pytest.mark.usefixtures("sent"),
    pytest.mark.long_except(
        "test_messages_are_stored_in_their_order_with_all_work_and_no_model_is_asked",
        "test_the_same_key_again_answers_the_same_and_stores_nothing_twice",
        "test_one_bad_message_refuses_all",
    ),
]

KEY = {"Idempotency-Key": "import-1"}
CHAT = [
    {"role": "user", "content": "我搬到上海了"},
    {"role": "assistant", "content": "上海欢迎你！"},
    {"role": "user", "content": "I work as a nurse."},
    {"role": "user", "content": "And I have two cats."},
    {"role": "assistant", "content": "Lovely."},
    {"role": "assistant", "content": "Anything else?"},
]


def record(client: ApiClient, session: str, messages: list[dict[str, Any]], **headers: str) -> httpx2.Response:
    return client.post(f"/chat/sessions/{session}/turns", json={"messages": messages}, headers=headers)


def work_on(*messages: Message) -> set[tuple[str, bool]]:
    return set(Work.objects.filter(message__in=messages).values_list("kind", "recorded"))


@pytest.mark.spec("C1")
def test_messages_are_stored_in_their_order_with_all_work_and_no_model_is_asked(
    alice: ApiClient, scripted_model: ScriptedModel, sent: list[str]
):
    session = alice.new_session()
    before = timezone.now()
    response = record(alice, session, CHAT)
    assert (response.status_code, response.json()) == (202, {"stored": 6, "paused_by": None})
    stored = list(Message.objects.order_by("position"))
    assert [{"role": row.role, "content": row.content} for row in stored] == CHAT
    assert [row.position for row in stored] == [1, 2, 3, 4, 5, 6]
    assert {row.status for row in stored} == {"complete"}
    assert all(before <= row.create_time <= timezone.now() for row in stored)
    assert work_on(stored[0], stored[2], stored[3]) == {("embed", True), ("extract", True)}
    assert work_on(stored[1], stored[4]) == {("embed", True)}
    assert work_on(stored[5]) == {("embed", True), ("summarize", True)}
    assert set(sent) == {f"apps.extraction.tasks.{kind}" for kind in ("embed", "extract", "summarize")}
    assert scripted_model.requests == []


def test_a_user_message_and_the_reply_right_after_it_are_a_round(alice: ApiClient):
    session = alice.new_session()
    record(alice, session, CHAT)
    stored = list(Message.objects.order_by("position"))
    assert [row.reply_to_id for row in stored] == [None, stored[0].id, None, None, stored[3].id, None]
    record(alice, session, [{"role": "user", "content": "还在吗"}])
    record(alice, session, [{"role": "assistant", "content": "在"}])
    record(alice, session, [{"role": "assistant", "content": "一直在"}])
    question, reply, more = Message.objects.order_by("position")[6:]
    assert (reply.reply_to_id, more.reply_to_id) == (question.id, None)


def test_times_are_kept_and_the_session_becomes_active_now(alice: ApiClient):
    session = alice.new_session()
    Session.objects.update(last_active_at=datetime(2020, 1, 1, tzinfo=UTC))
    now = datetime.now(UTC).replace(microsecond=0)
    with time_machine.travel(now, tick=False):
        record(alice, session, [{**CHAT[0], "create_time": "2019-05-04T23:30:00+08:00"}, CHAT[1]])
    assert list(Message.objects.order_by("position").values_list("create_time", flat=True)) == [
        datetime(2019, 5, 4, 15, 30, tzinfo=UTC),
        now,
    ]
    assert Session.objects.get().last_active_at == now


def test_the_same_key_again_answers_the_same_and_stores_nothing_twice(alice: ApiClient, bob: ApiClient):
    session = alice.new_session()
    first, again = (record(alice, session, CHAT, **KEY) for _ in range(2))
    assert (
        (again.status_code, again.json())
        == (first.status_code, first.json())
        == (202, {"stored": 6, "paused_by": None})
    )
    assert Message.objects.count() == 6
    record(alice, alice.new_session(), CHAT, **KEY).raise_for_status()
    record(bob, bob.new_session(), CHAT, **KEY).raise_for_status()
    assert Message.objects.count() == 18


@pytest.mark.parametrize(
    "messages",
    [
        [*CHAT, CHAT[0]],
        [{**CHAT[0], "content": "别的"}, *CHAT[1:]],
        [{**CHAT[0], "create_time": "2019-05-04T00:00:00Z"}, *CHAT[1:]],
    ],
    ids=["more", "another text", "another time"],
)
def test_the_same_key_for_other_messages_is_a_conflict(alice: ApiClient, messages: list[dict[str, Any]]):
    session = alice.new_session()
    record(alice, session, CHAT, **KEY)
    response = record(alice, session, messages, **KEY)
    assert (response.status_code, response.json()["error"]["code"]) == (409, "conflict")
    assert Message.objects.count() == 6
    assert Recording.objects.count() == 1


@pytest.mark.spec("C7")
def test_a_temporary_session_stores_and_leaves_no_work(alice: ApiClient, sent: list[str]):
    assert record(alice, alice.new_session(temporary=True), CHAT).json() == {"stored": 6, "paused_by": None}
    assert not Work.objects.exists()
    assert sent == []


@pytest.fixture
def session_before(alice: ApiClient) -> Iterator[str]:
    """A session that has to stay as it is."""
    session = alice.new_session()
    before = Session.objects.values().get()
    yield session
    assert Session.objects.values().get() == before
    assert not Message.objects.exists()
    assert not Work.objects.exists()
    assert not Recording.objects.exists()


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"role": "summary", "content": "x"}, "role"),
        ({"role": "user", "content": " \n"}, "content"),
        ({"role": "user", "content": "x", "create_time": "yesterday"}, "create_time"),
        ({"role": "user", "content": "x", "create_time": "2019-05-04T00:00:00"}, "create_time"),
        ({"role": "user", "content": "x", "create_time": "0001-01-01T00:00:00+14:00"}, "create_time"),
        ({"role": "user", "content": "x", "created": "2019-05-04T00:00:00Z"}, "created"),
        ("x", "non_field_errors"),
    ],
)
def test_one_bad_message_refuses_all(alice: ApiClient, session_before: str, message: Any, field: str):
    response = record(alice, session_before, [CHAT[0], message], **KEY)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid")
    reasons = response.json()["error"]["fields"]["messages"]
    assert field in (reasons["1"] if isinstance(reasons, dict) else reasons[1])


def test_a_time_to_come_is_refused_but_for_a_clock_that_goes_a_little_fast(alice: ApiClient):
    session = alice.new_session()
    soon, later = ((timezone.now() + timedelta(minutes=minutes)).isoformat() for minutes in (4, 6))
    assert record(alice, session, [{**CHAT[0], "create_time": later}]).status_code == 400
    assert not Message.objects.exists()
    assert record(alice, session, [{**CHAT[0], "create_time": soon}]).status_code == 202
