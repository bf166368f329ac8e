"""What coding agents send with a request for a response: declarations that change nothing (T3)."""

from __future__ import annotations

from typing import Any

import pytest

from apps.core.errors import InvalidInput
from apps.doors.openai.responses_request import ResponseRequest, read_response_request, to_messages
from tests.support.http_server import ApiClient
from tests.support.scripted_model import Reply, ScriptedModel

pytestmark = pytest.mark.spec("T3")

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
