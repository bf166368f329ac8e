"""Requests to /v1 that are not as they have to be are refused in OpenAI's shape, and leave nothing (T3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.doors.openai.test_chat_completions import assistant, count_rows, user
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.long

DEEP: Any = json.loads("[" * 70 + "]" * 70)
HI = [user("Hi")]

# The parameter that is named, and bodies for which it is.
CHAT: list[tuple[str, Any]] = [
    ("messages", {"messages": []}),
    ("messages", {"messages": [{"role": "boss", "content": "Hi"}]}),
    ("messages", {"messages": [{"role": ["user"], "content": "Hi"}]}),
    ("messages", {"messages": [{"role": "user", "content": 7}]}),
    ("messages", {"messages": [user("A\0B")]}),
    ("messages", {"messages": [user("Hi"), assistant("Hello \0"), user([{"type": "text", "text": "\ud83d"}])]}),
    ("messages", {"messages": [user("Half an emoji: \ude00"), assistant("Well")]}),
    ("messages", {"messages": [user(" ")]}),
    ("messages", {"messages": [user([{"text": "Hi"}])]}),
    ("body", {"messages": HI, "metadata": DEEP}),
    ("model", {"messages": HI, "model": {}}),
    ("model", {"messages": HI, "model": 3}),
    ("stream", {"messages": HI, "stream": "yes"}),
    ("max_tokens", {"messages": HI, "max_tokens": 0}),
    ("stop", {"messages": HI, "stop": 3}),
    ("stream_options", {"messages": HI, "stream_options": 3}),
]
RESPONSES: list[tuple[str, Any]] = [
    ("input", {}),
    ("input", {"input": " "}),
    ("input", {"input": "Hi \0"}),
    ("input", {"input": [user([{"type": "input_text", "text": "\ud83d"}])]}),
    ("input", {"input": [{"type": "web_search_call", "id": "w"}]}),
    ("input", {"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}),
    ("input[0]", {"input": [3]}),
    ("input[0].role", {"input": [{"role": "boss", "content": "Hi"}]}),
    ("input[0].content[0].type", {"input": [user([{"type": "input_video"}])]}),
    ("input[0].content[0]", {"input": [user([{"type": "input_image", "file_id": "f"}])]}),
    ("stream", {"input": "Hi", "stream": "yes"}),
    ("max_output_tokens", {"input": "Hi", "max_output_tokens": 0}),
    ("temperature", {"input": "Hi", "temperature": "hot"}),
    ("background", {"input": "Hi", "background": True}),
    ("tools[0]", {"input": "Hi", "tools": [3]}),
    ("tool_choice", {"input": "Hi", "tools": [{"type": "web_search"}], "tool_choice": "required"}),
    ("tool_choice", {"input": "Hi", "tool_choice": {"type": "file_search"}}),
    ("text.format", {"input": "Hi", "text": {"format": {"type": "xml"}}}),
    ("include", {"input": "Hi", "include": ["message.output_text.logprobs"]}),
    ("metadata", {"input": "Hi", "metadata": {"a": 1}}),
    ("metadata", {"input": "Hi", "metadata": False}),
    ("model", {"input": "Hi", "model": []}),
    ("reasoning", {"input": "Hi", "reasoning": "high"}),
    ("body", []),
]
EMBEDDINGS: list[tuple[str, Any]] = [
    ("input", {}),
    ("input", {"input": []}),
    ("input", {"input": ["a", " "]}),
    ("input", {"input": [1, 2, 3]}),
    ("input", {"input": ["x"] * 2_049}),
    ("input", {"input": "x" * 40_000}),
    ("input", {"input": ["x" * 30_000] * 50}),
    ("encoding_format", {"input": "x", "encoding_format": "int8"}),
    ("dimensions", {"input": "x", "dimensions": 2_048}),
    ("dimensions", {"input": "x", "dimensions": True}),
    ("model", {"input": "x", "model": 3}),
    ("inputs", {"input": "x", "inputs": "x"}),
    ("body", []),
]


@pytest.mark.parametrize(
    ("path", "refused"), [("chat/completions", CHAT), ("responses", RESPONSES), ("embeddings", EMBEDDINGS)]
)
def test_a_bad_request_is_refused_in_openais_shape(
    alice: ApiClient, model: ScriptedModel, subtests: pytest.Subtests, path: str, refused: list[tuple[str, Any]]
):
    before = count_rows()
    for number, (param, body) in enumerate(refused):
        with subtests.test(param, number=number):
            # `json.dumps` writes half an emoji as an escape.
            content = json.dumps({"model": "jiyi", **body} if isinstance(body, dict) else body)
            response = alice.post(f"/v1/{path}", content=content, headers={"Content-Type": "application/json"})
            error = response.json()["error"]
            assert (response.status_code, error["type"], error["param"]) == (400, "invalid_request_error", param)
            assert set(error) == {"message", "type", "param", "code"}
    assert (count_rows(), model.chat_requests) == (before, [])
