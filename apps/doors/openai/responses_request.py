"""What a request to ``/v1/responses`` asks for, as a chat completion request (T3). Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from apps.core.errors import InvalidInput
from apps.doors.openai.base import refuse
from apps.doors.openai.request import ChatRequest, clean_body, read_chat_request

# Parameters that chat completions have, too.
_PASSED_ON = ("temperature", "top_p", "service_tier", "prompt_cache_key", "prompt_cache_retention")

# Parameters without which the answer would be another one. All others that are not read here describe the client, or
# are about what does not happen here: the window is ours, no tool runs here, and no stream is padded.
_UNSUPPORTED = ("conversation", "prompt", "messages", "background", "top_logprobs")

# What cannot be included. Of all else clients do not know whether there will be any: here there is none.
_LOGPROBS = "message.output_text.logprobs"

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
        "model": body.get("model"),
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
    metadata = {} if body.get("metadata") is None else body["metadata"]
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


# The items of the input as chat messages

MESSAGE_ROLES = ("assistant", "developer", "system", "user")


def read_items(given: Any) -> list[Mapping[str, Any]]:
    """Return the items of ``input``, a string being a message of the user. Raises `InvalidInput`."""
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    if not isinstance(given, list) or not given:
        refuse("input must be a string or a list of at least one item.", "input")
    for at, item in enumerate(given):
        if not isinstance(item, Mapping) or not isinstance(item.get("type"), str | None):
            refuse(f"input[{at}] must be an item with a type.", f"input[{at}]")
    return list(given)


def list_references(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the IDs of stored items that the input refers to."""
    return [str(item.get("id")) for item in items if _read_kind(item) == "item_reference"]


def _read_kind(item: Mapping[str, Any]) -> str:
    """The item's type, which clients leave out of messages and of references."""
    kind = item.get("type") or ("message" if "role" in item or "id" not in item else "item_reference")
    return str(kind)


def to_messages(
    items: Sequence[Mapping[str, Any]],
    *,
    referred: Mapping[str, Mapping[str, Any]] | None = None,
    called: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return the chat messages that the items are.

    `referred`: the stored items by their IDs. `called`: IDs of the calls that an earlier response made. Items of other
    kinds are left out: other models' thinking, and what tools have done that nobody runs here. So are parts of an
    earlier message that no chat message can hold. Raises `InvalidInput` naming the item.
    """
    messages: list[dict[str, Any]] = []
    known, left_out = set(called), set[str]()
    asked = max((at for at, item in enumerate(items) if item.get("role") == "user"), default=-1)
    for at, given in enumerate(items):
        name = f"input[{at}]"
        item = (referred or {})[str(given["id"])] if _read_kind(given) == "item_reference" else given
        match _read_kind(item):
            case "message":
                messages.append(_read_message(item, name, is_new=at >= asked))
            case "function_call":
                call = _read_call(item, name)
                known.add(call["id"])
                last = messages[-1] if messages else {}
                if last.get("role") == "assistant":  # what a response said and called is one chat message
                    last.setdefault("tool_calls", []).append(call)
                else:
                    messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            case "function_call_output":
                if item.get("call_id") not in left_out:
                    messages.append(_read_output(item, name, known))
            case _:
                left_out.add(str(item.get("call_id")))
    return messages


def list_called(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the IDs of the calls in chat messages."""
    return [str(call["id"]) for line in messages for call in line.get("tool_calls") or ()]


def _read_message(item: Mapping[str, Any], name: str, *, is_new: bool) -> dict[str, Any]:
    role = item.get("role")
    if role not in MESSAGE_ROLES:
        refuse(f"{name}.role must be one of {', '.join(MESSAGE_ROLES)}.", f"{name}.role")
    return {"role": role, "content": _read_content(item.get("content"), f"{name}.content", is_new=is_new)}


def _read_content(content: Any, name: str, *, is_new: bool) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        refuse(f"{name} must be a string or a list of parts.", name)
    parts: list[dict[str, Any]] = []
    for at, given in enumerate(content):
        try:
            parts.append(_read_part(given, f"{name}[{at}]"))
        except InvalidInput:
            if is_new:
                raise
    if not parts:
        return ""
    # A single text as a string: not every server takes lists.
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts


def _read_part(part: Any, name: str) -> dict[str, Any]:
    if not isinstance(part, Mapping):
        refuse(f"{name} must be a part with a type.", name)
    match part.get("type"):
        case "input_text" | "output_text" | "text":
            return {"type": "text", "text": _read_string(part, "text", name)}
        case "refusal":
            return {"type": "refusal", "refusal": _read_string(part, "refusal", name)}
        case "input_image":
            if part.get("image_url") is None:
                refuse(f"{name}: images are taken as image_url, a URL or a data URL; no files are kept here.", name)
            image = {"url": _read_string(part, "image_url", name)}
            if isinstance(part.get("detail"), str):
                image["detail"] = part["detail"]
            return {"type": "image_url", "image_url": image}
        case "input_file":
            if part.get("file_data") is None:
                refuse(f"{name}: files are taken as file_data; no files are kept or fetched here.", name)
            file = {"file_data": _read_string(part, "file_data", name)}
            if isinstance(part.get("filename"), str):
                file["filename"] = part["filename"]
            return {"type": "file", "file": file}
        case "input_audio" if isinstance(part.get("input_audio"), Mapping):
            return {"type": "input_audio", "input_audio": dict(part["input_audio"])}
    return refuse(f"{name}.type {part.get('type')!r} is not supported.", f"{name}.type")


def _read_call(item: Mapping[str, Any], name: str) -> dict[str, Any]:
    function = {field: _read_string(item, field, name) for field in ("name", "arguments")}
    return {"id": _read_string(item, "call_id", name), "type": "function", "function": function}


def _read_output(item: Mapping[str, Any], name: str, known: Collection[str]) -> dict[str, Any]:
    call_id = _read_string(item, "call_id", name)
    if call_id not in known:
        refuse(f"No tool call found for function call output with call_id {call_id}.", "input")
    content = _read_content(item.get("output"), f"{name}.output", is_new=False)
    if not isinstance(content, str) and all(part["type"] == "text" for part in content):
        content = "\n".join(part["text"] for part in content)
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def _read_string(source: Mapping[str, Any], field: str, name: str) -> str:
    value = source.get(field)
    if not isinstance(value, str):
        refuse(f"{name}.{field} must be a string.", f"{name}.{field}")
    return value
