"""A model that fails, a message sent again, a database lost at a commit: nothing is lost, nothing stored twice (C6)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from apps.chat.models import Turn
from apps.chat.tasks import fail_abandoned_turns
from apps.chat.turn import run
from apps.chat.turn.close import close_turn
from apps.conversations.models import Message, Work
from apps.memory.models import LongTermMemory, WorkingMemory
from tests.support.answers import answer
from tests.support.factories import LongTermMemoryFactory
from tests.support.http_server import ApiClient, read_events
from tests.support.scripted_model import MODEL, Behaviour, Gate, Raw, Reply, ScriptedModel, refuse_with

pytestmark = [
    pytest.mark.spec("C6"),
    pytest.mark.long_except(
        "test_a_failed_message_is_retried_and_nothing_is_stored_or_counted_twice",
        "test_a_run_whose_lease_passed_to_another_stores_nothing",
        "test_a_session_deleted_during_its_turn_stays_deleted",
        "test_the_same_key_returns_the_first_outcome",
        "test_the_key_of_another_message_is_a_conflict",
    ),
]

WHOLE = answer("这是一段足够长的回答，会在中间断掉。")
HALF = WHOLE[: WHOLE.index("会在")]
FAILURES: dict[str, Behaviour] = {
    "500": refuse_with(500),
    "dropped mid-stream": Reply((HALF,), finish_reason=None, cut="fin"),
    "garbage in place of HTTP": Raw((b"\x00\xffgarbage\r\n\r\n",)),
    "blank reply": answer(" \n"),
    "nothing but thought": Reply(("<think>嗯", answer("x"))),
}  # type: ignore[dict-item]


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
def test_a_failing_model_is_503_and_the_message_is_kept_as_failed(
    alice: ApiClient, model: ScriptedModel, failure: str, stream: bool
):
    model.default = lambda _request: FAILURES[failure]
    memory = LongTermMemoryFactory(user=alice.user, key="喜欢的颜色", value="蓝色")
    session = alice.new_session()
    if stream:
        events = alice.say_streaming(session, "我喜欢的颜色是什么")
        assert [event.name for event in events[:1]] == ["start"]
        assert events[-1].name == "error"
        error = events[-1].data["error"]
    else:
        response = alice.say(session, "我喜欢的颜色是什么")
        assert response.status_code == 503
        error = response.json()["error"]
    message = Message.objects.get()
    assert (error["code"], error["fields"]["message_id"]) == ("model_unavailable", str(message.id))
    assert error["message"]
    assert (message.status, message.content) == ("failed", "我喜欢的颜色是什么")
    memory.refresh_from_db()
    assert memory.access_count == 0


@pytest.mark.spec("W3")
@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
def test_a_failed_message_is_retried_and_nothing_is_stored_or_counted_twice(
    alice: ApiClient, model: ScriptedModel, stream: bool
):
    session = alice.new_session()
    model.script(Reply((HALF,), finish_reason=None, cut="fin"), answer("这次好了", topic="t"))
    message_id = alice.say(session, "你好").json()["error"]["fields"]["message_id"]
    assert alice.get(f"/chat/sessions/{session}/messages").json()["results"][0]["status"] == "failed"
    path = f"/chat/messages/{message_id}/retry"
    if stream:
        with alice.stream("POST", path, json={"stream": True}) as response:
            turn = list(read_events(response.iter_lines()))[-1].data
    else:
        response = alice.post(path, json={})
        assert response.status_code == 201
        turn = response.json()
    assert (turn["user_message"]["id"], turn["assistant_message"]["content"]) == (message_id, "这次好了")
    assert turn["working_memory"]["turn_count"] == 1
    stored = alice.get(f"/chat/sessions/{session}/messages").json()["results"]
    assert [(message["role"], message["status"]) for message in stored] == [
        ("user", "complete"), ("assistant", "complete"),
    ]  # fmt: skip


def test_a_model_with_an_endless_name_costs_no_reply(alice: ApiClient, model: ScriptedModel, settings):
    settings.CHAT_MODEL = "/models/" + "x" * 300 + ".gguf"
    assert alice.say(alice.new_session(), "你好").status_code == 201
    assert Turn.objects.get().model == settings.CHAT_MODEL[:200]


def test_a_reply_retried_late_stands_where_its_question_is(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    model.script(Reply(()), answer("二"), answer("一"))
    failed = alice.say(session, "第一").json()["error"]["fields"]["message_id"]
    alice.say(session, "第二")
    alice.post(f"/chat/messages/{failed}/retry").raise_for_status()
    stored = alice.get(f"/chat/sessions/{session}/messages").json()["results"]
    assert [message["content"] for message in stored] == ["第一", "一", "第二", "二"]
    assert model.chat_requests[-1].said == ["第一"]


def test_a_pending_message_whose_lease_ran_out_has_failed(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    message_id = alice.say(session, "你好").json()["user_message"]["id"]
    Message.objects.filter(role="assistant").delete()
    later, earlier = timezone.now() + timedelta(minutes=1), timezone.now() - timedelta(seconds=1)
    Message.objects.update(status="pending", lease_until=later)
    shown = f"/chat/sessions/{session}/messages"
    assert alice.get(shown).json()["results"][0]["status"] == "pending"
    assert alice.post(f"/chat/messages/{message_id}/retry").status_code == 409
    assert fail_abandoned_turns() == 0
    Message.objects.update(lease_until=earlier)
    assert alice.get(shown).json()["results"][0]["status"] == "failed"
    assert fail_abandoned_turns() == 1
    assert Message.objects.get().status == "failed"
    assert alice.post(f"/chat/messages/{message_id}/retry").status_code == 201


def test_a_reply_that_takes_longer_than_its_lease_is_stored_all_the_same(alice: ApiClient, model: ScriptedModel):
    gate = Gate()
    model.script(Reply((gate, answer("慢的"))))
    with alice.streaming(alice.new_session(), "你好") as events:
        gate.wait_reached()
        Message.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert fail_abandoned_turns() == 1
        gate.open()
        last = list(events)[-1]
    assert (last.name, last.data["user_message"]["status"]) == ("done", "complete")
    stored = Message.objects.order_by("position").values_list("status", "content")
    assert list(stored) == [("complete", "你好"), ("complete", "慢的")]


def test_a_run_whose_lease_passed_to_another_stores_nothing(alice: ApiClient, model: ScriptedModel):
    gate = Gate()
    model.script(Reply((gate, answer("旧的"))), answer("新的"))
    with alice.streaming(alice.new_session(), "你好") as events:
        message_id = next(events).data["user_message"]["id"]
        gate.wait_reached()
        Message.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert alice.post(f"/chat/messages/{message_id}/retry").status_code == 201
        gate.open()
        last = list(events)[-1]
    assert (last.name, last.data["error"]["code"]) == ("error", "conflict")
    assert list(Message.objects.order_by("position").values_list("content", flat=True)) == ["你好", "新的"]
    assert Message.objects.get(role="user").status == "complete"


@pytest.mark.spec("W4")
def test_a_session_deleted_during_its_turn_stays_deleted(alice: ApiClient, model: ScriptedModel):
    gate = Gate()
    entry = {"category": "preference", "key": "喜欢的颜色", "value": "蓝色"}
    model.script(Reply((gate, answer("晚了", entries=[entry]))))
    session = alice.new_session()
    with alice.streaming(session, "我喜欢蓝色") as events:
        next(events)
        gate.wait_reached()
        assert alice.delete(f"/chat/sessions/{session}").json() == {"deleted": 1}
        gate.open()
        assert list(events)[-1].name == "error"
    assert not Message.objects.exists()
    assert not WorkingMemory.objects.exists()
    assert not LongTermMemory.objects.exists()


KEY = {"Idempotency-Key": "k-1"}


@pytest.mark.spec("C1")
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


def test_the_key_holds_within_its_session_only(alice: ApiClient, bob: ApiClient, model: ScriptedModel):
    one, other = alice.new_session(), alice.new_session()
    alice.say(one, "你好", **KEY).raise_for_status()
    alice.say(other, "你好", **KEY).raise_for_status()
    bob.say(bob.new_session(), "你好", **KEY).raise_for_status()
    assert Message.objects.filter(role="user").count() == 3


def test_the_key_of_another_message_is_a_conflict(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    alice.say(session, "你好", **KEY)
    response = alice.say(session, "别的话", **KEY)
    assert (response.status_code, response.json()["error"]["code"]) == (409, "conflict")
    body = {"content": "别的话", "stream": True}
    streamed = alice.post(f"/chat/sessions/{session}/messages", json=body, headers=KEY)
    assert (streamed.status_code, streamed.json()) == (409, response.json())
    assert Message.objects.count() == 2


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


# A database that is lost at a commit: whether it was one is found out


LIKES = {"category": "preference", "key": "爱好", "value": "爬山", "confidence": 0.95}
REPLY = answer("好的，周末去爬山。", entries=[LIKES])
SAID = "我喜欢爬山"


# Whether the connection is lost after the commit, or before.
AFTER = pytest.mark.parametrize("after", [True, False], ids=["stored", "not stored"])


@pytest.fixture(name="lose")
def _lose(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have the connection be lost at the next attempt to store a reply."""
    attempts = list[bool]()

    def lose(*, after: bool) -> None:
        def close_or_lose(*args: Any, **kwargs: Any) -> dict[str, Any]:
            attempts.append(True)
            result = close_turn(*args, **kwargs) if after or len(attempts) > 1 else {}
            if len(attempts) == 1:
                raise OperationalError("server closed the connection unexpectedly")
            return result

        monkeypatch.setattr(run, "close_turn", close_or_lose)

    return lose


