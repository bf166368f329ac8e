"""Editing a message and sending it again: what gives way, what is taken back, and undoing it."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.conversations.models import Message, Work
from apps.conversations.rounds import record_summary
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicMemory, LongTermMemory
from tests.support.answers import answer
from tests.support.http_server import ApiClient, read_events
from tests.support.scripted_model import Gate, Reply, ScriptedModel

pytestmark = pytest.mark.long_except(
    "test_an_edited_message_takes_the_place_of_the_old_one_and_all_that_followed",
    "test_what_only_the_old_message_taught_is_taken_back_and_comes_back",
    "test_an_edit_that_is_refused_changes_nothing",
)


def teach(key: str, value: str, *, reply: str = "好的") -> str:
    entry = {"category": "fact", "key": key, "value": value, "confidence": 0.9}
    return answer(reply, entries=[entry])


def read_contents(alice: ApiClient, session: str) -> list[str]:
    results = alice.get(f"/chat/sessions/{session}/messages").json()["results"]
    return [message["content"] for message in results]


def read_values(user: User) -> dict[str, Any]:
    return dict(LongTermMemory.objects.filter(user=user, status="active").values_list("key", "value"))


@pytest.mark.spec("C1")
def test_an_edited_message_takes_the_place_of_the_old_one_and_all_that_followed(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    alice.say(session, "早")
    model.script(answer("旧一"), answer("旧二"))
    old = alice.say(session, "我住在柏林").json()["user_message"]["id"]
    alice.say(session, "还有呢")
    model.script(answer("新的"))
    response = alice.post(f"/chat/messages/{old}/edit", json={"content": "我住在汉堡"})
    assert response.status_code == 201
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
    assert read_values(alice.user) == {"pet": "cat"}
    (edit,) = alice.get(f"/chat/sessions/{session}/edits").json()["results"]
    assert (edit["message_id"], edit["messages"], edit["memories"]) == (edited, 2, 1)

    undone = alice.post(f"/chat/messages/{edited}/edit/undo")
    assert undone.json() == {"messages": 2, "memories": 1}
    assert read_values(alice.user) == {"city": "Berlin"}
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
    assert read_values(alice.user) == {"city": "Berlin"}


def test_what_was_known_before_and_what_others_taught_stays(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    model.script(teach("city", "Berlin"), teach("city", "Hamburg"))
    alice.say(session, "I live in Berlin")
    second = alice.say(session, "I moved to Hamburg").json()["user_message"]["id"]
    other = create_atomic_memory(user=alice.user, content="She likes tea.", now=timezone.now())
    assert read_values(alice.user) == {"city": "Hamburg"}
    alice.post(f"/chat/messages/{second}/edit", json={"content": "Never mind"})
    assert read_values(alice.user) == {"city": "Berlin"}, "what the message replaced holds again"
    assert AtomicMemory.objects.get(content="She likes tea.").status == "active", other


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


def test_an_edit_that_is_refused_changes_nothing(alice: ApiClient, bob: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    turn = alice.say(session, "你好").json()
    message, reply = turn["user_message"]["id"], turn["assistant_message"]["id"]
    for who, about, body, status in (
        (bob, message, {"content": "x"}, 404),
        (alice, reply, {"content": "x"}, 409),
        (alice, message, {"content": " "}, 400),
        (alice, message, {"content": "长" * 32_001}, 413),
    ):
        assert who.post(f"/chat/messages/{about}/edit", json=body).status_code == status
    assert alice.post(f"/chat/messages/{message}/edit/undo").status_code == 404
    assert bob.get(f"/chat/sessions/{session}/edits").status_code == 404
    assert alice.get(f"/chat/sessions/{session}/messages").json()["results"][0] == turn["user_message"]


def test_no_edit_while_a_reply_is_written(alice: ApiClient, model: ScriptedModel):
    gate = Gate()
    whole = answer("慢慢来")
    model.script(Reply((whole[:20], gate, whole[20:])))
    path = f"/chat/sessions/{alice.new_session()}/messages"
    with alice.stream("POST", path, json={"content": "你好", "stream": True}) as response:
        events = read_events(response.iter_lines())
        message = next(events).data["user_message"]["id"]
        assert alice.post(f"/chat/messages/{message}/edit", json={"content": "x"}).status_code == 409
        gate.open()
        *_, done = events
    assert done.name == "done"
