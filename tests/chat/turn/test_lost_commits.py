"""A database that is lost at a commit: whether it was one is found out, and the reply is there once (C6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError

from apps.chat.models import Turn
from apps.chat.turn import run
from apps.chat.turn.close import close_turn
from apps.conversations.models import Message, Work
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import MODEL, Gate, Reply, ScriptedModel

pytestmark = pytest.mark.long
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


@pytest.mark.spec("C6", "C1")
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


@pytest.mark.spec("C6")
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


@pytest.mark.spec("C6")
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
