"""The offline model: a `ChatModel` without a network, deterministic, that reads the prompt a real model would get."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from apps.core.llm.types import ModelRequest
from apps.core.text.keywords import find_topic
from apps.offline.emotion import read_emotion
from apps.offline.extraction import answer_extraction, list_entries
from apps.offline.language import Language, detect_language, fold_in_place, load_rules, take_excerpt
from apps.offline.marks import mark_answer, read_guarded
from apps.offline.prompt import Prompt, read_prompt
from apps.offline.reply import Phrases, Reply
from apps.offline.summary import answer_conversation_summary, answer_session_summary

_PIECE = 4


class OfflineModel:
    """A demonstration, and says so: it remembers by rules and quotes what the prompt holds, nothing more."""

    name = "offline"

    def __init__(self) -> None:
        answer_turn(Prompt(message="I live in York. 我住在上海。"))  # reads the tables: now, not in the first message

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Yield the answer to `request` a few characters at a time: JSON if a format is asked for, else text."""
        text = await asyncio.to_thread(_answer, request)  # its rules take a while over a long message
        for start in range(0, len(text), _PIECE):
            yield text[start : start + _PIECE]
            await asyncio.sleep(0)  # let what was said so far go out, as a model that takes its time would


# The functions that answer prompts of background work, by the name of the response format.
_BACKGROUND: dict[str, Callable[[str], dict[str, Any]]] = {
    "extraction": answer_extraction,
    "session_summary": answer_session_summary,
    "conversation_summary": answer_conversation_summary,
}


def _answer(request: ModelRequest) -> str:
    wanted = request.response_format
    if wanted is None:
        return str(answer_turn(read_prompt(request.messages))["response"])
    answer_background = _BACKGROUND.get(wanted.name)
    asked = "\n".join(message.content for message in request.messages if message.role == "user")
    answer = answer_background(asked) if answer_background else answer_turn(read_prompt(request.messages))
    if guarded := read_guarded(request):
        answer = mark_answer(answer, guarded=guarded)
    return json.dumps(answer, ensure_ascii=False)


def answer_turn(prompt: Prompt) -> dict[str, Any]:
    """The whole answer to `prompt`, in the shape and order of E5."""
    # The message after a form only stands in for one; it says nothing of the user.
    message = "" if prompt.submitted is not None else prompt.message
    language = _choose_language(prompt)
    phrases = Phrases(language)
    excerpt = take_excerpt(message)
    emotion = read_emotion(excerpt)
    topic = _read_topic(prompt, excerpt, feelings=emotion.indicators)
    entries = list_entries(message, [memory.text for memory in prompt.memories])
    return {
        "response": Reply(replace(prompt, message=excerpt), emotion, topic, phrases).compose(),
        "emotion": asdict(emotion),
        "topic": topic,
        "context_variables": {},
        "memory_update": {"should_store": bool(entries), "entries": entries},
    }


def _read_topic(prompt: Prompt, excerpt: str, *, feelings: Sequence[str]) -> str | None:
    """Words of the message, if it tells enough; those of `feelings` say how something is, not what."""
    if prompt.submitted is not None:
        return prompt.submitted.title
    felt, vague = fold_in_place(" ".join(feelings)), load_rules("talk")["vague"]
    earlier = list(map(fold_in_place, prompt.history))
    is_vague = lambda word: word in felt or "’" in word or vague.fullmatch(word)  # noqa: E731
    return find_topic(excerpt, folded=fold_in_place(excerpt), earlier=earlier, is_vague=is_vague)


def _choose_language(prompt: Prompt) -> Language:
    if prompt.submitted is None:
        # "666" and "？" are in no language: the conversation goes on in its own.
        said = next((text for text in (prompt.message, *reversed(prompt.history)) if any(map(str.isalpha, text))), "")
        return detect_language(said)
    return detect_language(" ".join((prompt.submitted.title, *map(str, prompt.submitted.fields.values()))))
