"""``Idempotency-Key``: a message sent again is not stored again (C6)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError

from apps.conversations.models import Message
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import Gate, Reply, ScriptedModel

pytestmark = pytest.mark.long_except(
    "test_the_same_key_returns_the_first_outcome",
    "test_the_key_of_another_message_is_a_conflict",
)

KEY = {"Idempotency-Key": "k-1"}


@pytest.mark.spec("C6", "C1")
def test_the_same_key_returns_the_first_outcome(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    model.script(answer("第一次"), answer("第二次"))
    first = alice.say(session, "你好", **KEY)
    again = alice.say(session, "你好", **KEY)
    assert (again.status_code, again.json()) == (201, first.json())
    streamed = alice.say_streaming(session, "你好", **KEY)
    assert [event.name for event in streamed] == ["start", "delta", "done"]
    assert streamed[-1].data == first.json()
    assert Message.objects.count() == 2
    assert len(model.chat_requests) == 1


@pytest.mark.spec("C6")
def test_the_key_holds_within_its_session_only(alice: ApiClient, bob: ApiClient, model: ScriptedModel):
    one, other = alice.new_session(), alice.new_session()
    alice.say(one, "你好", **KEY).raise_for_status()
    alice.say(other, "你好", **KEY).raise_for_status()
    bob.say(bob.new_session(), "你好", **KEY).raise_for_status()
    assert Message.objects.filter(role="user").count() == 3


@pytest.mark.spec("C6")
def test_the_key_of_another_message_is_a_conflict(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    alice.say(session, "你好", **KEY)
    response = alice.say(session, "别的话", **KEY)
    assert (response.status_code, response.json()["error"]["code"]) == (409, "conflict")
    body = {"content": "别的话", "stream": True}
    streamed = alice.post(f"/chat/sessions/{session}/messages", json=body, headers=KEY)
    assert (streamed.status_code, streamed.json()) == (409, response.json())
    assert Message.objects.count() == 2


@pytest.mark.spec("C6")
def test_the_same_key_while_the_turn_is_under_way_waits_for_its_outcome(alice: ApiClient, model: ScriptedModel):
    gate = Gate()
    model.script(Reply((gate, answer("同一个"))))
    session = alice.new_session()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(alice.say, session, "你好", **KEY)
        gate.wait_reached()
        again = pool.submit(alice.say, session, "你好", **KEY)
        gate.open()
        assert first.result().json() == again.result().json()
    assert Message.objects.count() == 2
    assert len(model.chat_requests) == 1


@pytest.mark.spec("C6")
def test_the_key_of_a_failed_message_returns_the_failure_and_a_retry_changes_the_outcome(
    alice: ApiClient, model: ScriptedModel
):
    session = alice.new_session()
    model.script(Reply(()), answer("好了"))
    first = alice.say(session, "你好", **KEY)
    again = alice.say(session, "你好", **KEY)
    message_id = first.json()["error"]["fields"]["message_id"]
    assert (again.status_code, again.json()["error"]["fields"]["message_id"]) == (503, message_id)
    alice.post(f"/chat/messages/{message_id}/retry").raise_for_status()
    assert alice.say(session, "你好", **KEY).json()["assistant_message"]["content"] == "好了"
    assert Message.objects.count() == 2


@pytest.mark.spec("C6")
def test_a_database_lost_while_waiting_for_the_outcome_ends_the_stream_with_an_error(
    alice: ApiClient, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
):
    def lose(*_args: object, **_kwargs: object) -> None:
        raise OperationalError("connection refused")

    session = alice.new_session()
    alice.say(session, "你好", **KEY).raise_for_status()
    monkeypatch.setattr("apps.chat.api.get_outcome", lose)
    (event,) = alice.say_streaming(session, "你好", **KEY)
    assert (event.name, event.data["error"]["code"]) == ("error", "unavailable")
    assert "refused" not in str(event.data)


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_an_impossible_key_is_refused(alice: ApiClient, key: str):
    response = alice.say(alice.new_session(), "你好", **{"Idempotency-Key": key})
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid")
    assert Message.objects.count() == 0
