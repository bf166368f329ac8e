"""What was corrected, forgotten or edited away is in no later prompt, in whatever session (L3, L9, A5)."""

from __future__ import annotations

import json
from typing import cast
from uuid import UUID

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.chat.inspect import rebuild_prompt
from apps.chat.selectors import get_turn
from apps.chat.turn.open import preview_context
from apps.conversations.models import Message, Role
from apps.conversations.sessions import create_session
from apps.memory.changes.records import changed_by
from apps.memory.lifecycle import create_atomic_memories
from apps.memory.models import AtomicMemory, Change
from apps.memory.types import AtomicDraft
from apps.summaries.services import create_session_summary
from tests.support.answers import answer
from tests.support.factories import UserFactory
from tests.support.http_server import ApiClient
from tests.support.judged import NOW, learn, say
from tests.support.scripted_model import ScriptedModel


def ask(client: ApiClient, model: ScriptedModel, message: str, *, session: str | None = None) -> str:
    """Send a message, and return all that the model got with it."""
    client.say(session or client.new_session(), message).raise_for_status()
    return json.dumps(model.chat_requests[-1].messages, ensure_ascii=False)


def propose(key: str, value: str) -> str:
    return answer(entries=[{"category": "fact", "key": key, "value": value}])


@pytest.mark.long
@pytest.mark.spec("L3", "A3", "S2", "C4")
def test_a_correction_is_right_at_once_in_every_session(alice: ApiClient, model: ScriptedModel):
    first, second, third = (alice.new_session() for _ in range(3))
    model.script(propose("phone", "555-0101"))
    said = alice.say(first, "My phone number is 555-0101.").json()["user_message"]["id"]
    with changed_by(origin=Change.Origin.EXTRACTION, actor=None):
        draft = AtomicDraft(
            content="The user's phone number is 555-0101.", message_id=UUID(said), timestamp=timezone.now()
        )
        create_atomic_memories(user=alice.user, drafts=[draft], now=timezone.now())
    create_session_summary(
        user=alice.user,
        session_id=UUID(first),
        title="Phone number 555-0101",
        snippet="Mel gave the number 555-0101. She has a cat.",
        now=timezone.now(),
    )
    assert "555-0101" in ask(alice, model, "What is my phone number?", session=second)
    model.script(propose("phone", "555-0202"))
    alice.say(third, "My phone number is 555-0202 now.").raise_for_status()
    prompt = ask(alice, model, "What is my phone number?")
    assert "555-0202" in prompt
    assert "555-0101" not in prompt
    assert "She has a cat." in prompt
    day = str(timezone.now().date())
    turn = alice.say(alice.new_session(), "What was my previous phone number?").json()
    prompt = json.dumps(model.chat_requests[-1].messages).replace("\\", "")
    line = f'"key": "phone", "value": "555-0101", "until": "{day}"'
    assert line in prompt
    stored = get_turn(alice.user, UUID(turn["assistant_message"]["id"]))
    assert line in rebuild_prompt(stored).layers[3].content


@pytest.mark.django_db
@pytest.mark.spec("A5", "L10")
def test_a_past_reply_does_not_tell_what_another_message_taught_and_is_muted():
    user = cast(User, UserFactory())
    for number in range(12):
        say(user, f"Lunch number {number} was soup with bread.", days_ago=20 + number)
    learn(user, "The user's dog is Rex.")
    told = say(user, "The spare key to the allotment hangs behind the watering can.", days_ago=3)
    reply = "Noted. Your dog is Rex."
    Message.objects.create(
        session=told.session, user=user, role=Role.ASSISTANT, content=reply, position=2, reply_to=told
    )

    def read() -> str:
        session, message = create_session(user=user), "Where does the spare key to the allotment hang?"
        context = preview_context(user=user, session_id=session.id, message=message, now=NOW)
        return context.layers[3].content

    assert reply in read()
    AtomicMemory.objects.filter(user=user).update(muted=True)
    assert "Noted." in read()
    assert "Rex" not in read()
