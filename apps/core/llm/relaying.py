"""A chat completion request as a client made it, answered by whatever model there is (T3)."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any, cast

from apps.core.errors import InvalidInput
from apps.core.llm.types import ChatModel, ModelRequest, PromptMessage, RelayingModel, Role

_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "assistant": "assistant"}


async def relay(model: ChatModel, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the answer to `body`: chunks of a stream, or one completion, as `RelayingModel.relay` does.

    A model without a server answers with text. It calls no tools, and raises `InvalidInput` for a response format.
    """
    if hasattr(model, "relay"):
        async for event in cast(RelayingModel, model).relay(body):
            yield event
        return
    wanted = body.get("response_format")
    if isinstance(wanted, dict) and wanted.get("type", "text") != "text":
        raise InvalidInput("The offline model follows no response_format. Connect a model.")
    messages = tuple(PromptMessage(_ROLES.get(line["role"], "user"), read_text(line)) for line in body["messages"])
    base = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": model.name}
    if not body.get("stream"):
        text = "".join([piece async for piece in model.stream(ModelRequest(messages=messages))])
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        yield {**base, "object": "chat.completion", "choices": [choice]}
        return
    base["object"] = "chat.completion.chunk"
    async for piece in model.stream(ModelRequest(messages=messages)):
        delta = {"role": "assistant", "content": piece}
        yield {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def read_text(message: Mapping[str, Any]) -> str:
    """Return the text of a chat message, whose content may be a string, a list of parts, or nothing."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
