"""Reading a chat completion request: what is the conversation, and what goes to the model untouched (T3). Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from apps.chat.turn.clients import read_instructions
from apps.chat.turn.types import ClientRequest
from apps.conversations.histories import ClientHistory
from apps.conversations.types import RecordedMessage
from apps.core.text.clean import clean_json, find_forbidden
from apps.doors.openai.base import DEFAULT_MODEL, SPACE_MODEL, read_model, refuse

# A tuple, as a client may send a role that has no hash.
ROLES = ("assistant", "developer", "function", "system", "tool", "user")
_SYSTEM = frozenset({"system", "developer"})
_TEXT_PARTS = frozenset({"text", "input_text", "output_text", "refusal"})

# Fields with which the answer is no plain reply any more, so that it goes back as the model's server sends it.
_RELAYED_BY = ("tools", "functions", "logprobs", "audio", "prediction", "web_search_options", "modalities")

# Fields that are read here; all others are parameters of the model.
_OURS = frozenset(
    {"messages", "model", "stream", "stream_options", "store", "metadata", "user", "safety_identifier", "stop", "n"}
    | {"max_tokens", "max_completion_tokens", "response_format", "tool_choice", "parallel_tool_calls", "function_call"}
    | {*_RELAYED_BY, "top_logprobs"}
)

# Fields that say who asks and what is stored here: the model's server stores nothing for it and knows nobody.
_ADDRESSED_TO_US = frozenset({"store", "metadata", "user", "safety_identifier"})


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A chat completion request. `conversation` is None where there is no message of a user to answer."""

    body: Mapping[str, Any]
    stream: bool
    include_usage: bool
    stored: bool
    conversation: ClientRequest | None

    @property
    def relayed_body(self) -> dict[str, Any]:
        """The request as it goes to the model's server, without what is addressed to us."""
        return without_ours(self.body)


