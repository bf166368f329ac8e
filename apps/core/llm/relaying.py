"""A chat completion request as a client made it, answered by whatever model there is (T3)."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, cast

from apps.core.errors import InvalidInput, ModelUnavailable
from apps.core.llm.reading import AnswerCleaner
from apps.core.llm.types import ChatModel, ModelRequest, PromptMessage, RelayingModel, Role
from apps.core.text.clean import clean_json

# Levels of a delta whose texts may go on in the next one: the arguments of a call are at the fifth.
_MAX_DELTA_DEPTH = 6

_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "assistant": "assistant"}


async def relay(model: ChatModel, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the answer to `body`: chunks of a stream, or one completion, as `RelayingModel.relay` does.

    What no client could read is removed from them: U+0000, lone surrogates, numbers that are not finite. A model
    without a server answers with text. It calls no tools, and raises `InvalidInput` for a response format.
    """
    if hasattr(model, "relay"):
        cleaner = EventCleaner()
        async with aclosing(cast(RelayingModel, model).relay(body)) as events:
            async for event in events:
                yield cleaner.clean(event)
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


class EventCleaner:
    """Removes what JSON in UTF-8 cannot hold from the chunks of a stream, whose texts go on in the next chunk."""

    def __init__(self) -> None:
        self._texts: dict[tuple[Any, ...], AnswerCleaner] = {}

    def clean(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Return the event cleaned. Half an emoji at the end of a text waits for its other half."""
        choices = event.get("choices")
        if isinstance(choices, list):
            event = {**event, "choices": [self._clean_choice(choice, at) for at, choice in enumerate(choices)]}
        try:
            return cast(dict[str, Any], clean_json(event))
        except ValueError as error:
            raise ModelUnavailable(f"The model's answer is {error}.", fields={"reason": "bad_answer"}) from None

    def _clean_choice(self, choice: Any, at: int) -> Any:
        if not isinstance(choice, dict) or not isinstance(choice.get("delta"), dict):
            return choice
        return {**choice, "delta": self._join(choice["delta"], (choice.get("index", at),))}

    def _join(self, value: Any, place: tuple[Any, ...]) -> Any:
        match value:
            case str():
                return self._texts.setdefault(place, AnswerCleaner()).feed(value)
            case dict() if len(place) <= _MAX_DELTA_DEPTH:
                return {name: self._join(item, (*place, name)) for name, item in value.items()}
            case list() if len(place) <= _MAX_DELTA_DEPTH:
                numbers = [item.get("index", at) if isinstance(item, dict) else at for at, item in enumerate(value)]
                return [self._join(item, (*place, str(at))) for at, item in zip(numbers, value, strict=True)]
        return value


def read_text(message: Mapping[str, Any]) -> str:
    """Return the text of a chat message, whose content may be a string, a list of parts, or nothing."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
