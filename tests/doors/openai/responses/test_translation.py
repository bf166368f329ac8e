"""A request for a response as a chat completion request, its parts, and what coding agents declare in it (T3)."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from apps.conversations.types import RecordedMessage
from apps.core.errors import InvalidInput
from apps.doors.openai.responses_request import (
    ResponseRequest,
    list_references,
    read_items,
    read_response_request,
    to_messages,
)
from apps.doors.openai.stored_responses import EarlierResponse, continue_response
from tests.doors.openai.test_chat_completions import user
from tests.support.http_server import ApiClient
from tests.support.scripted_model import Reply, ScriptedModel

pytestmark = pytest.mark.spec("T3")

KEY = uuid.UUID("b7d6f1a0-5c3e-4f0e-9c2d-8a1f6e5b4c3d")


def translate(items: Any, **more: Any) -> list[dict[str, Any]]:
    return to_messages(read_items(items), **more)


def call(number: int, text: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{number}", "call_id": f"c{number}", "name": "f", "arguments": text}


def output(number: int, value: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": f"c{number}", "output": value}


def chat_call(number: int) -> dict[str, Any]:
    return {"id": f"c{number}", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def test_messages_keep_their_role_and_a_single_text_is_a_string():
    items = [
        {"role": "developer", "content": "Be kind."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        {"role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "Hello", "annotations": []}]},
        {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]},
    ]
    assert translate(items) == [
        {"role": "developer", "content": "Be kind."},
        user("Hi"),
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    ]


def test_parts_that_are_no_text_become_those_of_chat_completions():
    parts = [
        {"type": "input_image", "image_url": "https://example.org/a.png"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"},
        {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
        {"type": "refusal", "refusal": "No."},
    ]
    (message,) = translate([{"role": "user", "content": parts}])
    assert message["content"] == [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"}},
        {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
        {"type": "refusal", "refusal": "No."},
    ]


def test_calls_that_were_made_at_once_are_one_message_and_thinking_is_left_out():
    items = [
        user("Hi"),
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"role": "assistant", "content": "Let me see."},
        call(1),
        call(2),
        output(1, "one"),
        output(2, [{"type": "input_text", "text": "two"}, {"type": "input_text", "text": "lines"}]),
        call(3),
        output(3, [{"type": "input_image", "image_url": "u"}, {"type": "input_text", "text": "x"}]),
    ]
    assert translate(items) == [
        user("Hi"),
        {"role": "assistant", "content": "Let me see.", "tool_calls": [chat_call(1), chat_call(2)]},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "two\nlines"},
        {"role": "assistant", "content": None, "tool_calls": [chat_call(3)]},
        {
            "role": "tool",
            "tool_call_id": "c3",
            "content": [{"type": "image_url", "image_url": {"url": "u"}}, {"type": "text", "text": "x"}],
        },
    ]


def test_references_stand_for_what_they_name():
    items = read_items([user("Hi"), {"type": "item_reference", "id": "msg_1"}, {"id": "fc_1"}])
    assert list_references(items) == ["msg_1", "fc_1"]
    referred = {"msg_1": {"role": "assistant", "content": "Hello"}, "fc_1": call(1)}
    assert to_messages(items, referred=referred)[1:] == [
        {"role": "assistant", "content": "Hello", "tool_calls": [chat_call(1)]}
    ]


def test_parameters_become_those_of_chat_completions():
    given = read_response_request(
        {
            "model": "m",
            "input": "Hi",
            "stream": True,
            "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True}],
            "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]},
            "parallel_tool_calls": False,
            "text": {"format": {"type": "json_schema", "name": "n", "schema": {}, "strict": None}, "verbosity": "low"},
            "reasoning": {"effort": "high", "summary": "auto"},
            "max_output_tokens": 9,
            "top_p": 0.5,
            "service_tier": "flex",
            "truncation": "disabled",
            "conversation": None,
            "top_logprobs": 0,
        },
        limit_name="max_completion_tokens",
    )
    function = {"name": "f", "parameters": {"type": "object"}, "strict": True}
    assert given.parameters == {
        "model": "m",
        "stream": True,
        "store": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "f"}}]},
        },
        "parallel_tool_calls": False,
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
        "verbosity": "low",
        "reasoning_effort": "high",
        "max_completion_tokens": 9,
        "top_p": 0.5,
        "service_tier": "flex",
    }
    assert given.echo["tool_choice"]["type"] == "allowed_tools"
    assert given.echo["text"]["verbosity"] == "low"


@pytest.mark.parametrize(
    ("choice", "expected"),
    [("none", "none"), ({"type": "function", "name": "f"}, {"type": "function", "function": {"name": "f"}})],
)
def test_a_tool_is_chosen_as_in_chat_completions(choice: Any, expected: Any):
    body = {"input": "Hi", "tools": [{"type": "function", "name": "f"}], "tool_choice": choice}
    assert read_response_request(body, limit_name="max_tokens").parameters["tool_choice"] == expected


# What a request continues


def make_earlier(**changes: Any) -> EarlierResponse:
    before = (RecordedMessage("user", "Hi"), RecordedMessage("assistant", "Hello"))
    given = {"asked": "Hi", "reply": "Hello", "exchange": (), "before": before, "is_newest": True}
    return EarlierResponse(session_id=KEY, **{**given, **changes})


def test_the_newest_response_is_continued_by_what_is_stored():
    place = continue_response([user("And?")], make_earlier(), stored=True)
    assert (place.messages, place.session_id, place.from_store, place.is_branch) == ([user("And?")], KEY, True, False)


@pytest.mark.parametrize(
    ("new", "earlier", "stored"),
    [
        ([user("And?")], {"is_newest": False}, True),
        ([user("And?")], {}, False),
        ([user("A"), user("B")], {}, True),
        ([{"role": "assistant", "content": "Hm"}, user("B")], {}, True),
    ],
    ids=["an earlier one", "nothing is stored", "two messages", "a reply of the client's"],
)
def test_what_led_to_a_response_goes_along_where_the_store_does_not_have_it_so(new: Any, earlier: Any, stored: bool):
    place = continue_response(new, make_earlier(**earlier), stored=stored)
    assert place.messages == [user("Hi"), {"role": "assistant", "content": "Hello"}, *new]
    assert (place.from_store, place.is_branch) == (False, True)


def test_results_follow_the_calls_and_the_message_that_waits():
    calls = {"role": "assistant", "content": None, "tool_calls": [chat_call(1)]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "one"}
    earlier = make_earlier(asked="Weather?", reply=None, exchange=(calls,))
    waiting = continue_response([result], earlier, stored=True)
    assert waiting.messages == [user("Weather?"), calls, result]
    assert waiting.after == [calls, result]
    more = continue_response([result, user("And?")], earlier, stored=True)
    assert more.messages == [calls, result, user("And?")]  # the message that waited is part of what is stored
    assert more.after == []


# What coding agents send: declarations that change nothing


SHELL = {"type": "function", "name": "shell", "strict": False, "parameters": {"type": "object"}}
CUSTOM = {"type": "custom", "name": "apply_patch", "format": {"type": "grammar", "syntax": "lark", "definition": "x"}}
ASKED: Any = {"role": "user", "content": [{"type": "input_text", "text": "What editor do I like?"}]}
CODEX: dict[str, Any] = {
    "model": "jiyi",
    "instructions": "You are a coding agent.",
    "store": False,
    "stream": True,
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "k1",
    "client_metadata": {"session": "s1"},
    "reasoning": {"effort": "medium", "summary": "auto"},
    "tools": [SHELL, CUSTOM, {"type": "web_search"}],
    "input": [
        {"type": "additional_tools", "role": "developer",
         "tools": [{"type": "namespace", "name": "collaboration", "tools": []}]},
        ASKED,
    ],
}  # fmt: skip


def read(**changed: Any) -> ResponseRequest:
    return read_response_request({"input": "Hi", **changed}, limit_name="max_tokens")


def test_the_request_of_a_coding_agent_is_answered(alice: ApiClient, model: ScriptedModel):
    model.script(Reply(("Helix.",)))
    response = alice.post("/v1/responses", json=CODEX)
    assert response.status_code == 200
    assert "response.completed" in response.text
    (sent,) = model.chat_requests
    assert sent.tools == ["shell"]
    assert sent.said == ["What editor do I like?"]
    assert "client_metadata" not in sent.body


@pytest.mark.parametrize(
    "changed",
    [
        {"client_metadata": {"a": 1}, "prompt_cache_options": {"mode": "x"}},
        {"include": ["something.new", "web_search_call.results"]},
        {"context_management": [{"type": "compaction"}], "moderation": None},
        {"tools": [{"type": "local_shell"}, {"type": "mcp", "server_url": "https://example.org"}]},
        {"tools": [{"type": "namespace", "name": "n", "tools": [SHELL]}], "tool_choice": "auto"},
    ],
)
def test_what_describes_the_client_changes_nothing(changed: dict[str, Any]):
    assert read(**changed).parameters == read().parameters


def test_of_the_allowed_tools_the_functions_are_left():
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "shell"},
                                                                  {"type": "web_search"}]}  # fmt: skip
    allowed = read(tools=[SHELL, CUSTOM], tool_choice=choice).parameters["tool_choice"]["allowed_tools"]
    assert allowed == {"mode": "auto", "tools": [{"type": "function", "function": {"name": "shell"}}]}


@pytest.mark.parametrize(
    "item",
    [
        {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "***"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "compaction", "encrypted_content": "x"},
        {"type": "a_kind_of_tomorrow", "role": "assistant", "content": "x"},
        {"type": "reasoning", "summary": []},
    ],
)
def test_unknown_items_are_left_out(item: Any):
    assert to_messages([item, ASKED]) == [{"role": "user", "content": "What editor do I like?"}]


def test_so_are_the_results_of_what_was_left_out_and_no_others():
    call = {"type": "local_shell_call", "call_id": "c1", "action": {}}
    result = {"type": "function_call_output", "call_id": "c1", "output": "x"}
    assert to_messages([call, result, ASKED]) == to_messages([ASKED])
    with pytest.raises(InvalidInput, match="No tool call found"):
        to_messages([call, {**result, "call_id": "c2"}, ASKED])


def test_parts_of_earlier_messages_that_nobody_can_hold_are_left_out():
    parts = [{"type": "summary_text", "text": "x"}, {"type": "output_text", "text": "Yes."}]
    earlier = [{"role": "assistant", "content": parts}, {"role": "user", "content": [{"type": "input_image"}]}]
    assert to_messages([*earlier, ASKED])[:2] == [
        {"role": "assistant", "content": "Yes."}, {"role": "user", "content": ""},
    ]  # fmt: skip
    with pytest.raises(InvalidInput, match="images are taken as image_url"):
        to_messages([*earlier, {"role": "user", "content": [{"type": "input_image"}]}])
