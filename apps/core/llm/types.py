"""What the rest of the project knows of a chat model: plain values and one protocol.

A model is anything with ``name`` and ``stream``. It gets the whole prompt as messages and yields text; whether
that text is JSON is the caller's affair (`apps.chat.reply`). The remote client and the offline rules both fit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """A JSON schema the answer should follow; a server that refuses it gets a weaker form, then none (E5)."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a chat model.

    ``messages``: the prompt, system message first. ``response_format``: None asks for plain text.
    ``max_tokens``: upper bound of the answer, None leaves it to the server. ``whole``: an answer that reached it is a
    failure of the reason ``cut_off``, after what there is of it.
    """

    messages: tuple[PromptMessage, ...]
    response_format: ResponseFormat | None = None
    max_tokens: int | None = None
    whole: bool = False


class ChatModel(Protocol):
    """A chat model of any kind."""

    name: str

    def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Yield the answer's text piece by piece.

        Ends normally only when the model said that it is done (a ``finish_reason``, whatever it is).
        Raises `apps.core.errors.ModelUnavailable` when it fails, times out, or the stream is cut (C6).
        """
        ...
