"""A response as it comes about, the events of its stream, and its IDs (T3). Pure.

Text of an ordinary turn, chunks of a relayed stream and whole completions become the same items, and a client that does
not stream gets what the last event holds.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Event = dict[str, Any]

# Why a response is incomplete, by the finish reason of the chat completion.
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponseBuilder:
    """Makes the events of one response. `created`: Unix time in seconds. `echo`: what is repeated of the request."""

    def __init__(self, *, key: uuid.UUID, created: int, model: str, echo: Mapping[str, Any]) -> None:
        self.parts: dict[str, str] = {}  # of the message, by kind
        self.calls: dict[int, dict[str, Any]] = {}
        self.finish_reason = ""
        self.usage: Mapping[str, Any] | None = None
        self.key = key
        self._base = _make_base(key, created=created, model=model, echo=echo)
        self._order: list[int | None] = []  # None is the message, the others are calls
        self._sequence = -1

    @property
    def text(self) -> str:
        """What the model answered in words."""
        return self.parts.get("output_text", "")

    @property
    def message(self) -> dict[str, Any]:
        """What the model answered, as a chat message."""
        calls = {"tool_calls": list(self.calls.values())} if self.calls else {}
        return {"role": "assistant", "content": self.text or None, **calls}

    def begin(self) -> Iterator[Event]:
        """Announce the response."""
        for kind in ("response.created", "response.in_progress"):
            yield self._make(kind, response={**self._base, "status": "in_progress"})

    def add_text(self, text: str, kind: str = "output_text") -> Iterator[Event]:
        """Add a piece of the reply, or of a refusal."""
        if not text:
            return
        yield from self._open_message(kind)
        self.parts[kind] = self.parts.get(kind, "") + text
        if kind == next(iter(self.parts)):
            more: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
            yield self._make(f"response.{kind}.delta", **self._locate(None), content_index=0, delta=text, **more)

    def add_chat(self, event: Mapping[str, Any]) -> Iterator[Event]:
        """Add a chunk of a chat completion's stream, or a whole completion."""
        if isinstance(event.get("usage"), Mapping):
            self.usage = _convert_usage(event["usage"])
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, Mapping) or choice.get("index", 0) != 0:
                continue
            said = choice.get("delta") or choice.get("message") or {}
            if isinstance(said.get("content"), str):
                yield from self.add_text(said["content"])
            if isinstance(said.get("refusal"), str):
                yield from self.add_text(said["refusal"], "refusal")
            for at, call in enumerate(said.get("tool_calls") or ()):
                yield from self._add_call(call, at)
            if choice.get("finish_reason"):
                self.finish_reason = str(choice["finish_reason"])

    def finish(self, *, usage: Mapping[str, int], **extra: Any) -> Iterator[Event]:
        """Close all that is open and complete the response. `usage`: where the model's server has sent none."""
        reason = _INCOMPLETE.get(self.finish_reason)
        status = "incomplete" if reason else "completed"
        if not self._order:
            yield from self._open_message("output_text")
        for number in self._order:
            yield from self._close_message(status) if number is None else self._close_call(number, status)
        response = {
            **self._base,
            "status": status,
            "incomplete_details": {"reason": reason} if reason else None,
            "output": self._render_output(status),
            "usage": self.usage or _convert_usage(usage),
            **extra,
        }
        yield self._make(f"response.{status}", response=response)

    def fail(self, error: Mapping[str, Any]) -> Iterator[Event]:
        """End with an error in OpenAI's shape, as two events: which of them is looked at depends on the client."""
        code = error["code"] or "server_error"
        flat = {"code": code, "message": error["message"], "param": error["param"]}
        yield self._make("error", **flat, error=dict(error))
        response = {
            **self._base,
            "status": "failed",
            "error": {"code": code, "message": error["message"]},
            "output": self._render_output("incomplete"),
        }
        yield self._make("response.failed", response=response)

    # The message

    def _open_message(self, kind: str) -> Iterator[Event]:
        if None in self._order:
            return
        self._order.append(None)
        place = self._locate(None)
        item = {**self._render_message("in_progress"), "content": []}
        yield self._make("response.output_item.added", output_index=place["output_index"], item=item)
        self.parts[kind] = ""
        yield self._make("response.content_part.added", **place, content_index=0, part=render_part(kind, ""))

    def _close_message(self, status: str) -> Iterator[Event]:
        place = {**self._locate(None), "content_index": 0}
        kind, text = next(iter(self.parts.items()))
        done: dict[str, Any] = {"text": text, "logprobs": []} if kind == "output_text" else {"refusal": text}
        yield self._make(f"response.{kind}.done", **place, **done)
        yield self._make("response.content_part.done", **place, part=render_part(kind, text))
        item = self._render_message(status)
        yield self._make("response.output_item.done", output_index=place["output_index"], item=item)

    def _render_message(self, status: str) -> dict[str, Any]:
        return render_message(self.parts, name=name_message(self.key), status=status)

    # Calls of functions

    def _add_call(self, given: Any, at: int) -> Iterator[Event]:
        """Add a call, or the next piece of one. A server that gives no `index` sends its calls whole."""
        if not isinstance(given, Mapping):
            return
        number = given["index"] if isinstance(given.get("index"), int) else at
        function: Mapping[str, Any] = given["function"] if isinstance(given.get("function"), Mapping) else {}
        if number not in self.calls:
            call_id = given.get("id") or f"call_{self.key.hex}_{number}"
            opened = {"name": str(function.get("name") or ""), "arguments": ""}
            self.calls[number] = {"id": call_id, "type": "function", "function": opened}
            self._order.append(number)
            place = self._locate(number)
            item = self._render_call(number, "in_progress")
            yield self._make("response.output_item.added", output_index=place["output_index"], item=item)
        arguments = function.get("arguments")
        if isinstance(arguments, Mapping):  # some servers parse them
            arguments = json.dumps(arguments, ensure_ascii=False)
        if isinstance(arguments, str) and arguments:
            self.calls[number]["function"]["arguments"] += arguments
            yield self._make("response.function_call_arguments.delta", **self._locate(number), delta=arguments)

    def _close_call(self, number: int, status: str) -> Iterator[Event]:
        place, item = self._locate(number), self._render_call(number, status)
        done = {"name": item["name"], "arguments": item["arguments"]}
        yield self._make("response.function_call_arguments.done", **place, **done)
        yield self._make("response.output_item.done", output_index=place["output_index"], item=item)

    def _render_call(self, number: int, status: str) -> dict[str, Any]:
        return render_call(self.calls[number], name=self._name_call(number), status=status)

    def _name_call(self, number: int) -> str:
        return name_call(self.key, list(self.calls).index(number))

    # All items

    def _render_output(self, status: str) -> list[dict[str, Any]]:
        return [
            self._render_message(status) if number is None else self._render_call(number, status)
            for number in self._order
        ]

    def _locate(self, number: int | None) -> dict[str, Any]:
        name = name_message(self.key) if number is None else self._name_call(number)
        return {"item_id": name, "output_index": self._order.index(number)}

    def _make(self, kind: str, **fields: Any) -> Event:
        self._sequence += 1
        return {"type": kind, "sequence_number": self._sequence, **fields}


