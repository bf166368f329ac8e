"""A message with a secret, through the doors: said as it is, never remembered, masked from then on (D4)."""

from __future__ import annotations

import json

import pytest

from apps.accounts.services.people import update_settings
from apps.chat.inspect import rebuild_prompt
from apps.chat.models import Turn
from apps.memory.models import AtomicMemory, LongTermMemory
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.spec("D4")

SECRET = "hunter2"
TOLD = f"My wifi password is {SECRET}, is it good?"


def _ask(model: ScriptedModel) -> str:
    return json.dumps(model.chat_requests[-1].body, ensure_ascii=False)


def test_a_secret_is_answered_and_never_remembered_nor_sent_again(alice: ApiClient, model: ScriptedModel) -> None:
    session = alice.new_session()
    entries = [
        {"category": "fact", "key": "wifi password", "value": SECRET},
        {"category": "fact", "key": "home", "value": "York"},
    ]
    model.script(answer("It is short.", entries=entries), answer("Longer."))
    turn = alice.say(session, TOLD).json()
    assert TOLD in _ask(model)
    assert turn["user_message"]["content"] == TOLD
    assert turn["user_message"]["secrets"] == ["password"]
    assert turn["assistant_message"]["secrets"] == []
    assert [update["key"] for update in turn["memory_updates"]] == ["home"]
    assert list(LongTermMemory.objects.filter(user=alice.user).values_list("key", flat=True)) == ["home"]
    second = alice.say(session, "What would be better?").json()
    assert SECRET not in _ask(model)
    assert "My wifi password is [password], is it good?" in _ask(model)
    rebuilt = rebuild_prompt(Turn.objects.get(assistant_message=second["assistant_message"]["id"]))
    assert rebuilt.exact
    assert alice.get(f"/chat/sessions/{session}").json()["title"] == "My wifi password is [password], is it good?"


def test_remember_is_refused_with_a_sentence_in_its_own_words(alice: ApiClient, model: ScriptedModel) -> None:
    turn = alice.say(alice.new_session(), f"记住，我的密码是 {SECRET}。").json()
    (command,) = turn["commands"]
    assert (command["status"], command["operation"], command["memory_ids"]) == ("secret", None, [])
    assert "[密码]" in command["texts"][0]
    assert '"secret": ["' in model.chat_requests[-1].blocks
    assert not AtomicMemory.objects.filter(user=alice.user).exists()
    stored = alice.get(f"/chat/messages/{turn['user_message']['id']}/turn").json()
    assert stored["commands"] == turn["commands"]
    assert rebuild_prompt(Turn.objects.get(assistant_message=turn["assistant_message"]["id"])).exact


def test_rest_refuses_with_the_field(alice: ApiClient) -> None:
    response = alice.post("/memory/atomic", json={"content": f"My password is {SECRET}"})
    assert response.status_code == 400, response.text
    reason = "Must not contain a secret: this looks like a password."
    assert response.json()["error"]["fields"]["content"] == [reason]


def test_a_conversation_is_exported_as_said_unless_its_owner_wants_it_masked(alice: ApiClient) -> None:
    session = alice.new_session()
    alice.say(session, TOLD).raise_for_status()
    paths = [f"/chat/sessions/{session}/export?format={form}" for form in ("markdown", "json")]
    paths.append("/memory/export")
    assert all(SECRET in alice.get(path).text for path in paths)
    update_settings(user=alice.user, changes={"memory.mask_secrets_in_exports": True})
    assert not any(SECRET in alice.get(path).text for path in paths)