def say(client: ApiClient, session: str) -> dict[str, Any]:
    return dict(client.say(session, SAID).raise_for_status().json())


def say_streaming(client: ApiClient, session: str) -> dict[str, Any]:
    *_, last = client.say_streaming(session, SAID)
    assert last.name == "done", last.data
    return dict(last.data)


def complete(client: ApiClient, session: str) -> None:
    body = {"model": MODEL, "messages": [{"role": "user", "content": SAID}]}
    client.post("/v1/chat/completions", json=body, headers={"X-Session-Id": session}).raise_for_status()


@pytest.mark.spec("C1")
@pytest.mark.parametrize("send", [say, say_streaming, complete])
@AFTER
def test_a_message_has_one_reply_and_its_sender_gets_it(
    alice: ApiClient,
    model: ScriptedModel,
    lose: Callable[..., None],
    send: Callable[[ApiClient, str], dict[str, Any] | None],
    after: bool,
) -> None:
    lose(after=after)
    session = alice.new_session()
    model.script(REPLY)
    turn = send(alice, session)
    said, reply = Message.objects.order_by("position")
    assert [(one.role, one.status) for one in (said, reply)] == [("user", "complete"), ("assistant", "complete")]
    assert (said.content, reply.content, reply.reply_to_id) == (SAID, "好的，周末去爬山。", said.id)
    assert Turn.objects.get().assistant_message_id == reply.id
    assert sorted(Work.objects.values_list("kind", flat=True)) == ["embed", "embed", "extract", "summarize"]
    memory = alice.get("/memory/long-term").json()["results"]
    assert [(one["key"], one["value"]) for one in memory] == [("爱好", "爬山")]
    if turn is not None:
        assert turn == alice.get(f"/chat/messages/{said.id}/turn").json()
        assert [update["action"] for update in turn["memory_updates"]] == ["created"]


