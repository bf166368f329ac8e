"""OpenAI's own client asks for responses: the same turns, whose client may leave the history to us (T3)."""

from __future__ import annotations

import time
from typing import Any

import openai
import pytest

from apps.chat.models import Turn
from apps.conversations.models import Message, Session
from apps.doors.models import StoredResponse
from apps.memory.entries import create_memory
from apps.memory.models import LongTermMemory, WorkingMemory
from tests.doors.openai.test_chat_completions import count_rows, texts
from tests.support.answers import answer
from tests.support.http_server import ApiClient, read_events
from tests.support.scripted_model import Reply, ScriptedModel, call, call_tools, refuse_with

pytestmark = [
    pytest.mark.spec("T3"),
    pytest.mark.long_except(
        "test_a_response_is_a_turn_with_memory",
        "test_a_response_is_continued_by_its_id_and_what_is_stored_is_the_history",
    ),
]

GET_WEATHER = {"name": "get_weather", "description": "The weather.", "parameters": {"type": "object"}, "strict": False}
TOOLS: Any = [{"type": "function", **GET_WEATHER}]
CHAT_TOOLS = [{"type": "function", "function": GET_WEATHER}]


def ask(client: openai.OpenAI, given: Any, previous: str | None = None, **options: Any) -> Any:
    """Ask for a response; `previous`: the ID of the one that it continues."""
    return client.responses.create(**{"model": "jiyi", **options}, input=given, previous_response_id=previous)


def result(number: int, output: Any) -> Any:
    return {"type": "function_call_output", "call_id": f"call_{number}", "output": output}


def sent(model: ScriptedModel, at: int = -1) -> list[Any]:
    """The messages of a request to the model, without the system's."""
    return model.chat_requests[at].said


def test_a_response_is_a_turn_with_memory(alice: ApiClient, client: openai.OpenAI, model: ScriptedModel):
    create_memory(user=alice.user, category="fact", key="home", value="York", now=alice.user.date_joined)
    entry = {"category": "preference", "key": "drink", "value": "tea"}
    model.script(answer("You live in York.", entries=[entry], topic="home"))
    raw = client.responses.with_raw_response.create(
        model="jiyi",
        instructions="Be brief.",
        input="Where is my home? I like tea.",
        temperature=0.5,
        metadata={"case": "7"},
        include=["reasoning.encrypted_content"],
        truncation="auto",
    )
    response = raw.parse()
    assert (response.output_text, response.status, response.model) == ("You live in York.", "completed", "scripted")
    assert (response.metadata, response.temperature, response.instructions) == ({"case": "7"}, 0.5, "Be brief.")
    assert abs(response.created_at - time.time()) < 60
    (message,) = response.output
    assert isinstance(message, openai.types.responses.ResponseOutputMessage)
    assert message.content[0].annotations == []
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens > 100
    reply = Message.objects.get(role="assistant")
    assert (response.id, message.id) == (f"resp_{reply.id.hex}", f"msg_{reply.id.hex}")
    assert raw.headers["X-Session-Id"] == str(Session.objects.get().id)
    assert [item["text"] for item in response.model_extra["jiyi"]["memories_used"]] == ["home: York"]
    assert texts() == ["Where is my home? I like tea.", "You live in York."]
    (asked,) = model.chat_requests
    assert "<application>\nBe brief.\n</application>" in asked.blocks
    assert asked.body["temperature"] == 0.5
    assert not {"metadata", "include", "truncation", "store", "instructions", "input"} & set(asked.body)
    assert WorkingMemory.objects.get().current_topic == "home"
    assert set(LongTermMemory.objects.values_list("key", flat=True)) == {"home", "drink"}


@pytest.mark.spec("C6")
def test_a_stream_has_the_events_that_clients_wait_for(alice: ApiClient, client: openai.OpenAI, model: ScriptedModel):
    model.script(answer("你好，小明！Nice."), answer("Again."))
    with client.responses.stream(model="jiyi", input="我叫小明") as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(deltas) == final.output_text == "你好，小明！Nice."
    assert final.usage is not None
    body = {"model": "jiyi", "input": "Hi", "stream": True}
    with alice.stream("POST", "/v1/responses", json=body) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["x-session-id"]
        events = list(read_events(response.iter_lines()))
    kinds = [event.name for event in events]
    at = kinds.index("response.output_text.delta")
    assert kinds[:at] == [
        "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
    ]  # fmt: skip
    assert set(kinds[at:-4]) == {"response.output_text.delta"}
    assert kinds[-4:] == [
        "response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
    ]  # fmt: skip
    assert [event.data["type"] for event in events] == kinds
    assert [event.data["sequence_number"] for event in events] == list(range(len(events)))
    assert events[0].data["response"]["status"] == "in_progress"
    assert events[-1].data["response"]["id"] == events[0].data["response"]["id"]


