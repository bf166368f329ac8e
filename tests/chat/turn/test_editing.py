"""Editing a message, stopping a reply, asking for another: what gives way and what is taken back."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.utils import timezone

from apps.chat.turn.run import MARK_KEPT_SECONDS
from apps.conversations.models import Message, Work
from apps.conversations.rounds import record_summary
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.judged import show_entries
from tests.support.scripted_model import Gate, Reply, ScriptedModel, refuse_with

pytestmark = pytest.mark.long_except(
    "test_an_edit_that_is_refused_changes_nothing",
    "test_what_has_come_of_a_stopped_reply_is_kept_and_marked",
    "test_a_regenerated_reply_takes_the_place_of_the_old_one",
)


def teach(key: str, value: str) -> str:
    entry = {"category": "fact", "key": key, "value": value, "confidence": 0.9}
    return answer("好的", entries=[entry])


def read_contents(alice: ApiClient, session: str) -> list[str]:
    results = alice.get(f"/chat/sessions/{session}/messages").json()["results"]
    return [message["content"] for message in results]


@pytest.mark.spec("C1")
def test_an_edited_message_takes_the_place_of_the_old_one_and_all_that_followed(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    alice.say(session, "早")
    model.script(answer("旧一"), answer("旧二"))
    old = alice.say(session, "我住在柏林").json()["user_message"]["id"]
    alice.say(session, "还有呢")
    model.script(answer("新的"))
    assert alice.post(f"/chat/messages/{old}/edit", json={"content": "我住在汉堡"}).status_code == 201
    assert read_contents(alice, session)[2:] == ["我住在汉堡", "新的"]
    prompt = str(model.chat_requests[-1].messages)
    assert "柏林" not in prompt
    assert "旧一" not in prompt
    assert Message.objects.filter(status="replaced").count() == 4, "nothing is deleted"
    assert not Work.objects.filter(message__status="replaced").exists()


@pytest.mark.spec("L7")
def test_what_only_the_old_message_taught_is_taken_back_and_comes_back(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    model.script(teach("city", "Berlin"))
    old = alice.say(session, "I live in Berlin").json()["user_message"]["id"]
    model.script(teach("pet", "cat"))
    edited = alice.post(f"/chat/messages/{old}/edit", json={"content": "I have a cat"}).json()["user_message"]["id"]
    assert show_entries(alice.user) == {"pet": "cat"}
    (edit,) = alice.get(f"/chat/sessions/{session}/edits").json()["results"]
    assert (edit["message_id"], edit["messages"], edit["memories"]) == (edited, 2, 1)

    assert alice.post(f"/chat/messages/{edited}/edit/undo").json() == {"messages": 2, "memories": 1}
    assert show_entries(alice.user) == {"city": "Berlin"}
    assert read_contents(alice, session) == ["I live in Berlin", "好的"]
    assert alice.get(f"/chat/sessions/{session}/edits").json()["results"] == []
    assert alice.post(f"/chat/messages/{edited}/edit/undo").status_code == 404


@pytest.mark.spec("L1")
def test_the_new_message_may_teach_the_same_again(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    model.script(teach("city", "Berlin"))
    old = alice.say(session, "I liev in Berlin").json()["user_message"]["id"]
    model.script(teach("city", "Berlin"))
    alice.post(f"/chat/messages/{old}/edit", json={"content": "I live in Berlin"})
    assert show_entries(alice.user) == {"city": "Berlin"}


def test_a_title_taken_from_the_message_follows_it(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    message = alice.say(session, "one").json()["user_message"]["id"]

    def read_title() -> str:
        return str(alice.get(f"/chat/sessions/{session}").json()["title"])

    edited = alice.post(f"/chat/messages/{message}/edit", json={"content": "two"}).json()["user_message"]["id"]
    assert read_title() == "two"
    alice.post(f"/chat/messages/{edited}/edit/undo")
    assert read_title() == "one"
    alice.patch(f"/chat/sessions/{session}", json={"title": "Mine"})
    alice.post(f"/chat/messages/{message}/edit", json={"content": "three"})
    assert read_title() == "Mine"


def test_what_a_summary_covered_is_in_the_conversation_again(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    first = alice.say(session, "Once upon a time").json()
    second = alice.say(session, "there was a cat").json()["user_message"]["id"]
    covers = [first["user_message"]["id"], first["assistant_message"]["id"]]
    record_summary(
        user=alice.user, session_id=session, content="A tale.", covers=covers, replaces=None, now=timezone.now()
    )
    alice.post(f"/chat/messages/{second}/edit", json={"content": "there was a dog"})
    prompt = str(model.chat_requests[-1].messages)
    assert "Once upon a time" in prompt
    assert "A tale." not in prompt


def test_an_edit_that_is_refused_changes_nothing(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    turn = alice.say(session, "你好").json()
    message, reply = turn["user_message"]["id"], turn["assistant_message"]["id"]
    for about, body, status in (
        (reply, {"content": "x"}, 409),
        (message, {"content": " "}, 400),
        (message, {"content": "长" * 32_001}, 413),
    ):
        assert alice.post(f"/chat/messages/{about}/edit", json=body).status_code == status
    assert alice.post(f"/chat/messages/{message}/edit/undo").status_code == 404
    assert alice.get(f"/chat/sessions/{session}/messages").json()["results"][0] == turn["user_message"]


def test_no_edit_while_a_reply_is_written(alice: ApiClient, model: ScriptedModel):
    gate = Gate()
    whole = answer("慢慢来")
    model.script(Reply((whole[:20], gate, whole[20:])))
    with alice.streaming(alice.new_session(), "你好") as events:
        message = next(events).data["user_message"]["id"]
        assert alice.post(f"/chat/messages/{message}/edit", json={"content": "x"}).status_code == 409
        gate.open()
        *_, done = events
    assert done.name == "done"


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
    with alice.streaming(session, "你好") as events:
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
    with alice.streaming(alice.new_session(), "你好") as events:
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