def without_ours(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request without the fields that are addressed to us."""
    return {name: value for name, value in body.items() if name not in _ADDRESSED_TO_US}


def read_chat_request(body: Any, *, whole: bool) -> ChatRequest:
    """Return what `body` asks for. Raises `InvalidInput` naming the parameter in ``fields``.

    `whole`: the client always sends all of a conversation.
    """
    if not isinstance(body, Mapping):
        refuse("The body must be a JSON object.", "body")
    body = clean_body(body, name="messages")
    messages = _read_messages(body.get("messages"))
    stream = _read_flag(body, "stream", default=False)
    options = body.get("stream_options")
    if options is not None and not isinstance(options, Mapping):
        refuse("stream_options must be an object.", "stream_options")
    stored = _read_flag(body, "store", default=True)
    model = read_model(body)
    is_ours = model == DEFAULT_MODEL or model.startswith(SPACE_MODEL)
    kept = {**body, "model": "" if is_ours else model}
    return ChatRequest(
        body=kept,
        stream=stream,
        include_usage=bool(options and options.get("include_usage")),
        stored=stored,
        conversation=_read_conversation(kept, messages, stored=stored, whole=whole),
    )


def _read_conversation(
    body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], *, stored: bool, whole: bool
) -> ClientRequest | None:
    asked = max((at for at, line in enumerate(messages) if line["role"] == "user"), default=None)
    if asked is None:
        return None
    message = render_content(messages[asked])
    if not message.strip():
        refuse("The last message of the user must not be blank.", "messages")
    given = ClientHistory(
        before=tuple(
            RecordedMessage(role=line["role"], content=text)
            for line in messages[:asked]
            if line["role"] in ("user", "assistant") and (text := render_content(line)).strip()
        ),
        message=message,
        whole=whole,
        has_results=any(map(_is_about_tools, messages[asked + 1 :])),
        beginning=_read_beginning(messages[asked + 1 :]),
    )
    relayed = given.has_results or given.beginning or _is_relayed(body) or not all(map(_is_plain, messages))
    limit = _read_limit(body)
    stop = _read_stop(body)
    return ClientRequest(
        given=given,
        instructions=read_instructions(messages),
        model=body["model"],
        options={name: value for name, value in body.items() if name not in _OURS},
        stop=stop,
        max_tokens=limit,
        relayed=without_ours(body) if relayed else None,
        stored=stored,
    )


def clean_body(body: Mapping[str, Any], *, name: str) -> dict[str, Any]:
    """Return the request without what can be neither stored nor sent: U+0000 and lone surrogates.

    `name`: of the field with the messages. Raises `InvalidInput` only for a new message of the user: what its client
    repeats, of earlier messages and results of tools, it cannot change.
    """
    for field, value in body.items():
        if isinstance(value, float) and not math.isfinite(value):
            refuse(f"{field} must be a finite number.", str(field))
    given = body.get(name)
    if found := find_forbidden(_find_new_message(given) if isinstance(given, list) else given):
        refuse(f"The message must not contain {found}.", name)
    try:
        return cast(dict[str, Any], clean_json(body))
    except ValueError as error:
        refuse(f"The body is {error}.", "body")


def _find_new_message(lines: Sequence[Any]) -> Any:
    """The message of the user at the end of these, None where calls of tools follow it: then it was sent before."""
    for line in reversed(lines):
        if not isinstance(line, Mapping) or line.get("role") not in ROLES or _is_about_tools(line):
            return None
        if line["role"] == "user":
            return line
    return None


def _read_beginning(after: Sequence[Mapping[str, Any]]) -> str:
    """The beginning of the reply, where the client's messages end with one: the model is to continue it."""
    said = [line for line in after if line["role"] not in _SYSTEM]
    text = render_content(said[-1]) if said and not _is_about_tools(said[-1]) else ""
    return text if text.strip() else ""


def _is_about_tools(message: Mapping[str, Any]) -> bool:
    return message["role"] in ("tool", "function") or bool(message.get("tool_calls") or message.get("function_call"))


def _is_relayed(body: Mapping[str, Any]) -> bool:
    form = body.get("response_format")
    if form is not None and not (isinstance(form, Mapping) and form.get("type") == "text"):
        return True
    count = body.get("n")
    return any(body.get(name) for name in _RELAYED_BY) or (count is not None and count != 1)


def _is_plain(message: Mapping[str, Any]) -> bool:
    """Whether the message is text and nothing else."""
    if _is_about_tools(message):
        return False
    content = message.get("content")
    return isinstance(content, str) or (
        isinstance(content, list) and all(part.get("type") in _TEXT_PARTS for part in content)
    )


def render_content(message: Mapping[str, Any]) -> str:
    """Return a message as it is stored: its text, and a mark such as ``[image]`` for anything else."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(map(_render_part, content or ()))


def _render_part(part: Mapping[str, Any]) -> str:
    kind = str(part.get("type", ""))
    if kind in _TEXT_PARTS:
        return str(part.get("text") or part.get("refusal") or "")
    name = next((word for word in ("image", "audio", "video", "file") if word in kind), "attachment")
    return f"[{name}]"


def _read_messages(messages: Any) -> list[Mapping[str, Any]]:
    if not isinstance(messages, list) or not messages:
        refuse("messages must be a list of at least one message.", "messages")
    for at, line in enumerate(messages):
        name = f"messages[{at}]"
        if not isinstance(line, Mapping) or line.get("role") not in ROLES:
            refuse(f"{name}.role must be one of {', '.join(ROLES)}.", "messages")
        content = line.get("content")
        if content is None:
            if line["role"] in ("user", "system", "developer"):
                refuse(f"{name}.content must be a string or a list of parts.", "messages")
        elif isinstance(content, list):
            for part in content:
                if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
                    refuse(f"{name}.content must hold parts with a type.", "messages")
                if part["type"] in _TEXT_PARTS and not isinstance(part.get("text", part.get("refusal")), str):
                    refuse(f"{name}.content holds a text part without text.", "messages")
        elif not isinstance(content, str):
            refuse(f"{name}.content must be a string or a list of parts.", "messages")
    return list(messages)


def _read_flag(body: Mapping[str, Any], name: str, *, default: bool) -> bool:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        refuse(f"{name} must be true or false.", name)
    return value


def _read_limit(body: Mapping[str, Any]) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            refuse(f"{name} must be a whole number of at least 1.", name)
        return value
    return None


def _read_stop(body: Mapping[str, Any]) -> tuple[str, ...]:
    value = body.get("stop")
    if value is None:
        return ()
    sequences = [value] if isinstance(value, str) else value
    if not isinstance(sequences, list) or not all(isinstance(item, str) for item in sequences):
        refuse("stop must be a string or a list of strings.", "stop")
    return tuple(sequences)
