"""Reading a model's answer (E5): what is valid is used, what is not is left out, and nothing here raises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pydantic import ValidationError

from apps.chat.emotions import name_emotion
from apps.chat.prompts import EmotionAnswer
from apps.chat.types import UNKNOWN_EMOTION, Emotion, StrategyTable
from apps.conversations.types import MAX_TITLE_CHARS
from apps.core.llm.reading import read_json_object
from apps.memory.long_term.types import ProposedEntry

REPLY_KEY = "response"
ANSWER_KEYS = (REPLY_KEY, "emotion", "topic", "context_variables", "memory_update")
"""What a turn's answer has (E5)."""

MAX_VARIABLE_NAME_CHARS = 100


@dataclass(frozen=True, slots=True)
class Analysis:
    """What came with a reply. `entries` are as the model gave them: the memory app judges each.

    `forget`: numbers of memories in the prompt that a request to forget means (L9).
    """

    emotion: Emotion
    topic: str | None
    variables: Mapping[str, Any]
    entries: tuple[ProposedEntry, ...]
    forget: tuple[int, ...] = ()


NO_ANALYSIS = Analysis(emotion=UNKNOWN_EMOTION, topic=None, variables={}, entries=())
"""What a reply that is no JSON comes with."""


def read_analysis(raw: str, *, table: StrategyTable) -> Analysis:
    """Return what the model's whole answer `raw` says besides the reply text, which was decoded while it streamed.

    Entries are taken only from JSON that needed no repair: half an entry would be a false memory.
    """
    result = read_json_object(raw, keys=ANSWER_KEYS)
    if result.value is None:
        return NO_ANALYSIS
    answer = result.value
    return Analysis(
        emotion=_read_emotion(answer.get("emotion"), table=table),
        topic=_read_topic(answer.get("topic")),
        variables=_read_variables(answer.get("context_variables")),
        entries=() if result.repaired else _read_entries(answer.get("memory_update")),
        forget=() if result.repaired else _read_forget(answer.get("memory_update")),
    )


def _read_emotion(value: Any, *, table: StrategyTable) -> Emotion:
    try:
        emotion = EmotionAnswer.model_validate(value)
    except ValidationError:
        return UNKNOWN_EMOTION
    return name_emotion(
        primary=emotion.primary, confidence=emotion.confidence, indicators=tuple(emotion.indicators), table=table
    )


def _read_topic(value: Any) -> str | None:
    return " ".join(value.split())[:MAX_TITLE_CHARS] or None if isinstance(value, str) else None


def _read_variables(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {}
    return {name: item for name, item in value.items() if 0 < len(name.strip()) <= MAX_VARIABLE_NAME_CHARS}


def _read_entries(value: Any) -> tuple[ProposedEntry, ...]:
    if not isinstance(value, dict) or value.get("should_store") is not True:
        return ()
    entries = value.get("entries")
    if not isinstance(entries, list):
        return ()
    names = [field.name for field in fields(ProposedEntry)]
    return tuple(
        ProposedEntry(**{name: entry.get(name) for name in names}) for entry in entries if isinstance(entry, dict)
    )


def _read_forget(value: Any) -> tuple[int, ...]:
    numbers = value.get("forget") if isinstance(value, dict) else None
    if not isinstance(numbers, list):
        return ()
    return tuple(dict.fromkeys(number for number in numbers if type(number) is int))
