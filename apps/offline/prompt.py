"""Reading the prompt a real model would get: its blocks and its messages (C4)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any

from apps.core.llm.types import PromptMessage, read_block, split_turn_block
from apps.core.text.clean import json_text
from apps.core.text.time_expressions import find_time
from apps.core.times import UTC_ZONE

# To find words for a time where only the words are wanted.
ANY_DAY = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Strategy:
    """The part of E2's strategy that shapes an offline reply; the defaults are those of neutral."""

    tone: str = "professional"
    max_length: int = 300
    proactive_question: bool = False
    emoji_allowed: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """What a reply may draw on. What was said has no key; its value is the text.

    `day`: when it was said, where that is known. `place`: among the recalled ones of its kind, None where not recalled.
    """

    key: str
    value: Any
    day: date | None = None
    place: int | None = None

    @property
    def said(self) -> str:
        """The value as a text."""
        values = self.value if isinstance(self.value, list) else [self.value]
        said = ", ".join(map(json_text, values))
        return said if said.isascii() else said.replace(", ", "、")

    @property
    def text(self) -> str:
        """The memory as one text: a sentence, or ``key: value``."""
        return f"{self.key}: {self.said}" if self.key else self.said


@dataclass(frozen=True, slots=True)
class Form:
    """A form the user submitted (H1)."""

    title: str
    fields: Mapping[str, Any]


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
    today: date | None = None
    session_summaries: tuple[str, ...] = ()


def read_prompt(messages: Sequence[PromptMessage]) -> Prompt:
    """Read `messages`, system message first. A block that is missing or unreadable counts as empty."""
    system = "\n".join(message.content for message in messages if message.role == "system")
    *history, newest = [message.content for message in messages if message.role == "user"] or [""]
    turn, message = split_turn_block(newest)
    forms = read_object(read_block(turn, "working_memory")).get("forms")
    filled = [form for row in (forms if isinstance(forms, list) else []) if (form := _read_form(row))]
    actions = read_object(read_block(turn, "memory_actions"))
    sections = map(str, read_object(read_block(system, "user_profile")).values())
    notes = map(str.strip, (read_block(system, "session_summaries") or "").splitlines())
    return Prompt(
        message=message,
        history=tuple(history),
        strategy=_read_strategy(read_object(read_block(turn, "strategy"))),
        memories=tuple(_read_memories(read_block(turn, "memories"))),
        everything=(read_block(turn, "everything_remembered") or "").strip(),
        actions={name: [str(text) for text in texts] for name, texts in actions.items() if isinstance(texts, list)},
        filled=tuple(Memory(name, value) for form in reversed(filled) for name, value in form.fields.items()),
        profile=tuple(Memory("", text) for text in "\n".join(sections).splitlines() if text.strip()),
        today=_read_day((read_block(turn, "now") or "").strip()),
        submitted=_read_form(read_object(read_block(turn, "form_submitted"))),
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
    places = Counter[str]()
    for row in read_lines(block):
        kind, key, text = str(row.get("kind")), row.get("key"), row.get("user", row.get("text"))
        if isinstance(key, str):
            memory = Memory(key, row.get("value"))
        elif isinstance(text, str):
            # The day of a memory is that of the event, where it tells of one; else the day on which it was said.
            said_then = kind == "message" or not find_time(text, said_at=ANY_DAY, zone=UTC_ZONE)
            memory = Memory("", text, day=_read_day(row.get("day")) if said_then else None)
        else:
            continue
        yield replace(memory, place=places[kind])
        places[kind] += 1


def _read_day(text: Any) -> date | None:
    try:
        return date.fromisoformat(str(text)[:10])
    except ValueError:
        return None


def _read_form(row: Any) -> Form | None:
    match row:
        case {"title": str(title), "fields": dict(fields)}:
            return Form(title, fields)
    return None
