"""OpenAI's own client against the running product: one turn engine, in OpenAI's shape (T3)."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from django.apps import apps

from apps.chat.models import Turn
from apps.conversations.models import Message, MessageStatus, Session, Work
from apps.costs.models import ModelCall
from apps.memory.entries import create_memory
from apps.memory.models import LongTermMemory, WorkingMemory
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import Reply, ScriptedModel, call, call_tools, refuse_with

pytestmark = [
    pytest.mark.spec("T3"),
    pytest.mark.long_except(
        "test_a_completion_is_a_turn_with_memory",
        "test_a_stream_ends_with_the_reason_and_the_usage_that_was_asked_for",
        "test_nothing_is_stored_where_the_client_says_so",
    ),
]

TOOLS: Any = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
CALL = call("get_weather", {"city": "York"}, id="call_1")


def user(text: Any) -> Any:
    return {"role": "user", "content": text}


def assistant(text: str) -> Any:
    return {"role": "assistant", "content": text}


def stored(session: Session | None = None) -> list[tuple[str, str]]:
    rows = Message.objects.exclude(status=MessageStatus.REPLACED).order_by("session__created_at", "position")
    return list((rows if session is None else rows.filter(session=session)).values_list("role", "content"))


def texts(session: Session | None = None) -> list[str]:
    return [text for _role, text in stored(session)]


def count_rows() -> dict[str, int]:
    """The number of rows of every table but the ledger's, which has figures of every call (Q1)."""
    models = [model for model in apps.get_models() if model is not ModelCall]
    return {model._meta.label: model._default_manager.count() for model in models}


def ask(client: openai.OpenAI, *messages: Any, **options: Any) -> Any:
    return client.chat.completions.create(messages=messages, **{"model": "jiyi", **options})


def read_text(response: Any, *, stream: bool) -> str:
    """The text of a completion, or of its chunks."""
    if not stream:
        return response.choices[0].message.content or ""
    return "".join(chunk.choices[0].delta.content or "" for chunk in response)


def test_a_completion_is_a_turn_with_memory(alice: ApiClient, client: openai.OpenAI, model: ScriptedModel):
    create_memory(user=alice.user, category="fact", key="home", value="York", now=alice.user.date_joined)
    entry = {"category": "preference", "key": "drink", "value": "tea"}
    model.script(answer("You live in York.", entries=[entry], topic="home"))
    response = client.chat.completions.with_raw_response.create(
        model="jiyi", messages=[{"role": "system", "content": "Be brief."}, user("Where is my home? I like tea.")]
    )
    parsed = response.parse()
    (choice,) = parsed.choices
    assert (choice.message.role, choice.message.content, choice.finish_reason) == (
        "assistant", "You live in York.", "stop",
    )  # fmt: skip
    assert (parsed.object, parsed.model) == ("chat.completion", "scripted")
    assert parsed.usage.total_tokens == parsed.usage.prompt_tokens + parsed.usage.completion_tokens > 100
    session = Session.objects.get()
    assert response.headers["X-Session-Id"] == str(session.id)
    told = parsed.model_extra["jiyi"]
    assert (told["session_id"], told["emotion"]["primary"]) == (str(session.id), "neutral")
    assert [item["text"] for item in told["memories_used"]] == ["home: York"]
    assert [item["key"] for item in told["memory_updates"]] == ["drink"]
    assert stored() == [("user", "Where is my home? I like tea."), ("assistant", "You live in York.")]
    (sent,) = model.chat_requests
    assert "<application>\nBe brief.\n</application>" in sent.messages[0]["content"]
    assert '"value": "York"' in sent.blocks
    assert sent.said == ["Where is my home? I like tea."]
    assert WorkingMemory.objects.get().current_topic == "home"
    assert set(LongTermMemory.objects.values_list("key", flat=True)) == {"home", "drink"}


