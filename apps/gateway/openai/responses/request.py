"""What a request to ``/v1/responses`` asks for, as a chat completion request (T3). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from apps.core.errors import InvalidInput
from apps.gateway.openai.errors import refuse
from apps.gateway.openai.request import ChatRequest, clean_body, read_chat_request
from apps.gateway.openai.responses.items import list_references, read_items

_PASSED_ON = ("temperature", "top_p", "service_tier", "prompt_cache_key", "prompt_cache_retention")
"""Parameters that chat completions have, too."""

_UNSUPPORTED = ("conversation", "prompt", "messages", "background", "top_logprobs")
"""Parameters without which the answer would be another one. All others that are not read here describe the client, or
are about what does not happen here: the window is ours, no tool runs here, and no stream is padded."""

_LOGPROBS = "message.output_text.logprobs"
"""What cannot be included. Of all else clients do not know whether there will be any: here there is none."""

_ECHOED = ("instructions", "max_output_tokens", "previous_response_id", "safety_identifier", "temperature", "top_p")
_TOOL_CHOICES = ("auto", "none", "required")
_MAX_METADATA = 16

_CHAT_PARAMETERS = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
}


@dataclass(frozen=True, slots=True)
class ResponseRequest:
    """A request to ``/v1/responses``. `parameters`: those of the chat completion it becomes, without the messages.

    `previous`: the ID of the response that it continues, as given. `echo`: what the response repeats of it.
    """

    items: Sequence[Mapping[str, Any]]
    instructions: str
    parameters: Mapping[str, Any]
    stream: bool
    stored: bool
    previous: str | None
    metadata: Mapping[str, str]
    echo: Mapping[str, Any]

    @property
    def references(self) -> list[str]:
        """IDs of stored items that the input refers to."""
        return list_references(self.items)

    def to_chat(self, messages: Sequence[Mapping[str, Any]], *, whole: bool) -> ChatRequest:
        """Return the chat completion request with these messages; see `read_chat_request`."""
        system = [{"role": "system", "content": self.instructions}] if self.instructions else []
        body = {**self.parameters, "messages": [*system, *messages]}
        try:
            return read_chat_request(body, whole=whole)
        except InvalidInput as error:
            fields = {_CHAT_PARAMETERS.get(name, name): reasons for name, reasons in error.fields.items()}
            message = re.sub(r"\bmessages\b", "input", error.message)
            raise InvalidInput(message, fields=fields) from None


def read_response_request(body: Any, *, limit_name: str) -> ResponseRequest:
    """Return what `body` asks for. Raises `InvalidInput` naming the parameter.

    `limit_name`: what the model's server calls the limit of an answer's tokens.
    """
    if not isinstance(body, Mapping):
        refuse("The body must be a JSON object.", "body")
    body = clean_body(body, name="input")
    _refuse_unsupported(body)
    stream = _read(body, "stream", bool, "true or false", default=False)
    stored = _read(body, "store", bool, "true or false", default=True)
    limit = _read(body, "max_output_tokens", int, "a whole number of at least 1", default=None)
    if limit is not None and limit < 1:
        refuse("max_output_tokens must be a whole number of at least 1.", "max_output_tokens")
    for name in ("temperature", "top_p"):
        _read(body, name, (int, float), "a number", default=None)
    tools = _read_tools(body)
    form = _read_format(body)
    effort = _read_reasoning(body)
    choice = _read_tool_choice(body, tools)
    parallel = _read(body, "parallel_tool_calls", bool, "true or false", default=None)
    text = body.get("text") or {}
    parameters: dict[str, Any] = {
        "model": body.get("model") or "",
        "stream": stream,
        "store": stored,
        **({"stream_options": {"include_usage": True}} if stream else {}),
        **{name: body[name] for name in _PASSED_ON if body.get(name) is not None},
        **({limit_name: limit} if limit is not None else {}),
        **({"response_format": form} if form else {}),
        **({"reasoning_effort": effort} if effort else {}),
        **({"verbosity": text["verbosity"]} if text.get("verbosity") else {}),
    }
    if tools:
        parameters["tools"] = tools
        if choice is not None:
            parameters["tool_choice"] = choice
        if parallel is not None:
            parameters["parallel_tool_calls"] = parallel
    metadata = _read_metadata(body)
    previous = _read(body, "previous_response_id", str, "a string", default=None)
    return ResponseRequest(
        items=read_items(body.get("input")),
        instructions=_read(body, "instructions", str, "a string", default=None) or "",
        parameters=parameters,
        stream=stream,
        stored=stored,
        previous=previous or None,
        metadata=metadata,
        echo={
            **{name: body.get(name) for name in _ECHOED},
            "background": False,
            "max_tool_calls": body.get("max_tool_calls"),
            "metadata": metadata,
            "parallel_tool_calls": True if parallel is None else parallel,
            "reasoning": {"effort": effort, "summary": None},
            "store": stored,
            "text": {"format": {"type": "text"}, **text},
            "tool_choice": body.get("tool_choice") or "auto",
            "tools": [tool for tool in body.get("tools") or [] if _is_function(tool)],
            "truncation": body.get("truncation") or "disabled",
            "user": body.get("user"),
        },
    )


def _refuse_unsupported(body: Mapping[str, Any]) -> None:
    for name in _UNSUPPORTED:
        if body.get(name) not in (None, False, 0):
            refuse(f"The parameter {name!r} is not supported.", name)
    include = body.get("include")
    if include is not None and not isinstance(include, list):
        refuse("include must be a list.", "include")
    if _LOGPROBS in (include or ()):
        refuse(f"include: {_LOGPROBS!r} is not supported.", "include")


def _read(body: Mapping[str, Any], name: str, kind: Any, meaning: str, *, default: Any) -> Any:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        refuse(f"{name} must be {meaning}.", name)
    return value


def _read_tools(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The functions of the client. Tools of other kinds run at a service or take no JSON: nobody could run them."""
    tools = _read(body, "tools", list, "a list", default=[])
    for at, tool in enumerate(tools):
        if not isinstance(tool, Mapping) or not isinstance(tool.get("type"), str):
            refuse(f"tools[{at}] must be a tool with a type.", f"tools[{at}]")
    return [_read_function(tool, f"tools[{at}]") for at, tool in enumerate(tools) if _is_function(tool)]


