"""The client against the running product. tests/client/test_contract.py has all methods, without sending them."""

from __future__ import annotations

import pytest
from django.utils import timezone

from jiyi import UNSET, AsyncJiyi, Jiyi
from jiyi.errors import NotFound
from tests.support.answers import answer
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.long_except("test_none_clears_a_time_and_unset_leaves_it")


def test_a_reply_is_regenerated_and_a_message_edited_and_both_with_events(client: Jiyi):
    session = client.sessions.create()
    said = client.sessions.send(session.id, "one").user_message
    turn = client.messages.regenerate(said.id)
    assert client.sessions.messages(session.id).results[0].content == "one"
    *_, done = client.messages.stream_regenerate(turn.assistant_message.id)
    assert not done.turn.assistant_message.stopped
    second = client.messages.edit(said.id, "two").user_message
    *_, done = client.messages.stream_edit(second.id, "three")
    (edit,) = client.sessions.edits(session.id).results
    assert (edit.message_id, edit.messages) == (done.turn.user_message.id, 2)
    assert client.messages.undo_edit(edit.message_id).messages == 2
    assert client.sessions.messages(session.id).results[0].content == "two"


def test_iterating_asks_for_page_after_page(client: Jiyi):
    made = [client.atomic.create(content=f"The user owns {n} chairs.", tags=["chairs"]).id for n in range(2, 7)]
    assert [memory.id for memory in client.atomic.iterate(limit=2, tags=["chairs"])] == made[::-1]
    assert [memory.id for memory in client.atomic.iterate(limit=2, offset=3)] == made[:2][::-1]
    page = client.atomic.list(limit=2)
    assert (page.count, len(page.results), page.previous) == (5, 2, None)


async def test_the_asynchronous_client_does_the_same(async_client: AsyncJiyi):
    made = [(await async_client.atomic.create(content=f"The user owns {n} chairs.")).id for n in (2, 3)]
    assert [memory.id async for memory in async_client.atomic.iterate(limit=1)] == made[::-1]
    assert await async_client.atomic.delete(made[0]) == 1
    with pytest.raises(NotFound):
        await async_client.atomic.get(made[0])


def test_a_turn_and_what_it_left(client: Jiyi, model: ScriptedModel):
    model.script(answer("记住了。", topic="moving", entries=[{"category": "fact", "key": "home", "value": "York"}]))
    session = client.sessions.create(title="Moving")
    turn = client.sessions.send(session.id, "I moved to York.")
    assert turn.assistant_message.content == "记住了。"
    assert [(update.action, update.key, update.value) for update in turn.memory_updates] == [
        ("created", "home", "York")
    ]
    assert turn.working_memory.current_topic == "moving"
    assert client.messages.turn(turn.assistant_message.id) == turn
    assert (
        client.working.update(session.id, current_topic=None, context_variables={"city": "York"}).current_topic is None
    )
    layers = client.sessions.context(session.id, message="Where is my home?").layers
    assert "York" in next(layer for layer in layers if layer.index == 3).content
    assert client.messages.collect(turn.user_message.id).is_collected
    undone = client.changes.undo(client.changes.list(kind="long_term").results[0].operation)
    assert [change.action for change in undone] == ["undo"]


def test_none_clears_a_time_and_unset_leaves_it(client: Jiyi):
    now = timezone.now()
    memory = client.atomic.create(content="The user flies to 成都.", event_start=now, event_end=now)
    assert memory.event_start == now
    assert client.atomic.update(memory.id, event_start=UNSET, event_end=None, valid_until=now).valid_until == now
    assert client.atomic.get(memory.id).event_end is None
    assert client.atomic.get(memory.id).event_start == now
