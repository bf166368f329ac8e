"""The offline model: a `ChatModel` without a network, deterministic, that reads the prompt a real model would get."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

from apps.core.llm.offline.emotion import read_emotion
from apps.core.llm.offline.extraction import answer_extraction
from apps.core.llm.offline.language import Language, detect_language, take_excerpt
from apps.core.llm.offline.lexicon import load_lexicons
from apps.core.llm.offline.phrases import load_phrases
from apps.core.llm.offline.prompt import Prompt, read_prompt
from apps.core.llm.offline.reconcile import reconcile
from apps.core.llm.offline.reply import compose_reply
from apps.core.llm.offline.statements import read_statements
from apps.core.llm.offline.summary import answer_conversation_summary, answer_session_summary
from apps.core.llm.offline.topics import read_topic, read_variables
from apps.core.llm.types import ModelRequest, PromptMessage

_PIECE = 4


class OfflineModel:
    """A demonstration, and says so: it remembers by rules and recalls what the prompt holds, nothing more."""

    name = "offline"

    def __init__(self) -> None:
        load_lexicons()  # takes a while; better now than during the first message

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Yield the answer to `request` a few characters at a time: JSON if a format is asked for, else text."""
        text = _answer(request)
        for start in range(0, len(text), _PIECE):
            yield text[start : start + _PIECE]
            await asyncio.sleep(0)  # let what was said so far go out, as a model that takes its time would


_BACKGROUND: dict[str, Callable[[Sequence[PromptMessage]], dict[str, Any]]] = {
    "extraction": answer_extraction,
    "session_summary": answer_session_summary,
    "conversation_summary": answer_conversation_summary,
}
"""What answers a request of background work, by the name of its response format."""


def _answer(request: ModelRequest) -> str:
    wanted = request.response_format
    if wanted is None:
        return str(answer_turn(read_prompt(request.messages))["response"])
    answer_background = _BACKGROUND.get(wanted.name)
    answer = answer_background(request.messages) if answer_background else answer_turn(read_prompt(request.messages))
    return json.dumps(answer, ensure_ascii=False)


def answer_turn(prompt: Prompt) -> dict[str, Any]:
    """The whole answer to `prompt`, in the shape and order of E5."""
    submitted = prompt.submitted is not None
    # The message after a form only stands in for one; it says nothing of the user.
    message = "" if submitted else prompt.message
    phrases = load_phrases(_choose_language(prompt))
    entries = read_statements(message, before=read_statements(prompt.history[-1]) if prompt.history else ())
    excerpt = take_excerpt(message)
    emotion = read_emotion(excerpt)
    topic = prompt.submitted.title if prompt.submitted else read_topic(excerpt, phrases, feelings=emotion.indicators)
    return {
        "response": compose_reply(
            replace(prompt, message=excerpt), entries=entries, emotion=emotion, topic=topic, phrases=phrases
        ),
        "emotion": {
            "primary": emotion.primary,
            "confidence": emotion.confidence,
            "indicators": list(emotion.indicators),
        },
        "topic": topic,
        "context_variables": read_variables(excerpt),
        "memory_update": {
            "should_store": bool(entries),
            "entries": [entry.to_wire() for entry in reconcile(entries, prompt.memories)],
        },
    }


def _choose_language(prompt: Prompt) -> Language:
    if prompt.submitted is None:
        # "666" and "？" are in no language: the conversation goes on in its own.
        said = next((text for text in (prompt.message, *reversed(prompt.history)) if any(map(str.isalpha, text))), "")
        return detect_language(said)
    return detect_language(" ".join((prompt.submitted.title, *map(str, prompt.submitted.fields.values()))))
