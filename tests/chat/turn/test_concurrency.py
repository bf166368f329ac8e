"""Messages of one session at the same time: each is counted once and answered in its place (W3)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from apps.conversations.models import Message
from apps.memory.entries import create_memory
from apps.memory.models import LongTermMemory, WorkingMemory
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import Gate, Reply, ScriptedModel, reply_with

pytestmark = pytest.mark.long


@pytest.mark.spec("W3", "C1")
@pytest.mark.parametrize("count", [10, pytest.param(200, marks=pytest.mark.long)])
def test_concurrent_messages_are_all_counted_and_answered(alice: ApiClient, model: ScriptedModel, count: int):
    from django.utils import timezone

    memory, _action = create_memory(
        user=alice.user, category="preference", key="喜欢的颜色", value="蓝色", now=timezone.now()
    )
    model.default = lambda request: reply_with(answer(f"答{request.said[-1]}", variables={request.said[-1][-4:]: 1}))
    session = alice.new_session()
    with ThreadPoolExecutor(count) as pool:
        turns = list(pool.map(lambda number: alice.say(session, f"我喜欢的颜色 {number:04}"), range(count)))
    assert [turn.status_code for turn in turns] == [201] * count
    working = WorkingMemory.objects.get()
    assert working.turn_count == count
    assert sorted(turn.json()["working_memory"]["turn_count"] for turn in turns)[-1] == count
    assert set(working.context_variables) == {f"{number:04}" for number in range(count)}
    messages = list(Message.objects.order_by("position").values_list("role", "content"))
    assert len(messages) == 2 * count
    for (asked, question), (replied, reply) in zip(messages[::2], messages[1::2], strict=True):
        assert (asked, replied, reply) == ("user", "assistant", f"答{question}")
    assert LongTermMemory.objects.get(id=memory.id).access_count == count


@pytest.mark.spec("W3")
def test_what_two_turns_at_once_learned_is_merged(alice: ApiClient, model: ScriptedModel):
    gates = [Gate(), Gate()]
    for number, gate in enumerate(gates):
        model.script(Reply((gate, answer(variables={f"v{number}": number}, topic=f"话题{number}"))))
    session = alice.new_session()
    with ThreadPoolExecutor(2) as pool:
        turns = []
        for gate in gates:
            turns.append(pool.submit(alice.say, session, "你好"))
            gate.wait_reached()
        for gate, turn in zip(reversed(gates), reversed(turns), strict=True):
            gate.open()
            turn.result().raise_for_status()
    working = alice.get(f"/memory/working/{session}").json()
    assert (working["turn_count"], working["current_topic"]) == (2, "话题0")
    assert working["context_variables"] == {"v1": 1, "v0": 0}


@pytest.mark.long
@pytest.mark.spec("L3", "L2")
def test_the_same_thing_told_twice_at_once_is_one_memory(alice: ApiClient, model: ScriptedModel):
    entry = {"category": "preference", "key": "喜欢的颜色", "value": "蓝色"}
    model.default = lambda _request: reply_with(answer(entries=[entry]))
    sessions = [alice.new_session() for _number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        turns = list(pool.map(lambda session: alice.say(session, "我喜欢的颜色是蓝色"), sessions))
    assert [turn.status_code for turn in turns] == [201] * 8
    actions = sorted(turn.json()["memory_updates"][0]["action"] for turn in turns)
    assert actions == ["created"] + ["refreshed"] * 7
    assert LongTermMemory.objects.count() == 1
