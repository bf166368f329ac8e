"""The client against the running product. tests/client/test_contract.py has all methods, without sending them."""

from __future__ import annotations

import pytest
from django.utils import timezone

from jiyi import UNSET, AsyncJiyi, Jiyi
from jiyi.errors import NotFound

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


def test_none_clears_a_time_and_unset_leaves_it(client: Jiyi):
    now = timezone.now()
    memory = client.atomic.create(content="The user flies to 成都.", event_start=now, event_end=now)
    assert memory.event_start == now
    assert client.atomic.update(memory.id, event_start=UNSET, event_end=None, valid_until=now).valid_until == now
    assert client.atomic.get(memory.id).event_end is None
    assert client.atomic.get(memory.id).event_start == now
