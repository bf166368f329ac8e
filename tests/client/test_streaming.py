"""Server-sent events, from whatever pieces they come in."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi import AsyncJiyi, Delta, Done, Jiyi, Started
from jiyi._streaming import EventReader
from jiyi.errors import Conflict, ModelUnavailable
from tests.support.answers import answer
from tests.support.scripted_model import Gate, Reply, ScriptedModel

pytestmark = pytest.mark.long_except(
    "test_comments_and_fields_without_a_colon_are_skipped", "test_the_events_of_a_turn"
)

TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=5)


def read(pieces: list[bytes]) -> list[tuple[str, str]]:
    reader = EventReader()
    return [event for piece in pieces for event in reader.feed(piece)]


@given(TEXTS, st.sampled_from(["\n", "\r\n"]), st.lists(st.integers(0, 400)))
def test_events_do_not_depend_on_the_pieces_they_come_in(texts: list[str], end: str, cuts: list[int]):
    sent = "".join(
        f"event: delta{end}data: {json.dumps(text, ensure_ascii=False)}{end}{end}" for text in texts
    ).encode()
    places = sorted({0, len(sent), *(cut for cut in cuts if cut < len(sent))})
    pieces = [sent[start:stop] for start, stop in itertools.pairwise(places)]
    assert [json.loads(data) for _name, data in read(pieces)] == texts


def test_comments_and_fields_without_a_colon_are_skipped():
    assert read([b": still here\n\nretry: 10\nevent\ndata:a\ndata: b\n\nevent: x\n\ndata:  c\n\ndata: cut"]) == [
        ("message", "a\nb"),
        ("message", " c"),
    ]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c"])
def test_a_separator_in_a_reply_does_not_end_a_line(separator: str, client: Jiyi, model: ScriptedModel):
    text = f"one{separator}two"
    model.script(answer(text))
    events = list(client.sessions.stream(client.sessions.create().id, "hello"))
    assert "".join(event.text for event in events if isinstance(event, Delta)) == text


@pytest.mark.spec("C6")
def test_the_events_of_a_turn(client: Jiyi, model: ScriptedModel):
    model.script(answer("先说。Then more."))
    session = client.sessions.create()
    started, *deltas, done = client.sessions.stream(session.id, "你好")
    assert isinstance(started, Started)
    assert isinstance(done, Done)
    assert started.user_message.status == "pending"
    assert "".join(delta.text for delta in deltas) == "先说。Then more." == done.turn.assistant_message.content
    assert list(client.sessions.messages(session.id)) == [done.turn.user_message, done.turn.assistant_message]


async def test_the_events_of_a_turn_without_blocking(async_client: AsyncJiyi, model: ScriptedModel):
    model.script(answer("先说。Then more."))
    session = await async_client.sessions.create()
    events = [event async for event in async_client.sessions.stream(session.id, "你好")]
    assert [type(event) for event in (events[0], events[-1])] == [Started, Done]
    assert {type(event) for event in events[1:-1]} == {Delta}


def test_pieces_come_before_the_reply_is_whole(client: Jiyi, model: ScriptedModel):
    gate, whole = Gate(), answer("先到的。后到的。")
    cut = whole.index("后到的")
    model.script(Reply((whole[:cut], gate, whole[cut:])))
    stream = client.sessions.stream(client.sessions.create().id, "你好")
    next(stream)
    assert next(stream) == Delta(text="先到的。")
    gate.open()
    assert isinstance(list(stream)[-1], Done)


def test_a_model_that_fails_is_an_error_with_the_message_to_retry(client: Jiyi, model: ScriptedModel):
    model.script(Reply((answer("half of it")[:20],), finish_reason=None, cut="fin"))
    session = client.sessions.create()
    with pytest.raises(ModelUnavailable) as caught:
        list(client.sessions.stream(session.id, "hello"))
    (message,) = client.sessions.messages(session.id)
    assert caught.value.message_id == message.id
    assert (caught.value.status, message.status) == (503, "failed")

    model.script(answer("Here I am."))
    assert list(client.messages.stream_retry(message.id))[-1].turn.assistant_message.content == "Here I am."
    with pytest.raises(Conflict):
        client.messages.retry(message.id)
