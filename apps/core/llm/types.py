"""What the rest of the project knows of a chat model: plain values and one protocol.

A model is anything with ``name`` and ``stream``. It gets the whole prompt as messages and yields text; whether
that text is JSON is the caller's affair (`apps.chat.reply`). The remote client and the offline rules both fit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
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
    failure of the reason ``cut_off``, after what there is of it. ``model``: another model of the same server than the
    configured one. ``options``: further parameters of the call, such as ``temperature``, sent as they are.
    """

    messages: tuple[PromptMessage, ...]
    response_format: ResponseFormat | None = None
    max_tokens: int | None = None
    whole: bool = False
    model: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


class ChatModel(Protocol):
    """A chat model of any kind."""

    name: str

    def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Yield the answer's text piece by piece.

        Ends normally only when the model said that it is done (a ``finish_reason``, whatever it is).
        Raises `apps.core.errors.ModelUnavailable` when it fails, times out, or the stream is cut (C6).
        """
        ...


class RelayingModel(ChatModel, Protocol):
    """A chat model that passes requests of clients on to a server."""

    def relay(self, body: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Send a chat completion request as a client made it, and yield what the server answers, unchanged.

        `body`: the whole request; without a ``model`` the configured one is asked. With ``stream`` the chunks of the
        stream come as they are, else one completion. Raises `ModelUnavailable` as `stream` does; where the server
        refuses the request itself, its answer is in ``fields["refusal"]``: ``{"status", "error"}``.
        """
        ...