def test_a_response_is_continued_by_its_id_and_what_is_stored_is_the_history(
    client: openai.OpenAI, model: ScriptedModel
):
    model.script(answer("Hello Mel."), answer("A nurse."), answer("Mel, a nurse."))
    first = ask(client, "I'm Mel.", instructions="Be kind.")
    second = ask(client, "I'm a nurse.", previous=first.id)
    third = ask(client, [{"role": "user", "content": "Who am I?"}], previous=second.id)
    assert third.previous_response_id == second.id
    assert sent(model) == ["I'm Mel.", "Hello Mel.", "I'm a nurse.", "A nurse.", "Who am I?"]
    assert "Be kind." not in model.chat_requests[1].blocks  # as OpenAI has it
    assert texts() == ["I'm Mel.", "Hello Mel.", "I'm a nurse.", "A nurse.", "Who am I?", "Mel, a nurse."]
    assert Session.objects.count() == 1
    assert WorkingMemory.objects.get().turn_count == 3


def test_a_session_branches_off_at_an_earlier_response_and_back_again(client: openai.OpenAI, model: ScriptedModel):
    replies = ["Hello.", "Nice city.", "Big.", "Nice town.", "Small.", "Huge."]
    model.script(*map(answer, replies))

    def say(text: str, previous: Any = None) -> Any:
        return ask(client, text, previous=previous and previous.id)

    hello = say("Hi")
    city = say("I live in York.", hello)
    say("How big is it?", city)
    town = say("I live in Leeds.", hello)
    assert sent(model) == ["Hi", "Hello.", "I live in Leeds."]
    assert texts() == ["Hi", "Hello.", "I live in Leeds.", "Nice town."]
    say("And Selby?", town)
    assert sent(model) == ["Hi", "Hello.", "I live in Leeds.", "Nice town.", "And Selby?"]
    say("And now?", city)
    assert sent(model) == ["Hi", "Hello.", "I live in York.", "Nice city.", "And now?"]
    assert texts() == ["Hi", "Hello.", "I live in York.", "Nice city.", "And now?", "Huge."]
    assert Session.objects.count() == 1


def test_replies_may_be_sent_back_by_reference_as_the_ai_sdk_does(client: openai.OpenAI, model: ScriptedModel):
    model.script(answer("Hello Mel."), answer("Mel."))
    first = ask(client, "I'm Mel.")
    reference: Any = {"type": "item_reference", "id": first.output[0].id}
    user: Any = {"role": "user", "content": [{"type": "input_text", "text": "I'm Mel."}]}
    ask(client, [user, reference, {"role": "user", "content": "Who am I?"}])
    assert sent(model) == ["I'm Mel.", "Hello Mel.", "Who am I?"]
    assert Session.objects.count() == 1
    with pytest.raises(openai.NotFoundError, match="not found") as caught:
        ask(client, [{"type": "item_reference", "id": "msg_1"}])
    assert caught.value.param == "input"


def test_the_session_header_names_the_session(client: openai.OpenAI, model: ScriptedModel):
    model.script(answer("Hello."), answer("Yes."), answer("Other."))
    first = client.responses.with_raw_response.create(model="jiyi", input="Hi")
    header = {"X-Session-Id": first.headers["X-Session-Id"]}
    ask(client, "Still there?", extra_headers=header)
    assert sent(model) == ["Hi", "Hello.", "Still there?"]
    other = ask(client, "Something else")
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, "x", previous=other.id, extra_headers=header)
    assert caught.value.param == "previous_response_id"
    assert Session.objects.count() == 2


