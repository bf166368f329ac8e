"""Put tool calls together that a server streams in pieces, each in its own way. Pure.

OpenAI numbers the calls (``index``), and only a call's first piece has its ``id`` and name. Others leave the number
out, give all calls the number 0, repeat the ID, send a call whole, give arguments as an object, or send a field of
their own in a piece by itself, which they want back with the result (Gemini's ``extra_content``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from apps.core.llm.types import ToolCall

MAX_CALLS = 32
"""In one answer; what comes beyond is a model in a loop."""

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