def render_stored(
    key: uuid.UUID,
    *,
    created: int,
    model: str,
    status: str,
    output: Sequence[Mapping[str, Any]],
    previous: str | None,
    metadata: Mapping[str, str],
) -> dict[str, Any]:
    """Return a response that was made before. What its request asked for besides was not kept."""
    echo: dict[str, Any] = {
        "previous_response_id": previous,
        "metadata": metadata,
        "instructions": None,
        "parallel_tool_calls": True,
        "store": True,
        "tool_choice": "auto",
        "tools": [],
    }
    failed = {"code": "server_error", "message": "No reply was given."} if status == "failed" else None
    base = _make_base(key, created=created, model=model, echo=echo)
    return {**base, "status": status, "error": failed, "output": list(output)}


def _make_base(key: uuid.UUID, *, created: int, model: str, echo: Mapping[str, Any]) -> dict[str, Any]:
    """What a response has from its beginning on."""
    return {
        "id": name_response(key),
        "object": "response",
        "created_at": created,
        "model": model,
        **echo,
        "error": None,
        "incomplete_details": None,
        "output": [],
        "usage": None,
    }


def _convert_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of a chat completion as those of a response."""
    counts = {name: _read_count(usage, name) for name in ("prompt_tokens", "completion_tokens")}
    return {
        "input_tokens": counts["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": _read_count(usage.get("prompt_tokens_details"), "cached_tokens")},
        "output_tokens": counts["completion_tokens"],
        "output_tokens_details": {
            "reasoning_tokens": _read_count(usage.get("completion_tokens_details"), "reasoning_tokens")
        },
        "total_tokens": sum(counts.values()),
    }


def _read_count(figures: Any, name: str) -> int:
    count = figures.get(name) if isinstance(figures, Mapping) else None
    return count if isinstance(count, int) else 0


# Items


def render_message(parts: Mapping[str, str], *, name: str, status: str = "completed") -> dict[str, Any]:
    """Return the message of a response; `parts`: its text and its refusal, by kind."""
    content = [render_part(kind, text) for kind, text in parts.items()]
    return {"id": name, "type": "message", "status": status, "role": "assistant", "content": content}


def render_part(kind: str, text: str) -> dict[str, Any]:
    """Return the part of a message that is its text (`output_text`) or its `refusal`."""
    if kind == "refusal":
        return {"type": kind, "refusal": text}
    return {"type": kind, "text": text, "annotations": [], "logprobs": []}


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


# IDs: a response has the UUID of the reply that it stored, ``resp_<hex>``. Its message is ``msg_<hex>``, its calls of
# functions are ``fc_<hex>_<number>``.

_RESPONSE = re.compile(r"resp_([0-9a-f]{32})")
_ITEM = re.compile(r"(?:msg_([0-9a-f]{32})|fc_([0-9a-f]{32})_([0-9]{1,4}))")


def name_response(key: uuid.UUID) -> str:
    """Return the response's ID."""
    return f"resp_{key.hex}"


def name_message(key: uuid.UUID) -> str:
    """Return the ID of the response's message."""
    return f"msg_{key.hex}"


def name_call(key: uuid.UUID, number: int) -> str:
    """Return the ID of one of the response's calls, counted from 0."""
    return f"fc_{key.hex}_{number}"


def read_response_name(name: str) -> uuid.UUID | None:
    """Return the UUID in a response's ID, None if it is none of ours."""
    found = _RESPONSE.fullmatch(name)
    return uuid.UUID(found[1]) if found else None


def read_item_name(name: str) -> tuple[uuid.UUID, int | None] | None:
    """Return the response's UUID and the number of the call, None for its message; None if the ID is none of ours."""
    found = _ITEM.fullmatch(name)
    if not found:
        return None
    return (uuid.UUID(found[1]), None) if found[1] else (uuid.UUID(found[2]), int(found[3]))
