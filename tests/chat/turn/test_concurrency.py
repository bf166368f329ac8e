"""Messages of one session at the same time: each is counted once and answered in its place (W3)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from apps.conversations.models import Message
from apps.memory.models import LongTermMemory, WorkingMemory
from tests.support.answers import answer
from tests.support.factories import LongTermMemoryFactory
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel, reply_with

pytestmark = pytest.mark.long


@pytest.mark.spec("W3", "C1")
@pytest.mark.parametrize("count", [10, 200])
def test_concurrent_messages_are_all_counted_and_answered(alice: ApiClient, model: ScriptedModel, count: int):
    memory = LongTermMemoryFactory(user=alice.user, key="喜欢的颜色", value="蓝色")
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
