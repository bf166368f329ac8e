"""Tool calls of a past turn, from what it kept: what they found, with what has become of that since (M6, T1)."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.services.people import update_settings
from apps.chat.inspect import State
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, update_memory
from apps.memory.models import AtomicMemory, LongTermMemory, SharedContext
from tests.chat.inspection.test_rebuild import rebuild
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel, call, call_tools

pytestmark = pytest.mark.spec("M6", "T1")


@pytest.fixture
def turn(alice: ApiClient, model: ScriptedModel) -> dict[str, Any]:
    """A turn whose model searched, and made a shared context."""
    update_settings(user=alice.user, changes={"memory.enable_agentic_search": True})
    create_memory(user=alice.user, category="fact", key="allergy", value="shrimp", now=timezone.now())
    create_atomic_memory(user=alice.user, content="The allergy test was in May.", now=timezone.now())
    create_memory(user=alice.user, category="preference", key="dish", value="paella", now=timezone.now())
    searched = call("search_memories", {"keyword": "allergy", "time_range": {"since": "2020-01-01"}})
    made = call("createContext", {"title": "Dinner", "content": "For six."})
    model.script(call_tools(searched, made), answer("No."))
    said: dict[str, Any] = alice.say(alice.new_session(), "Shall I order paella?").raise_for_status().json()
    return said


def test_the_prompt_is_rebuilt_letter_for_letter_and_the_calls_are_beside_it(
    alice: ApiClient, model: ScriptedModel, turn: dict[str, Any]
) -> None:
    prompt = rebuild(alice, turn["assistant_message"]["id"])
    first = model.chat_requests[0].messages
    assert [{"role": message.role, "content": message.content} for message in prompt.messages] == first
    assert prompt.exact is True
    assert [piece.then for piece in prompt.layers[3].pieces] == ["dish: paella", "The allergy test was in May."]
    searched, made = prompt.calls
    assert (searched.name, searched.outcome, searched.keyword, searched.since) == (
        "search_memories", "ok", None, "2020-01-01",
    )  # fmt: skip
    assert {piece.then for piece in searched.pieces} == {"allergy: shrimp", "The allergy test was in May."}
    assert {piece.state for piece in searched.pieces} == {State.SAME}
    (context,) = made.pieces
    assert (context.kind, context.id) == ("context", str(SharedContext.objects.get().id))
    assert context.then == "Dinner: For six."


def test_what_was_found_shows_what_became_of_it(alice: ApiClient, turn: dict[str, Any]) -> None:
    now = timezone.now()
    allergy = LongTermMemory.objects.get(key="allergy")
    update_memory(LONG_TERM, user=alice.user, memory_id=allergy.id, changes={"value": "nuts"}, now=now)
    delete_memories(ATOMIC, user=alice.user, ids=[AtomicMemory.objects.get().id], now=now)
    prompt = rebuild(alice, turn["assistant_message"]["id"])
    searched, _made = prompt.calls
    found = {piece.kind: (piece.state, piece.then, piece.now) for piece in searched.pieces}
    assert found["long_term"] == (State.EDITED, "allergy: shrimp", "allergy: nuts")
    assert found["atomic"] == (State.DELETED, "", "")
    assert prompt.exact is False, "the one that was deleted stood in layer 3, too"
