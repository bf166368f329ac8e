"""The items of a response's input as chat messages, and chat messages as items (T3). Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from apps.core.errors import InvalidInput
from apps.gateway.openai.errors import refuse

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


# Items of an output


def render_message(text: str, *, name: str, status: str = "completed", refusal: str = "") -> dict[str, Any]:
    """Return the message of a response."""
    content: list[dict[str, Any]] = []
    if text or not refusal:
        content.append(render_text(text))
    if refusal:
        content.append(render_refusal(refusal))
    return {"id": name, "type": "message", "status": status, "role": "assistant", "content": content}


def render_text(text: str) -> dict[str, Any]:
    """Return the part of a message that is its text."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def render_refusal(text: str) -> dict[str, Any]:
    """Return the part of a message in which the model refuses."""
    return {"type": "refusal", "refusal": text}


def render_call(call: Mapping[str, Any], *, name: str, status: str = "completed") -> dict[str, Any]:
    """Return a chat message's call as an item of a response."""
    return {
        "id": name,
        "type": "function_call",
        "status": status,
        "call_id": call["id"],
        "name": call["function"]["name"],
        "arguments": call["function"]["arguments"],
    }
