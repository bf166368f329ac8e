"""What clients of the OpenAI-compatible endpoint ask of a reply: where it ends, or that it is passed on (T3). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from apps.core.llm.reading import clean_answer
from apps.core.llm.relaying import read_text
from apps.core.llm.types import PromptMessage
from apps.core.text.clean import cut_to_tokens, estimate_tokens

FinishReason = Literal["stop", "length"]


class ReplyLimit:
    """Passes the text of a reply on until it ends; what may yet become a stop sequence is held back.

    The model writes the reply inside a JSON object, so its server cannot be told: a stop sequence would cut the object.
    """

    def __init__(self, *, stop: Sequence[str] = (), max_tokens: int | None = None) -> None:
        self.finish_reason: FinishReason = "stop"
        self.ended = False
        self._stop = [sequence for sequence in stop if sequence]
        self._max_tokens = max_tokens
        self._held = ""
        self._sent = ""

    def feed(self, text: str) -> str:
        """Take the next piece and return what of it goes out."""
        if self.ended:
            return ""
        self._held += text
        found = [at for sequence in self._stop if (at := self._held.find(sequence)) >= 0]
        if found:
            self.ended = True
            return self._send(self._held[: min(found)])
        kept = max((_overlap(self._held, sequence) for sequence in self._stop), default=0)
        ready, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
        return self._send(ready)

    def close(self) -> str:
        """Return what was held back to the end."""
        rest, self._held = ("", "") if self.ended else (self._held, "")
        return self._send(rest)

    def _send(self, text: str) -> str:
        if self._max_tokens is not None and estimate_tokens(self._sent + text) > self._max_tokens:
            sent = cut_to_tokens(self._sent + text, self._max_tokens)
            text, self.ended, self.finish_reason = sent[len(self._sent) :], True, "length"
        self._sent += text
        return text


def _overlap(text: str, sequence: str) -> int:
    """The length of the longest end of `text` that `sequence` begins with."""
    return next((size for size in range(min(len(text), len(sequence) - 1), 0, -1) if text.endswith(sequence[:size])), 0)


SYSTEM_ROLES = ("system", "developer")


def add_layers(
    body: Mapping[str, Any], system: str, *, block: str, earlier: Sequence[PromptMessage] = ()
) -> dict[str, Any]:
    """Return the request with `system`, which holds the client's own instructions, in place of its system messages.

    One system message, at the beginning: many chat templates take no other. `block`: what stands before the words of
    the last message of a user, after which there may be calls of tools. `earlier`: what is stored of the conversation,
    for a client that sends only what is new.
    """
    messages: Sequence[Mapping[str, Any]] = body["messages"]
    kept = [line for line in messages if line.get("role") not in SYSTEM_ROLES]
    asked = max(at for at, line in enumerate(kept) if line["role"] == "user")
    said = kept[asked]["content"]
    shown = f"{block}\n\n{said}" if isinstance(said, str) else [{"type": "text", "text": block}, *said]
    kept[asked] = {**kept[asked], "content": shown}
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
