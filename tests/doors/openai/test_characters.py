"""U+0000 and halves of emoji: what is not new is cleaned, and so is what a model's server sends (T3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apps.core.errors import InvalidInput
from apps.core.llm.relaying import EventCleaner
from apps.doors.models import StoredResponse
from apps.doors.openai.api import list_chunks
from apps.doors.openai.request import read_chat_request
from tests.doors.openai.test_chat_completions import assistant, stored, user
from tests.support.answers import answer
from tests.support.http_server import ApiClient
from tests.support.scripted_model import Reply, ScriptedModel

pytestmark = pytest.mark.spec("T3")

LOG = [user("Read my log"), assistant("It says A\0B and \ud83d."), user("Thanks, I will fix it tomorrow.")]


def post(alice: ApiClient, path: str, body: Any) -> Any:
    content = json.dumps({"model": "jiyi", **body})  # which writes half an emoji as an escape
    return alice.post(path, content=content, headers={"Content-Type": "application/json"}).raise_for_status()


def test_earlier_messages_are_cleaned(alice: ApiClient, model: ScriptedModel):
    model.script(answer("Good."))
    post(alice, "/v1/chat/completions", {"messages": LOG})
    assert [text for _role, text in stored()] == [
        "Read my log", "It says AB and .", "Thanks, I will fix it tomorrow.", "Good.",
    ]  # fmt: skip
    assert model.chat_requests[0].messages[2]["content"] == "It says AB and ."


CALL = {"id": "c\0", "type": "function", "function": {"name": "f", "arguments": '{"a": "\\u0000\0\ud83d"}'}}


@pytest.mark.parametrize(
    "changed",
    [
        {"messages": [user("A\0"), assistant("B"), user("C")]},
        {"messages": [{"role": "system", "content": "Be\0 brief."}, user("C")]},
        {"messages": [user([{"type": "text", "text": "\ud83d"}]), assistant("B"), user("C \U0001f600")]},
        {"messages": [user("C"), {"role": "assistant", "content": None, "tool_calls": [CALL]},
                      {"role": "tool", "tool_call_id": "c\0", "content": "\0 \udc00"}]},
        {"messages": [user("\0C"), {"role": "assistant", "content": None, "tool_calls": [CALL]},
                      {"role": "tool", "tool_call_id": "c", "content": "x"}]},
        {"messages": [user("C"), assistant("It\0 is")]},
        {"messages": [user("C")], "tools": [{"type": "function", "function": {"name": "f", "description": "\0"}}]},
        {"messages": [user("C")], "metadata": {"a\0": "\ud83d"}},
    ],
)  # fmt: skip
def test_only_a_new_message_is_refused(changed: dict[str, Any]):
    chat = read_chat_request(changed, whole=False)
    assert chat.conversation.given.message in ("C", "C \U0001f600")
    text = json.dumps(chat.body, ensure_ascii=False)
    assert text.encode()
    assert "\\u0000" not in text.replace("\\\\u0000", "")


def test_a_number_that_is_not_finite_is_refused():
    with pytest.raises(InvalidInput) as caught:
        read_chat_request({"messages": [user("Hi")], "temperature": float("inf")}, whole=False)
    assert list(caught.value.fields) == ["temperature"]


def test_results_of_tools_are_cleaned_in_responses(alice: ApiClient, model: ScriptedModel):
    model.script(Reply(("It rains.",)))
    items = [
        user("Weather?"),
        {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Y\0ork"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "rain \ud83c\0"},
    ]
    post(alice, "/v1/responses", {"input": items})
    assert StoredResponse.objects.get().exchange[-1]["content"] == "rain "
    assert [text for _role, text in stored()] == ["Weather?", "It rains."]


def test_texts_are_cleaned_as_they_come_in_pieces():
    cleaner = EventCleaner()

    def feed(**delta: Any) -> Any:
        return cleaner.clean({"choices": [{"index": 1, "delta": delta}], "x": "\0"})["choices"][0]["delta"]

    def call(text: str) -> Any:
        return [{"index": 2, "function": {"arguments": text}}]

    assert feed(content="a\ud83d", tool_calls=call('{"\ud83d')) == {"content": "a", "tool_calls": call('{"')}
    assert feed(content="\ude00", tool_calls=call('\ude01"}')) == {
        "content": "\U0001f600", "tool_calls": call('\U0001f601"}'),
    }  # fmt: skip
    assert feed(content=None, reasoning_content="\ude00b\0") == {"content": None, "reasoning_content": "b"}
    assert cleaner.clean({"choices": None, "logprob": float("-inf")}) == {"choices": None, "logprob": None}


@pytest.mark.parametrize(
    ("event", "asked", "count"),
    [
        ({"choices": [], "usage": {"total_tokens": 3}}, True, 1),
        ({"choices": [], "usage": {"total_tokens": 3}}, False, 0),
        ({"choices": [], "usage": None}, True, 0),
        ({"choices": [], "prompt_filter_results": []}, True, 0),
        ({"choices": [{"index": 0, "delta": {}}]}, False, 1),
        ({"error": {"message": "No."}}, False, 1),
    ],
)
def test_chunks_without_choices_are_not_forwarded_unasked(event: dict[str, Any], asked: bool, count: int):
    assert len(list_chunks(event, include_usage=asked)) == count
