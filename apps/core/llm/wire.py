"""OpenAI's chat completions on the wire: what a request says and what an answer, however odd, means."""

from __future__ import annotations

import json
from typing import Any, Literal

from apps.core.llm.types import ModelRequest, PromptMessage, ResponseFormat, ToolSpec

CUT_OFF = "length"
"""The finish reason of an answer that reached its limit of tokens."""

DEFAULT_BASE_URL = "https://api.openai.com/v1"

MAX_ANSWER_CHARS = 1_000_000
"""An answer longer than this is a failure; a model in a loop must not fill the memory."""

FormatLevel = Literal["json_schema", "json_object", "text"]
"""Ways to ask for JSON, strongest first (E5); "text" does not ask."""


def render_request(request: ModelRequest, *, model: str, level: FormatLevel, base_url: str) -> dict[str, Any]:
    """Return the parameters of a streamed call."""
    parameters: dict[str, Any] = {
        **request.options,
        "model": model,
        "messages": [_render_message(message) for message in request.messages],
        "stream": True,
    }
    if request.tools:
        parameters["tools"] = [_render_tool(tool) for tool in request.tools]
    if request.response_format and level != "text":
        parameters["response_format"] = _render_format(request.response_format, level)
    if request.max_tokens is not None:
        parameters[name_token_limit(base_url)] = request.max_tokens
    return parameters


def name_token_limit(base_url: str) -> str:
    """Return what a server calls the limit of an answer's tokens.

    OpenAI's newer models refuse the old name; the other servers do not all know the new one.
    """
    return "max_completion_tokens" if base_url == DEFAULT_BASE_URL else "max_tokens"


def _render_message(message: PromptMessage) -> dict[str, Any]:
    if message.call_id:
        return {"role": message.role, "content": message.content, "tool_call_id": message.call_id}
    if not message.calls:
        return {"role": message.role, "content": message.content}
    calls = [
        {**call.extra, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.calls
    ]
    return {"role": message.role, "content": message.content or None, "tool_calls": calls}


def _render_tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _render_format(wanted: ResponseFormat, level: FormatLevel) -> dict[str, Any]:
    if level == "json_object":
        return {"type": "json_object"}
    # Not strict: OpenAI's strict mode forbids optional keys and free-form objects, which a turn's answer has.
    return {
        "type": "json_schema",
        "json_schema": {"name": wanted.name, "schema": dict(wanted.schema), "strict": False},
    }


def read_chunk(chunk: object) -> tuple[str, str]:
    """Return a stream event's text and its finish reason, or ""; what is not as expected counts as no text.

    `chunk` is any JSON value. Usage events have no choices, role and reasoning events no content.
    """
    match chunk:
        case {"choices": [dict() as choice, *_]}:
            finished = str(choice.get("finish_reason") or "")
        case _:
            return "", ""
    match choice:
        case {"delta": {"content": str() as text}}:
            return text, finished
        case _:
            return "", finished


def read_relayed(body: bytes) -> dict[str, Any]:
    """Return a completion that is passed on as it is. Raises ValueError if it is none."""
    completion = json.loads(body)
    if not (isinstance(completion, dict) and isinstance(completion.get("choices"), list)):
        raise ValueError("This is not a chat completion.")
    return completion


def read_call_parts(chunk: object) -> Any:
    """Return what a stream event has of tool calls, for `apps.core.llm.tool_calls`; it may be anything."""
    match chunk:
        case {"choices": [{"delta": {"tool_calls": parts}}, *_]}:
            return parts
        case _:
            return None


def read_completion(body: bytes) -> tuple[str, str, Any]:
    """Return the text of a completion that came as one JSON body, its finish reason, and what it has of tool calls.

    Raises ValueError if it is none, or has neither text nor calls.
    """
    completion = json.loads(body)
    try:
        choice = completion["choices"][0]
        message = choice["message"]
        content, parts = message.get("content"), message.get("tool_calls")
    except (LookupError, TypeError, AttributeError):
        raise ValueError("This is not a chat completion.") from None
    if content is None and parts:
        content = ""
    if not isinstance(content, str) or len(content) > MAX_ANSWER_CHARS:
        raise ValueError("The completion has no text of acceptable length.")
    return content, str(choice.get("finish_reason") or ""), parts
