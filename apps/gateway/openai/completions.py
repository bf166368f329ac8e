"""Turns as chat completions on the wire: whole, and as chunks of a stream. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.core.text.tokens import estimate_tokens

EXTENSION = "jiyi"
"""The field in which a completion tells what OpenAI's has no place for."""

_TOLD = ("emotion", "strategy", "memories_used", "memory_updates", "commands", "tool_calls")


@dataclass(frozen=True, slots=True)
class Completion:
    """What all chunks of one completion have in common. `created` is a Unix time in seconds."""

    id: str
    model: str
    created: int

    def chunk(
        self, delta: Mapping[str, Any], *, finish_reason: str | None = None, usage: Any = ..., **extra: Any
    ) -> dict[str, Any]:
        """Return one chunk. `usage`: null in all but the last chunk of a stream that was asked for it."""
        choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish_reason}
        return self._envelope("chat.completion.chunk", [choice], usage=usage, **extra)

    def usage_chunk(self, usage: Mapping[str, int]) -> dict[str, Any]:
        """Return the last chunk of a stream that was asked for its usage: without choices."""
        return self._envelope("chat.completion.chunk", [], usage=usage)

    def whole(self, text: str, *, finish_reason: str, usage: Mapping[str, int], **extra: Any) -> dict[str, Any]:
        """Return the completion of a request that is not streamed."""
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}
        return self._envelope("chat.completion", [choice], usage=usage, **extra)

    def _envelope(self, kind: str, choices: list[Any], *, usage: Any, **extra: Any) -> dict[str, Any]:
        base = {"id": self.id, "object": kind, "created": self.created, "model": self.model, "choices": choices}
        return {**base, **({} if usage is ... else {"usage": usage}), **extra}


def count_usage(*, prompt_tokens: int, text: str) -> dict[str, int]:
    """Return estimated figures: the model's server counts the JSON around the reply, too."""
    completion_tokens = estimate_tokens(text)
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def describe_turn(result: Mapping[str, Any], *, session_id: str | None) -> dict[str, Any]:
    """Return the extension: the session and what the turn found, as in REST's answer."""
    message = result["assistant_message"]
    told = {name: result[name] for name in _TOLD}
    return {EXTENSION: {"session_id": session_id, "message_id": message["id"] if message else None, **told}}


def list_chunks(event: Mapping[str, Any], *, include_usage: bool) -> list[Mapping[str, Any]]:
    """Return what an event of the model's server is in the stream of a client: one chunk, or none.

    Servers send chunks without choices unasked: clients read the first choice of each, unless they asked for the usage.
    """
    if event.get("choices") == [] and not (include_usage and event.get("usage")):
        return []
    return [_as_chunk(event) if event.get("object") == "chat.completion" else event]


def _as_chunk(completion: Mapping[str, Any]) -> dict[str, Any]:
    """Return a whole completion as the one chunk of a stream, for a server that does not stream."""
    choices = [
        {**{name: value for name, value in choice.items() if name != "message"}, "delta": choice.get("message", {})}
        for choice in completion["choices"]
        if isinstance(choice, dict)
    ]
    return {**completion, "object": "chat.completion.chunk", "choices": choices}
