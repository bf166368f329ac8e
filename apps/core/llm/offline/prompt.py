"""Reading the prompt a real model would get: the blocks of the system message and the messages after it (C4)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.core.llm.blocks import read_block
from apps.core.llm.types import PromptMessage


@dataclass(frozen=True, slots=True)
class Strategy:
    """The part of E2's strategy that shapes an offline reply; the defaults are those of neutral."""

    tone: str = "professional"
    max_length: int = 300
    proactive_question: bool = True
    emoji_allowed: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """A recalled memory. Atomic ones have no key; their value is the text."""

    key: str
    value: Any

    @property
    def items(self) -> tuple[str, ...]:
        """The value as the things it names."""
        values = self.value if isinstance(self.value, list) else [self.value]
        return tuple(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in values)


@dataclass(frozen=True, slots=True)
class Form:
    """A form the user submitted (H1)."""

    title: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the offline model knows in one call. ``history``: what the user said before, oldest first."""

    message: str
    history: tuple[str, ...] = ()
    strategy: Strategy = Strategy()
    memories: tuple[Memory, ...] = ()
    forms: tuple[Form, ...] = ()
    submitted: Form | None = None
    session_summaries: tuple[str, ...] = ()


def read_prompt(messages: Sequence[PromptMessage]) -> Prompt:
    """Read `messages`, system message first. A block that is missing or unreadable counts as empty."""
    system = "\n".join(message.content for message in messages if message.role == "system")
    said = [message.content for message in messages if message.role == "user"]
    working = _read_object(system, "working_memory")
    forms = working.get("forms")
    return Prompt(
        message=said[-1] if said else "",
        history=tuple(said[:-1]),
        strategy=_read_strategy(_read_object(system, "strategy")),
        memories=_read_memories(read_block(system, "memories") or ""),
        forms=tuple(form for item in (forms if isinstance(forms, list) else []) if (form := _read_form(item))),
        submitted=_read_form(_read_object(system, "form_submitted")),
        session_summaries=tuple(
            filter(None, map(str.strip, (read_block(system, "session_summaries") or "").split("\n")))
        ),
    )


def _read_object(system: str, name: str) -> dict[str, Any]:
    value = _parse(read_block(system, name) or "")
    return value if isinstance(value, dict) else {}


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _read_strategy(row: Mapping[str, Any]) -> Strategy:
    default = Strategy()
    length = row.get("max_length")
    return Strategy(
        tone=str(row.get("tone", default.tone)),
        max_length=length if isinstance(length, int) and length > 0 else default.max_length,
        proactive_question=bool(row.get("proactive_question", default.proactive_question)),
        emoji_allowed=bool(row.get("emoji_allowed", default.emoji_allowed)),
    )


def _read_memories(block: str) -> tuple[Memory, ...]:
    memories = []
    for row in map(_parse, block.splitlines()):
        match row:
            case {"key": str(key), "value": value}:
                memories.append(Memory(key=key, value=value))
            case {"text": str(text)}:
                memories.append(Memory(key="", value=text))
    return tuple(memories)


def _read_form(row: Any) -> Form | None:
    match row:
        case {"title": str(title), "fields": dict(fields)}:
            return Form(title=title, fields=fields)
    return None
