"""Requests of one conversation at the same time, and a turn as it can be looked into afterwards (C6, M6, T3)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest

from apps.chat.inspect import rebuild_prompt
from apps.chat.models import Turn
from apps.conversations.models import Message, Session
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import Gate, Reply, ScriptedModel

pytestmark = [pytest.mark.spec("T3"), pytest.mark.long]

START: Any = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]


def ask(client: openai.OpenAI, *messages: Any) -> str | None:
    return client.chat.completions.create(model="jiyi", messages=messages).choices[0].message.content


@pytest.mark.spec("C6")
def test_the_same_message_to_two_models_at_once_is_stored_once_with_the_last_reply(
    client: openai.OpenAI, model: ScriptedModel
):
    gate = Gate()
    model.script(answer("Hello!"), Reply((gate, answer("Slow."))), answer("Quick."))
    ask(client, START[0])
    question = {"role": "user", "content": "And now?"}
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(ask, client, *START, question)
        gate.wait_reached()
        assert ask(client, *START, question) == "Quick."
        gate.open()
        assert slow.result() == "Slow."
    assert list(Message.objects.order_by("position").values_list("content", "status")) == [
        ("Hi", "complete"), ("Hello!", "complete"), ("And now?", "complete"), ("Slow.", "complete"),
        ("Quick.", "replaced"),
    ]  # fmt: skip
    assert Turn.objects.filter(session=Session.objects.get()).count() == 2


@pytest.mark.spec("C6")
def test_two_messages_at_once_are_both_kept(client: openai.OpenAI, model: ScriptedModel):
    gate = Gate()
    model.script(answer("Hello!"), Reply((gate, answer("One."))), answer("Two."))
    ask(client, START[0])
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(ask, client, *START, {"role": "user", "content": "First"})
        gate.wait_reached()
        ask(client, *START, {"role": "user", "content": "Second"})
        gate.open()
        slow.result()
    assert set(Message.objects.values_list("content", "status")) == {
        ("Hi", "complete"), ("Hello!", "complete"), ("First", "complete"), ("One.", "complete"),
        ("Second", "complete"), ("Two.", "complete"),
    }  # fmt: skip


@pytest.mark.spec("M6")
def test_the_prompt_of_a_clients_turn_can_be_rebuilt_but_for_its_own_instructions(
    alice: ApiClient, client: openai.OpenAI, model: ScriptedModel
):
    model.script(answer("Hello!"), answer("Tea."))
    ask(client, START[0])
    ask(client, {"role": "system", "content": "Be brief."}, *START, {"role": "user", "content": "What do I drink?"})
    turn = Turn.objects.get(assistant_message__content="Tea.")
    prompt = rebuild_prompt(turn)
    assert prompt.exact
    sent = model.chat_requests[1].messages
    assert [(line.role, line.content) for line in prompt.messages[1:]] == [
        (line["role"], line["content"]) for line in sent[1:]
    ]
    rebuilt = prompt.messages[0].content
    assert rebuilt.replace("(instructions of the application, not kept)", "Be brief.") == sent[0]["content"]
    assert "Be brief." not in str(turn.sources) + str(turn.layers)