@AFTER
def test_another_reply_takes_the_place_of_the_first_once(
    alice: ApiClient, model: ScriptedModel, lose: Callable[..., None], after: bool
) -> None:
    session = alice.new_session()
    model.script(answer("第一个。"), answer("第二个。"))
    first = say(alice, session)
    lose(after=after)
    response = alice.post(f"/chat/messages/{first['user_message']['id']}/regenerate")
    assert response.status_code == 201
    second = response.json()["assistant_message"]
    stored = alice.get(f"/chat/sessions/{session}/messages").json()["results"]
    assert [one["content"] for one in stored] == [SAID, "第二个。"]
    assert stored[1]["id"] == second["id"]
    assert sorted(Message.objects.values_list("content", "status")) == [
        (SAID, "complete"), ("第一个。", "replaced"), ("第二个。", "complete"),
    ]  # fmt: skip


@pytest.mark.spec("H1")
@AFTER
def test_a_form_has_one_reply(alice: ApiClient, model: ScriptedModel, lose: Callable[..., None], after: bool) -> None:
    lose(after=after)
    session = alice.new_session()
    model.script(answer("收到。"))
    body = {"title": "行程安排", "fields": {"destination": "北京"}}
    response = alice.post(f"/chat/sessions/{session}/hitl-forms", json=body)
    assert response.status_code == 201
    stored = alice.get(f"/chat/sessions/{session}/messages").json()["results"]
    assert stored == [response.json()["assistant_message"]]


def test_a_message_that_was_deleted_meanwhile_is_a_conflict(
    alice: ApiClient, model: ScriptedModel, lose: Callable[..., None]
) -> None:
    lose(after=False)
    session, gate = alice.new_session(), Gate()
    model.script(Reply((gate, REPLY)))
    with alice.streaming(session, SAID) as events:
        gate.wait_reached()
        Message.objects.all().delete()
        gate.open()
        *_, last = events
    assert last.data["error"]["code"] == "conflict"
    assert not Message.objects.exists()
