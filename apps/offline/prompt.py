"""Reading the prompt a real model would get: the blocks of the system message and the messages after it (C4)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.core.llm.blocks import read_block
from apps.core.llm.types import PromptMessage
from apps.core.text.json_text import json_text


@dataclass(frozen=True, slots=True)
class Strategy:
    """The part of E2's strategy that shapes an offline reply; the defaults are those of neutral."""

    tone: str = "professional"
    max_length: int = 300
    proactive_question: bool = False
    emoji_allowed: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """A recalled memory. Atomic ones have no key; their value is the text."""

    key: str
    value: Any

    @property
    def text(self) -> str:
        """The memory as one text: a sentence, or ``key: value``."""
        values = self.value if isinstance(self.value, list) else [self.value]
        said = ", ".join(map(json_text, values))
        if not said.isascii():
            said = said.replace(", ", "、")
        return f"{self.key}: {said}" if self.key else said


@dataclass(frozen=True, slots=True)
class Form:
    """A form the user submitted (H1)."""

    title: str
    fields: Mapping[str, Any]

    @property
    def shown(self) -> list[tuple[str, str]]:
        """The fields as texts."""
        return [(name, json_text(value)) for name, value in self.fields.items()]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the offline model knows in one call. `history`: what the user said before, oldest first.

    `actions`: texts by what was done with them because the message said so (L9); `filled`: fields of forms.
    """

    message: str
    history: tuple[str, ...] = ()
    strategy: Strategy = Strategy()
    memories: tuple[Memory, ...] = ()
    everything: str = ""
    actions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    filled: tuple[Memory, ...] = ()
    profile: tuple[Memory, ...] = ()
    submitted: Form | None = None
    session_summaries: tuple[str, ...] = ()


def read_prompt(messages: Sequence[PromptMessage]) -> Prompt:
    """Read `messages`, system message first. A block that is missing or unreadable counts as empty."""
    system = "\n".join(message.content for message in messages if message.role == "system")
    said = [message.content for message in messages if message.role == "user"]
    forms = read_object(read_block(system, "working_memory")).get("forms")
    filled = [form for row in (forms if isinstance(forms, list) else []) if (form := _read_form(row))]
    actions = read_object(read_block(system, "memory_actions"))
    sections = map(str, read_object(read_block(system, "user_profile")).values())
    notes = map(str.strip, (read_block(system, "session_summaries") or "").splitlines())
    return Prompt(
        message=said[-1] if said else "",
        history=tuple(said[:-1]),
        strategy=_read_strategy(read_object(read_block(system, "strategy"))),
        memories=tuple(_read_memories(read_block(system, "memories"))),
        everything=(read_block(system, "everything_remembered") or "").strip(),
        actions={name: [str(text) for text in texts] for name, texts in actions.items() if isinstance(texts, list)},
        filled=tuple(Memory(name, value) for form in reversed(filled) for name, value in form.fields.items()),
        profile=tuple(Memory("", text) for text in "\n".join(sections).splitlines() if text.strip()),
        submitted=_read_form(read_object(read_block(system, "form_submitted"))),
        session_summaries=tuple(filter(None, notes)),
    )


def read_object(text: str | None) -> dict[str, Any]:
    """Return the JSON object that `text` is, {} where it is none."""
    try:
        value = json.loads(text or "")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def read_lines(block: str | None) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a block that has one a line."""
    return filter(None, map(read_object, (block or "").splitlines()))


def _read_strategy(row: Mapping[str, Any]) -> Strategy:
    kinds = {"tone": str, "max_length": int, "proactive_question": bool, "emoji_allowed": bool}
    return Strategy(**{name: row[name] for name, kind in kinds.items() if type(row.get(name)) is kind})


def _read_memories(block: str | None) -> Iterator[Memory]:
    for row in read_lines(block):
        match row:
            case {"key": str(key), "value": value}:
                yield Memory(key, value)
            case {"text": str(text)}:
                yield Memory("", text)


def _read_form(row: Any) -> Form | None:
    match row:
        case {"title": str(title), "fields": dict(fields)}:
            return Form(title, fields)
    return None