@pytest.mark.spec("C6")
def test_a_stream_ends_with_the_reason_and_the_usage_that_was_asked_for(client: openai.OpenAI, model: ScriptedModel):
    model.script(answer("你好，小明！Nice."))
    *chunks, last = list(ask(client, user("我叫小明"), stream=True, stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "你好，小明！Nice."
    assert [chunk.choices[0].finish_reason for chunk in chunks][-2:] == [None, "stop"]
    assert (last.choices, {chunk.usage for chunk in chunks}) == ([], {None})
    assert last.usage.completion_tokens > 0
    assert {chunk.id for chunk in [*chunks, last]} == {chunks[0].id}
    assert stored() == [("user", "我叫小明"), ("assistant", "你好，小明！Nice.")]


def test_a_client_that_resends_its_history_continues_the_session(client: openai.OpenAI, model: ScriptedModel):
    model.script(answer("Hello Mel."), answer("A nurse."), answer("York."))
    history = [user("I'm Mel.")]
    sessions = set()
    for reply, following in (("Hello Mel.", "I'm a nurse."), ("A nurse.", "I live in York."), ("York.", "")):
        response = client.chat.completions.with_raw_response.create(model="jiyi", messages=history)
        sessions.add(response.headers["X-Session-Id"])
        history += [assistant(reply), user(following)]
    assert len(sessions) == 1
    assert texts() == [
        "I'm Mel.", "Hello Mel.", "I'm a nurse.", "A nurse.", "I live in York.", "York.",
    ]  # fmt: skip
    assert WorkingMemory.objects.get().turn_count == 3


def test_an_edited_message_takes_the_place_of_what_was_said_from_there_on(client: openai.OpenAI, model: ScriptedModel):
    model.script(answer("Hello."), answer("Nice city."), answer("Big city."), answer("Nice town."))
    ask(client, user("Hi"))
    start = [user("Hi"), assistant("Hello.")]
    ask(client, *start, user("I live in York."))
    further = [*start, user("I live in York."), assistant("Nice city."), user("It is big.")]
    client.chat.completions.create(model="jiyi", messages=further)
    ask(client, *start, user("I live in Leeds."))
    assert texts() == ["Hi", "Hello.", "I live in Leeds.", "Nice town."]
    assert Session.objects.count() == 1
    replaced = Message.objects.filter(status="replaced").order_by("position").values_list("content", flat=True)
    assert list(replaced) == ["I live in York.", "Nice city.", "It is big.", "Big city."]
    assert not Work.objects.filter(message__status="replaced").exists()


def test_nothing_is_stored_where_the_client_says_so(alice: ApiClient, client: openai.OpenAI, model: ScriptedModel):
    create_memory(user=alice.user, category="fact", key="home", value="York", now=alice.user.date_joined)
    entry = {"category": "preference", "key": "drink", "value": "tea"}
    model.script(answer("York.", entries=[entry]))
    response = client.chat.completions.with_raw_response.create(
        model="jiyi", messages=[user("Remember that I like tea. Where is my home?")], store=False
    )
    assert response.parse().choices[0].message.content == "York."
    assert "X-Session-Id" not in response.headers
    assert '"value": "York"' in model.chat_requests[0].blocks
    assert not Session.objects.exists()
    assert not Work.objects.exists()
    assert list(LongTermMemory.objects.values_list("key", "access_count")) == [("home", 0)]
    assert "store" not in model.chat_requests[0].body


def test_parameters_go_to_the_model_and_limits_end_the_reply(client: openai.OpenAI, model: ScriptedModel):
    model.script(answer("One. Two. Three."), answer("word " * 50))
    stopped = ask(client, user("Count."), stop=["Three", "\n"], temperature=0.25, seed=7, extra_body={"top_k": 5})
    assert (stopped.choices[0].message.content, stopped.choices[0].finish_reason) == ("One. Two. ", "stop")
    sent = model.chat_requests[0].body
    assert (sent["temperature"], sent["seed"], sent["top_k"], "stop" in sent) == (0.25, 7, 5, False)
    limited = ask(client, user("Talk."), max_tokens=10)
    assert limited.choices[0].finish_reason == "length"
    assert limited.choices[0].message.content == "word " * 8
    assert stored()[-1] == ("assistant", "word " * 8)


@pytest.mark.parametrize("stream", [False, True])
def test_tools_of_the_client_pass_through_and_the_round_ends_with_the_reply(
    alice: ApiClient, client: openai.OpenAI, model: ScriptedModel, stream: bool
):
    create_memory(user=alice.user, category="fact", key="home", value="York", now=alice.user.date_joined)
    reply = "It rains in York."
    model.script(call_tools(CALL), Reply((reply,)))
    messages = [{"role": "system", "content": "Use tools."}, user("Weather at my home?")]

    def ask() -> Any:
        response = client.chat.completions.create(model="m9", messages=messages, tools=TOOLS, stream=stream)
        if not stream:
            return response.choices[0].message.tool_calls, response.choices[0].message.content
        chunks = list(response)
        found = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or []]
        return found, "".join(chunk.choices[0].delta.content or "" for chunk in chunks)

    (called, _text) = ask()
    assert "".join(piece.function.arguments for piece in called) == '{"city": "York"}'
    first = model.chat_requests[0]
    assert (first.body["model"], first.tools) == ("m9", ["get_weather"])
    assert first.messages[0]["content"].startswith("The application in which")
    assert "<application>\nUse tools.\n</application>\n\n" in first.messages[0]["content"]
    assert '"value": "York"' in first.blocks
    assert first.said == ["Weather at my home?"]
    assert "response_format" not in first.body
    assert stored() == [("user", "Weather at my home?")]
    messages += [
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
    ]
    assert ask() == ([] if stream else None, reply)
    # What the client's tools returned comes after all that was sent before, so that a server can reuse it (C4).
    assert model.chat_requests[1].messages == [*first.messages, *messages[2:]]
    assert stored() == [("user", "Weather at my home?"), ("assistant", reply)]
    assert Session.objects.count() == 1
    turn = Turn.objects.get()
    assert (turn.emotion, turn.strategy, turn.assistant_message.emotion) == (None, None, None)
    assert LongTermMemory.objects.get().access_count == 1
    assert Work.objects.get(kind="extract").recorded


def test_images_pass_through_and_leave_a_mark(client: openai.OpenAI, model: ScriptedModel):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    model.script(Reply(("A cat.",)))
    ask(client, user([{"type": "text", "text": "What is it?"}, image]))
    (sent,) = model.chat_requests
    block, *parts = sent.messages[1]["content"]
    assert block["text"].startswith("<turn_context>\n<now>\n")
    assert parts == [{"type": "text", "text": "What is it?"}, image]
    assert stored() == [("user", "What is it?\n[image]"), ("assistant", "A cat.")]


def test_what_the_models_server_refuses_is_told_as_it_says(client: openai.OpenAI, model: ScriptedModel):
    model.script(refuse_with(400, "Unknown tool.", param="tools"))
    with pytest.raises(openai.BadRequestError, match="Unknown tool") as caught:
        ask(client, user("Hi"), tools=TOOLS)
    assert caught.value.param == "tools"
    assert Message.objects.get().status == "failed"


@pytest.mark.spec("C6")
@pytest.mark.parametrize("stream", [False, True])
def test_a_failed_message_is_taken_up_when_the_client_tries_again(
    client: openai.OpenAI, model: ScriptedModel, stream: bool
):
    model.script(refuse_with(401), answer("Hello."))
    with pytest.raises(openai.InternalServerError) as caught:
        ask(client, user("Hi"), stream=stream)
    assert (caught.value.status_code, caught.value.code, caught.value.type) == (
        503, "model_unavailable", "server_error",
    )  # fmt: skip
    ask(client, user("Hi"))
    assert stored() == [("user", "Hi"), ("assistant", "Hello.")]
    assert Session.objects.count() == 1


def test_a_stream_that_breaks_off_ends_with_an_error(client: openai.OpenAI, model: ScriptedModel):
    model.script(Reply(('{"response": "Hel',), finish_reason=None))
    stream = ask(client, user("Hi"), stream=True)
    with stream, pytest.raises(openai.APIError, match="kept and can be retried"):
        list(stream)
    assert Message.objects.get().status == "failed"


def test_titles_and_the_like_are_answered_and_leave_nothing(client: openai.OpenAI, model: ScriptedModel):
    model.script(Reply(("Tea",)), Reply(("Te", "a")))
    ask = {"model": "jiyi", "messages": [user("Name this.")], "extra_headers": {"X-Task": "title"}}
    assert client.chat.completions.create(**ask).choices[0].message.content == "Tea"
    chunks = list(client.chat.completions.create(**ask, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Tea"
    assert model.chat_requests[0].messages == [user("Name this.")]
    assert not Session.objects.exists()


def test_the_models_are_the_servers(client: openai.OpenAI, model: ScriptedModel):
    model.models = ("scripted", "maker/other")
    assert [item.id for item in client.models.list()] == ["scripted", "maker/other", "jiyi", "local/use-m3-512"]
    assert client.models.retrieve("maker/other").id == "maker/other"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("nothing")


# What other memories put into messages


@pytest.mark.spec("L9")
@pytest.mark.parametrize(
    ("echo", "value"),
    [
        ("<relevant-memories>\n- User lives in Oslo\n</relevant-memories>", "Oslo"),
        ("<memories>Lives in Oslo</memories>", "Oslo"),
        ("[User context]\n用户住在奥斯陆\n[/User context]", "奥斯陆"),
    ],
)
def test_an_echo_of_another_memory_is_for_the_prompt_alone(
    alice: ApiClient, client: openai.OpenAI, model: ScriptedModel, echo: str, value: str
):
    text = f"{echo}\n\nWhich gloves are good for gardening?"
    create_memory(user=alice.user, category="fact", key="flat", value=value, now=alice.user.date_joined)
    model.script(answer("Nitrile ones.", entries=[{"category": "fact", "key": "home", "value": value}]))
    response = ask(client, user(text))
    (sent,) = model.chat_requests
    assert text in sent.messages[-1]["content"]
    assert stored() == [("user", text), ("assistant", "Nitrile ones.")]
    assert Session.objects.get().title == "Which gloves are good for gardening?"
    assert response.model_extra["jiyi"]["memories_used"] == []
    assert not LongTermMemory.objects.filter(key="home", status="active").exists()
