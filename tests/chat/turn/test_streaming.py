"""The stream of a turn: its events, its pieces, and a client that leaves."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.conversations.models import Message
from tests.support.answers import answer
from tests.support.http_server import ApiClient, read_events
from tests.support.processes import wait_until
from tests.support.scripted_model import Gate, Reply, ScriptedModel

pytestmark = pytest.mark.spec("C6")


def test_the_events_are_start_deltas_done_and_the_deltas_are_the_stored_reply(alice: ApiClient, model: ScriptedModel):
    session = alice.new_session()
    text = '第一句。\nSecond "quoted" line \\ 🙂'
    model.script(answer(text))
    events = alice.say_streaming(session, "你好", Accept="text/event-stream")  # as some clients ask for it
    assert [event.name for event in events[:1] + events[-1:]] == ["start", "done"]
    assert {event.name for event in events[1:-1]} == {"delta"}
    start, done = events[0].data, events[-1].data
    assert (start["user_message"]["content"], start["user_message"]["status"]) == ("你好", "pending")
    assert start["user_message"]["id"] == done["user_message"]["id"]
    assert "".join(event.data["text"] for event in events[1:-1]) == text == done["assistant_message"]["content"]
    stored = alice.get(f"/chat/sessions/{session}/messages").json()["results"]
    assert stored == [done["user_message"], done["assistant_message"]]


def test_a_piece_arrives_before_the_model_has_finished(alice: ApiClient, model: ScriptedModel):
    gate = Gate()
    whole = answer("先到的。后到的。")
    cut = whole.index("后到的")
    model.script(Reply((whole[:cut], gate, whole[cut:])))
    with alice.streaming(alice.new_session(), "你好") as events:
        assert next(events).name == "start"
        assert next(events).data == {"text": "先到的。"}
        gate.open()
        rest = list(events)
    assert [event.name for event in rest] == ["delta", "done"]


def test_a_client_that_leaves_still_gets_the_whole_reply_stored(alice: ApiClient, model: ScriptedModel):
    gate = Gate()
    whole = answer("先到的。后到的。")
    cut = whole.index("后到的")
    model.script(Reply((whole[:cut], gate, whole[cut:])))
    with alice.streaming(alice.new_session(), "你好") as events:
        next(events)
        next(events)
    gate.open()
    wait_until(lambda: Message.objects.filter(role="assistant").exists())
    assert Message.objects.get(role="assistant").content == "先到的。后到的。"
    assert Message.objects.get(role="user").status == "complete"


@pytest.mark.long
@pytest.mark.parametrize("who", ["a token", "a logged-in session"])
def test_a_stream_pins_no_connection(who: str, alice: ApiClient, model: ScriptedModel):
    """More streams stand open than the pool has connections, and other requests still answer."""
    from django.conf import settings

    if who == "a logged-in session":
        _log_in(alice)
    size = settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"]
    gate = Gate()
    model.default = lambda _request: Reply((gate, answer("好")))
    responses = []
    try:
        for _number in range(size + 2):
            path = f"/chat/sessions/{alice.new_session()}/messages"
            request = alice.build_request("POST", path, json={"content": "你好", "stream": True})
            responses.append(alice.send(request, stream=True))
            assert next(read_events(responses[-1].iter_lines())).name == "start"
        assert alice.get("/chat/sessions").json()["count"] == size + 2
    finally:
        gate.open()
        for response in responses:
            response.close()
    wait_until(lambda: Message.objects.filter(role="assistant").count() == size + 2)


def _log_in(client: ApiClient) -> None:
    """Go on as a browser does, with a session's cookie in place of the token."""
    browser = Client()
    browser.force_login(User.objects.get(username="alice"))
    browser.get("/")
    del client.headers["Authorization"]
    for cookie in browser.cookies.values():
        client.cookies.set(cookie.key, cookie.value)
    client.headers["X-CSRFToken"] = browser.cookies["csrftoken"].value