def _is_function(tool: Any) -> bool:
    return isinstance(tool, Mapping) and tool.get("type") == "function"


def _read_function(tool: Mapping[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(tool.get("name"), str):
        refuse(f"{name}.name must be a string.", f"{name}.name")
    fields = ("name", "description", "parameters", "strict")
    function = {field: tool[field] for field in fields if tool.get(field) is not None}
    return {"type": "function", "function": function}


def _read_tool_choice(body: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> str | dict[str, Any] | None:
    match body.get("tool_choice"):
        case None:
            return None
        case "required" if body.get("tools") and not tools:
            refuse("tool_choice is required, and none of the tools is a function.", "tool_choice")
        case str() as choice if choice in _TOOL_CHOICES:
            return choice
        case {"type": "function", "name": str() as name}:
            return {"type": "function", "function": {"name": name}}
        case {"type": "allowed_tools", "mode": mode, "tools": [*names]} if any(map(_is_function_name, names)):
            functions = filter(_is_function_name, names)
            allowed = [{"type": "function", "function": {"name": tool["name"]}} for tool in functions]
            return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": allowed}}
    return refuse("tool_choice must be auto, none, required, or name functions.", "tool_choice")


def _is_function_name(tool: Any) -> bool:
    return _is_function(tool) and isinstance(tool.get("name"), str)


def _read_format(body: Mapping[str, Any]) -> dict[str, Any] | None:
    text = body.get("text")
    if text is not None and not isinstance(text, Mapping):
        refuse("text must be an object.", "text")
    match (text or {}).get("format"):
        case None | {"type": "text"}:
            return None
        case {"type": "json_object"}:
            return {"type": "json_object"}
        case {"type": "json_schema", "name": str(), "schema": dict()} as form:
            fields = ("name", "description", "schema", "strict")
            schema = {field: form[field] for field in fields if form.get(field) is not None}
            return {"type": "json_schema", "json_schema": schema}
    message = "text.format must be of type text, json_object, or json_schema with a name and a schema."
    return refuse(message, "text.format")


def _read_reasoning(body: Mapping[str, Any]) -> str | None:
    """The effort; all else is about showing the model's thinking, which is not passed on."""
    reasoning = body.get("reasoning")
    if reasoning is None:
        return None
    if not isinstance(reasoning, Mapping) or not isinstance(reasoning.get("effort"), str | None):
        refuse("reasoning must be an object whose effort is a string.", "reasoning")
    return cast("str | None", reasoning.get("effort"))


def _read_metadata(body: Mapping[str, Any]) -> dict[str, str]:
    metadata = body.get("metadata") or {}
    if (
        not isinstance(metadata, Mapping)
        or len(metadata) > _MAX_METADATA
        or not all(isinstance(value, str) and len(key) <= 64 and len(value) <= 512 for key, value in metadata.items())
    ):
        message = (
            f"metadata must be an object of at most {_MAX_METADATA} strings: keys up to 64, values up to 512 long."
        )
        refuse(message, "metadata")
    return dict(metadata)
