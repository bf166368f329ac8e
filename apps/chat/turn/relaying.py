"""A client's own request with the layers added (T3): everything else goes to the model's server untouched. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apps.core.llm.reading import clean_answer
from apps.core.llm.relaying import read_text
from apps.core.llm.types import PromptMessage

SYSTEM_ROLES = ("system", "developer")


def add_layers(body: Mapping[str, Any], system: str, *, earlier: Sequence[PromptMessage] = ()) -> dict[str, Any]:
    """Return the request with `system`, which holds the client's own instructions, in place of its system messages.

    One system message, at the beginning: many chat templates take no other. `earlier`: what is stored of the
    conversation, for a client that sends only what is new.
    """
    messages: Sequence[Mapping[str, Any]] = body["messages"]
    kept = [line for line in messages if line.get("role") not in SYSTEM_ROLES]
    role = next((line["role"] for line in messages if line.get("role") in SYSTEM_ROLES), "system")
    before = [{"role": line.role, "content": line.content} for line in earlier]
    return {**body, "messages": [{"role": role, "content": system}, *before, *kept]}


def read_instructions(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a client's system messages."""
    return "\n\n".join(filter(None, (read_text(line) for line in messages if line.get("role") in SYSTEM_ROLES)))


class RelayedAnswer:
    """What is kept of an answer that goes by: its text, and whether it ends with calls of the client's tools."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.model = ""
        self.finished = False
        self.calls_tools = False

    def see(self, event: Mapping[str, Any]) -> None:
        """Read a chunk of a stream, or a whole completion."""
        if isinstance(event.get("model"), str):
            self.model = event["model"]
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if not isinstance(choice, dict) or choice.get("index", 0) != 0:
                continue
            said = choice.get("delta") or choice.get("message") or {}
            if isinstance(said.get("content"), str):
                self._pieces.append(said["content"])
            self.calls_tools = self.calls_tools or bool(said.get("tool_calls") or said.get("function_call"))
            self.finished = self.finished or bool(choice.get("finish_reason"))

    @property
    def text(self) -> str:
        """The text so far, without what a database cannot keep."""
        return clean_answer("".join(self._pieces).replace("\0", ""))
