"""What is remembered reaches the model in its layer of the prompt, and only where it may (C4, C7)."""

from __future__ import annotations

import pytest
from django.utils import timezone

from apps.core.llm.blocks import read_block
from apps.profile.services import update_profile
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel


def ask(client: ApiClient, model: ScriptedModel, message: str = "你好", *, session: str | None = None) -> str:
    """Send a message and return the system message that the model got with it."""
    client.say(session or client.new_session(), message).raise_for_status()
    content: str = model.chat_requests[-1].messages[0]["content"]
    return content


@pytest.mark.spec("U2", "C4")
def test_the_profile_is_in_every_turn_until_it_is_switched_off(alice: ApiClient, bob: ApiClient, model: ScriptedModel):
    update_profile(
        user=alice.user,
        changes={"reply_style": "简短", "sections": {"work": "a nurse"}},
        now=timezone.now(),
    )
    expected = '{"reply_style": "简短", "work": "a nurse"}'
    session = alice.new_session()
    assert [read_block(ask(alice, model, session=session), "user_profile") for _turn in range(2)] == [expected] * 2
    assert read_block(ask(bob, model), "user_profile") is None
    alice.patch("/memory/settings", json={"memory.enable_user_profile": False}).raise_for_status()
    assert read_block(ask(alice, model, session=session), "user_profile") is None


@pytest.mark.spec("C7")
def test_a_temporary_session_gets_no_profile(alice: ApiClient, model: ScriptedModel):
    update_profile(user=alice.user, changes={"reply_style": "简短"}, now=timezone.now())
    assert "简短" not in ask(alice, model, session=alice.new_session(temporary=True))


@pytest.mark.spec("L8")
def test_a_reply_says_what_it_remembered_only_where_that_is_asked_for(alice: ApiClient, model: ScriptedModel):
    entries = [
        {"category": "fact", "key": "居住地", "value": "上海"},
        {"category": "fact", "key": "job", "value": "nurse", "source": "inferred", "confidence": 0.1},
    ]
    session = alice.new_session()
    model.script(answer(entries=entries), answer(entries=entries), answer(entries=[{**entries[0], "value": "杭州"}]))
    assert "metadata" not in alice.say(session, "我住在上海").json()
    alice.patch("/memory/settings", json={"memory.remembered_feedback": True}).raise_for_status()
    # The same again is no news; what waits for review is not remembered yet.
    assert alice.say(session, "我住在上海").json()["metadata"] == {"remembered": []}
    turn = alice.say(session, "我搬到杭州了").json()
    assert turn["metadata"] == {"remembered": ["居住地: 杭州"]}
    stored = alice.get(f"/chat/messages/{turn['user_message']['id']}/turn").json()
    assert stored["metadata"] == {"remembered": ["居住地: 杭州"]}
