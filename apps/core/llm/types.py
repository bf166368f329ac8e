"""Describe chat models to the rest of the project: plain values, protocols, and delimited data in a prompt (C5).

A model is anything with ``name`` and ``stream``. It gets the whole prompt as messages and yields text; whether
that text is JSON is the caller's affair (`apps.chat.prompts`). The remote client and the offline rules both fit. What
only a server's model can do has a protocol of its own.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from apps.core.llm.metering import Job

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Blame:
    """What somebody who reads about a failure can change, and what was expected."""

    address: str = "OPENAI_BASE_URL"
    key: str = "OPENAI_API_KEY"
    model: str = "CHAT_MODEL"
    answer: str = "chat completion"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may call. ``parameters``: the JSON schema of its arguments, an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as the model made it. ``arguments``: what should be a JSON object, and may be anything.

    ``extra``: further fields of the server, some of which it wants back with the result.
    """

    id: str
    name: str
    arguments: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt. ``calls``: of an assistant's message; ``call_id``: which call a tool's answers."""

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


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
    ``tools``: what the model may call; only for `ToolCallingModel.converse`. ``job``: what it is for, as the ledger of
    calls has it (Q1).
    """

    messages: tuple[PromptMessage, ...]
    response_format: ResponseFormat | None = None
    max_tokens: int | None = None
    whole: bool = False
    model: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[ToolSpec, ...] = ()
    job: Job = "reply"


class ChatModel(Protocol):
    """A chat model of any kind."""

    name: str

    def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Yield the answer's text piece by piece.

        Ends normally only when the model said that it is done (a ``finish_reason``, whatever it is).
        Raises `apps.core.errors.ModelUnavailable` when it fails, times out, or the stream is cut (C6).
        """
        ...


class ToolCallingModel(ChatModel, Protocol):
    """A chat model that can call tools."""

    def takes_tools(self, model: str = "") -> bool:
        """Whether to offer tools: False once the server has refused them for `model` ("": the configured one)."""
        ...

    def converse(self, request: ModelRequest) -> AsyncIterator[str | ToolCall]:
        """Yield text as `stream` does, and after it the calls of ``request.tools``, in the model's order.

        A call may name no such tool and have any arguments. Where the server refuses tools, the model is asked without.
        """
        ...


class RelayingModel(ChatModel, Protocol):
    """A chat model that passes requests of clients on to a server."""

    def relay(self, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """Send a chat completion request as a client made it, and yield what the server answers, unchanged.

        `body`: the whole request; without a ``model`` the configured one is asked. With ``stream`` the chunks of the
        stream come as they are, else one completion. Raises `ModelUnavailable` as `stream` does; where the server
        refuses the request itself, its answer is in ``fields["refusal"]``: ``{"status", "error"}``.
        """
        ...


def escape(text: str) -> str:
    """Make `text` unable to end the block that holds it."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """Undo `escape`."""
    return text.replace("&lt;", "<").replace("&gt;", ">")


def render_block(name: str, body: str) -> str:
    """Return the block as the prompt holds it; `body` is escaped here."""
    return f"<{name}>\n{escape(body)}\n</{name}>"


def read_block(prompt: str, name: str) -> str | None:
    """Return the unescaped body of the first block called `name`, or None if the prompt has none."""
    found = re.search(rf"<{re.escape(name)}>\n(.*?)\n</{re.escape(name)}>", prompt, re.DOTALL)
    return unescape(found.group(1)) if found else None


# What belongs to one turn stands before the words of its message (C4). Should it come in with a message, as where two
# installations are chained, `cut_client_blocks` takes it for a client's block: it is neither searched nor learned from.
_TURN_START, _TURN_END = "<turn_context>\n", "\n</turn_context>"


def render_turn_block(blocks: str) -> str:
    """Return the block before the words of the newest message, "" where there is nothing in it.

    `blocks`: of `render_block`. As their bodies are escaped, the first closing tag of a message is ours, and whatever
    its words look like comes after it.
    """
    return f"{_TURN_START}{blocks}{_TURN_END}" if blocks else ""


def extend_turn_block(content: str, more: str) -> str:
    """Return a message that begins with such a block, with `more` at the end of the block."""
    blocks, end, words = content.partition(_TURN_END)
    return f"{blocks}\n\n{more}{end}{words}"


def split_turn_block(content: str) -> tuple[str, str]:
    """Return what the block before the words of a message holds, "" where it has none, and the words."""
    blocks, end, words = content.partition(_TURN_END)
    if not end or not blocks.startswith(_TURN_START):
        return "", content
    return blocks.removeprefix(_TURN_START), words.lstrip("\n")