@pytest.mark.parametrize("stream", [False, True])
def test_tools_of_the_client_are_called_and_the_next_request_brings_the_results(
    alice: ApiClient, client: openai.OpenAI, model: ScriptedModel, stream: bool
):
    create_memory(user=alice.user, category="fact", key="home", value="York", now=alice.user.date_joined)
    cities = enumerate(("York", "Leeds", "Selby"), start=1)
    *calls, again = (call("get_weather", {"city": city}, id=f"call_{number}") for number, city in cities)
    model.script(answer("Hi."), call_tools(*calls), call_tools(again), Reply(("It rains.",)), answer("Bye."))

    def respond(given: Any, previous: str, **options: Any) -> Any:
        body: Any = {"model": "m9", "input": given, "previous_response_id": previous, "tools": TOOLS, **options}
        if not stream:
            return client.responses.create(**body)
        with client.responses.stream(**body) as events:
            return events.get_final_response()

    hello = ask(client, "Hello")
    first = respond("Weather at my home and in Leeds?", hello.id, instructions="Use tools.")
    assert [(item.type, item.call_id, item.name, item.arguments) for item in first.output] == [
        ("function_call", "call_1", "get_weather", '{"city": "York"}'),
        ("function_call", "call_2", "get_weather", '{"city": "Leeds"}'),
    ]  # fmt: skip
    asked = model.chat_requests[1]
    assert (asked.body["model"], asked.body["tools"], asked.body["stream"]) == ("m9", CHAT_TOOLS, stream)
    assert "<application>\nUse tools.\n</application>\n\n" in asked.messages[0]["content"]
    assert '"value": "York"' in asked.blocks
    assert sent(model) == ["Hello", "Hi.", "Weather at my home and in Leeds?"]
    second = respond([result(1, "rain"), result(2, "sun")], first.id)
    # Without the instructions, which are those of one request, as OpenAI has it.
    assert model.chat_requests[2].messages[1:] == [
        *asked.messages[1:],
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
        {"role": "tool", "tool_call_id": "call_2", "content": "sun"},
    ]
    third = respond([result(3, [{"type": "input_text", "text": "fog"}])], second.id)
    assert third.output_text == "It rains."
    assert [line["role"] for line in model.chat_requests[3].messages[3:]] == [
        "user", "assistant", "tool", "tool", "assistant", "tool",
    ]  # fmt: skip
    assert texts() == ["Hello", "Hi.", "Weather at my home and in Leeds?", "It rains."]
    assert [len(row.exchange) for row in StoredResponse.objects.order_by("created_at")] == [0, 1, 3, 1]
    assert Turn.objects.count() == 2
    ask(client, "Thanks", previous=third.id)
    assert sent(model) == ["Hello", "Hi.", "Weather at my home and in Leeds?", "It rains.", "Thanks"]
    assert client.responses.retrieve(second.id).output[0].call_id == "call_3"


def test_a_stored_response_can_be_read_again(client: openai.OpenAI, model: ScriptedModel):
    model.script(answer("Hello."), answer("Yes."), refuse_with(401))
    first = ask(client, "Hi", metadata={"case": "7"})
    second = ask(client, "Really?", previous=first.id)
    read = client.responses.retrieve(first.id)
    assert (read.output_text, read.status, read.metadata, read.model) == (
        "Hello.",
        "completed",
        {"case": "7"},
        "scripted",
    )
    assert client.responses.retrieve(second.id).previous_response_id == first.id
    with pytest.raises(openai.InternalServerError):
        ask(client, "And?", previous=second.id)
    failed = StoredResponse.objects.latest("created_at")
    assert client.responses.retrieve(f"resp_{failed.id.hex}").status == "failed"
    with pytest.raises(openai.NotFoundError):
        ask(client, "And?", previous=f"resp_{failed.id.hex}")


def test_nothing_is_stored_where_the_client_says_so(client: openai.OpenAI, model: ScriptedModel):
    model.script(answer("Hello."), answer("York."))
    kept = ask(client, "Hi")
    before = count_rows()
    response = ask(client, "Where is my home?", previous=kept.id, store=False)
    assert (response.output_text, response.store) == ("York.", False)
    assert sent(model) == ["Hi", "Hello.", "Where is my home?"]
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(response.id)
    assert count_rows() == before


def test_a_stream_that_breaks_off_ends_with_an_error(alice: ApiClient, model: ScriptedModel):
    model.script(Reply(('{"response": "Hel',), finish_reason=None))
    with alice.stream("POST", "/v1/responses", json={"model": "jiyi", "input": "Ho", "stream": True}) as response:
        error, failed = list(read_events(response.iter_lines()))[-2:]
    assert (error.name, error.data["code"]) == ("error", "model_unavailable")
    assert (failed.name, failed.data["response"]["status"]) == ("response.failed", "failed")
    assert failed.data["response"]["error"]["code"] == "model_unavailable"


def test_a_title_is_answered_and_leaves_nothing(client: openai.OpenAI, model: ScriptedModel):
    model.script(Reply(("Tea",)))
    before = count_rows()
    assert ask(client, "Name this.", extra_headers={"X-Task": "title"}).output_text == "Tea"
    assert model.chat_requests[0].messages == [{"role": "user", "content": "Name this."}]
    assert count_rows() == before
