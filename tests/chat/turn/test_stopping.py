"""Stopping a reply while it is written, and asking for another one."""

from __future__ import annotations

import pytest
from django.core.cache import cache

from apps.chat.turn.process import MARK_KEPT_SECONDS
from apps.conversations.models import Message, Work
from tests.support.answers import answer
from tests.support.http_server import ApiClient, read_events
from tests.support.scripted_model import Gate, Reply, ScriptedModel, refuse_with

pytestmark = pytest.mark.long_except(
    "test_what_has_come_of_a_stopped_reply_is_kept_and_marked",
    "test_a_regenerated_reply_takes_the_place_of_the_old_one",
)

WHOLE = answer("先到的。后到的。")
CUT = WHOLE.index("后到的")


def _stop_here(alice: ApiClient, message_id: str) -> None:
    assert alice.post(f"/chat/messages/{message_id}/stop").status_code == 200


def _stop_elsewhere(alice: ApiClient, message_id: str) -> None:
    """As another web process does, which does not know of the turn."""
    cache.set(f"stop.{message_id}", "1", MARK_KEPT_SECONDS)


@pytest.mark.spec("C6")
@pytest.mark.parametrize("stop", [_stop_here, _stop_elsewhere])
def test_what_has_come_of_a_stopped_reply_is_kept_and_marked(alice: ApiClient, model: ScriptedModel, stop):
    model.script(Reply((WHOLE[:CUT], Gate(), WHOLE[CUT:])))
    session = alice.new_session()
    path = f"/chat/sessions/{session}/messages"
    with alice.stream("POST", path, json={"content": "你好", "stream": True}) as response:
        events = read_events(response.iter_lines())
        message_id = next(events).data["user_message"]["id"]
        assert next(events).data == {"text": "先到的。"}
        stop(alice, message_id)
        (done,) = events
    assert done.name == "done"
    reply = done.data["assistant_message"]
    assert (reply["content"], reply["stopped"], reply["status"]) == ("先到的。", True, "complete")
    assert done.data["user_message"]["status"] == "complete"
    assert alice.get(path).json()["results"] == [done.data["user_message"], reply]
    assert Work.objects.filter(message=message_id, kind=Work.Kind.EXTRACT).exists(), "what was said is learned from"


def test_a_reply_stopped_before_its_first_word_leaves_a_message_that_can_be_retried(
    alice: ApiClient, model: ScriptedModel
):
    gate = Gate()
    model.script(Reply((gate, WHOLE)))
    session = alice.new_session()
    with alice.stream(
        "POST", f"/chat/sessions/{session}/messages", json={"content": "你好", "stream": True}
    ) as response:
        events = read_events(response.iter_lines())
        message_id = next(events).data["user_message"]["id"]
        gate.wait_reached()
        _stop_here(alice, message_id)
        (error,) = events
    assert error.data["error"]["fields"] == {"reason": "cancelled", "message_id": message_id}
    assert Message.objects.get(id=message_id).status == "failed"

    model.script(answer("好的"))
    turn = alice.post(f"/chat/messages/{message_id}/retry").json()
    assert (turn["assistant_message"]["content"], turn["assistant_message"]["stopped"]) == ("好的", False)


@pytest.mark.parametrize("named", ["user_message", "assistant_message"])
def test_a_regenerated_reply_takes_the_place_of_the_old_one(alice: ApiClient, model: ScriptedModel, named: str):
    session = alice.new_session()
    alice.say(session, "早")
    model.script(answer("旧的回答"))
    old = alice.say(session, "你好").json()
    model.script(answer("新的回答"))
    response = alice.post(f"/chat/messages/{old[named]['id']}/regenerate")
    assert response.status_code == 201
    new = response.json()
    assert new["user_message"]["id"] == old["user_message"]["id"]
    assert new["assistant_message"]["content"] == "新的回答"
    assert new["assistant_message"]["id"] != old["assistant_message"]["id"]
    shown = alice.get(f"/chat/sessions/{session}/messages").json()["results"]
    assert [message["content"] for message in shown][2:] == ["你好", "新的回答"]
    assert "旧的回答" not in str(model.chat_requests[-1].messages), "the model does not see what it is to replace"


def test_the_old_reply_stands_where_the_model_fails(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    old = alice.say(session, "你好").json()
    model.script(refuse_with(400, "no"), refuse_with(400, "no"), refuse_with(400, "no"))
    assert alice.post(f"/chat/messages/{old['user_message']['id']}/regenerate").status_code == 503
    assert alice.get(f"/chat/sessions/{session}/messages").json()["results"] == [
        old["user_message"],
        old["assistant_message"],
    ]
