"""OpenAI's chat completions on the wire: what a request says and what an answer, however odd, means.

OpenAI numbers tool calls (``index``), and only a call's first piece has its ``id`` and name. Others leave the number
out, give all calls the number 0, repeat the ID, send a call whole, give arguments as an object, or send a field of
their own in a piece by itself, which they want back with the result (Gemini's ``extra_content``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from apps.core.llm.metering import Usage, read_usage
from apps.core.llm.types import ModelRequest, PromptMessage, ResponseFormat, ToolCall, ToolSpec

# The finish reason of an answer that reached its limit of tokens.
CUT_OFF = "length"

DEFAULT_BASE_URL = "https://api.openai.com/v1"

# What makes a server tell the usage of a stream, in an event at its end.
COUNTED = {"stream_options": {"include_usage": True}}

# An answer longer than this is a failure; a model in a loop must not fill the memory.
MAX_ANSWER_CHARS = 1_000_000

# Ways to ask for JSON, strongest first (E5); "text" does not ask.
FormatLevel = Literal["json_schema", "json_object", "text"]


def render_request(
    request: ModelRequest, *, model: str, level: FormatLevel, base_url: str, counts: bool = True
) -> dict[str, Any]:
    """Return the parameters of a streamed call. `counts`: whether to ask the server how many tokens it took."""
    parameters: dict[str, Any] = {
        **request.options,
        "model": model,
        "messages": [_render_message(message) for message in request.messages],
        "stream": True,
    }
    if counts:
        parameters |= COUNTED
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


@dataclass(frozen=True, slots=True)
class Said:
    """What an event or a completion says. `finished`: the finish reason, or ""; `thinks`: it has reasoning, which is
    not shown; `calls`: what it has of tool calls, for `apps.core.llm.wire`, which may be anything; `usage`: the tokens
    of the call so far.
    """

    text: str = ""
    finished: str = ""
    thinks: bool = False
    calls: Any = None
    usage: Usage | None = None


def read_chunk(chunk: object) -> Said:
    """Return what a stream event says; what is not as expected counts as no text.

    `chunk` is any JSON value. Usage events have no choices, role and reasoning events no content.
    """
    match chunk:
        case {"choices": [dict() as choice, *_]}:
            # Moonshot counts inside the choice.
            return _read_choice(choice, choice.get("delta"), usage=read_usage(chunk) or read_usage(choice))
        case _:
            return Said(usage=read_usage(chunk))


def _read_choice(choice: dict[str, Any], message: object, *, usage: Usage | None) -> Said:
    finished = str(choice.get("finish_reason") or "")
    if not isinstance(message, dict):
        return Said(finished=finished, usage=usage)
    content = message.get("content")
    thinks = any(value for name, value in message.items() if "reason" in name or "think" in name)
    if isinstance(content, list):  # of parts, some of which may be thought
        parts = [part for part in content if isinstance(part, dict)]
        thinks = thinks or any(part.get("type") != "text" for part in parts)
        content = "".join(str(part.get("text") or "") for part in parts if part.get("type") == "text")
    text = content if isinstance(content, str) else ""
    return Said(text=text, finished=finished, thinks=thinks, calls=message.get("tool_calls"), usage=usage)


def read_relayed(body: bytes) -> dict[str, Any]:
    """Return a completion that is passed on as it is. Raises ValueError if it is none."""
    completion = json.loads(body)
    if not (isinstance(completion, dict) and isinstance(completion.get("choices"), list)):
        raise ValueError("This is not a chat completion.")
    return completion


def read_completion(body: bytes) -> Said:
    """Return what a completion that came as one JSON body says.

    Raises ValueError if it is none, or has neither text nor reasoning nor calls.
    """
    completion = json.loads(body)
    try:
        choice = completion["choices"][0]
        said = _read_choice(choice, choice["message"], usage=read_usage(completion))
    except (LookupError, TypeError, AttributeError):
        raise ValueError("This is not a chat completion.") from None
    silent = not isinstance(choice["message"].get("content"), str | list)
    if (silent and not said.calls and not said.thinks) or len(said.text) > MAX_ANSWER_CHARS:
        raise ValueError("The completion has no text of acceptable length.")
    return said


# Calls in one answer: a model that makes more is in a loop.
MAX_CALLS = 32

_KNOWN = frozenset({"index", "id", "type", "function"})


@dataclass(slots=True)
class _Partial:
    index: int | None
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)


class CallAssembler:
    """Collects the pieces of an answer's tool calls. `size`: the characters so far."""

    def __init__(self) -> None:
        self.size = 0
        self._calls: list[_Partial] = []

    def feed(self, parts: Any) -> None:
        """Take the ``tool_calls`` of one event, or of a whole message; what is not as expected is left out."""
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                self._take(part)

    def close(self) -> list[ToolCall]:
        """Return the calls in the order in which they began; one without an ID of its own is named by its place."""
        calls: dict[str, ToolCall] = {}
        for at, call in enumerate(self._calls):
            arguments = "".join(call.arguments)
            if call.name or arguments:
                call_id = call.id if call.id and call.id not in calls else f"call_{at}"
                calls[call_id] = ToolCall(call_id, call.name, arguments, extra=call.extra)
        return list(calls.values())

    def _take(self, part: dict[str, Any]) -> None:
        function = part.get("function")
        function = function if isinstance(function, dict) else {}
        index, call_id = part.get("index"), _read_text(part.get("id"))
        name, arguments = _read_text(function.get("name")), _read_arguments(function.get("arguments"))
        call = self._find(index if isinstance(index, int) else None, call_id, name)
        if call is None:
            return
        call.id, call.name = call.id or call_id, call.name or name
        call.arguments.append(arguments)
        call.extra |= {key: value for key, value in part.items() if key not in _KNOWN}
        self.size += len(name) + len(arguments)

    def _find(self, index: int | None, call_id: str, name: str) -> _Partial | None:
        """The call that a piece continues, or a new one; None where there would be too many."""
        known = [call for call in self._calls if call_id and call.id == call_id and index in (None, call.index)]
        if not known and index is not None:
            known = [call for call in self._calls if call.index == index and not (call_id and call.id)]
        if not known and index is None and not call_id:
            # Without any mark: a name begins the next call, anything else continues the last one.
            known = [call for call in self._calls[-1:] if not (name and call.name)]
        if known:
            return known[-1]
        if len(self._calls) == MAX_CALLS:
            return None
        self._calls.append(_Partial(index))
        return self._calls[-1]


def _read_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _read_arguments(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
