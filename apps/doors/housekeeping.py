"""Recognize requests of a chat client that are not conversation: titles, tags, follow-up questions, search queries.

Chat clients send these to the endpoint that they chat with. They are recognized by the header ``X-Task``, and without
it by the clients' own prompts: fixed words in a fixed place, around a copy of the conversation, as no person would
write them (`housekeeping.toml`). A message that merely contains, quotes or discusses such a prompt stays a
conversation: a missed task costs a session in a list, a false one loses what somebody said.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

# A task that the client names and we do not know.
OTHER = "other"

Place = Literal["only", "system", "last_user", "last_system"]


@dataclass(frozen=True)
class Prompt:
    """How a prompt of a client looks; all of it has to match."""

    task: str
    place: Place
    begins: str = ""
    holds: tuple[str, ...] = ()
    ends: str = ""


_DATA = tomllib.loads(Path(__file__).with_name("housekeeping.toml").read_text())
OPEN_WEBUI_TASKS: Mapping[str, str] = _DATA["open_webui_tasks"]
PROMPTS = tuple(Prompt(**row) for rows in _DATA["prompts"].values() for row in rows)

SYSTEM_ROLES = ("system", "developer")
CHERRY_STUDIO_MESSAGES = 5
CHERRY_STUDIO_FIELDS = frozenset({"role", "mainText", "files"})


@dataclass(frozen=True)
class Message:
    """Who says something in a request, and its text."""

    role: str
    text: str


def read_task(*, headers: Mapping[str, str], body: Mapping[str, Any]) -> str | None:
    """Return the name of the task that a request asks for, or None for a conversation.

    `headers`: of the HTTP request, in any case. `body`: of ``/v1/chat/completions`` or ``/v1/responses``, as parsed and
    not yet validated. Names: title, tags, follow_ups, queries, autocompletion, emoji, image_prompt, summary,
    translation, language, tool_choice, merged_reply, diagram, description, other.
    """
    return _read_declared(headers, body) or _read_prompt(list(_list_messages(body)))


def _read_declared(headers: Mapping[str, str], body: Mapping[str, Any]) -> str | None:
    """What the client itself says: the header, or Open WebUI's name of the task in ``metadata``."""
    header = next((value for name, value in headers.items() if name.lower() == "x-task"), "").strip().lower()
    if header:
        known = {*OPEN_WEBUI_TASKS.values(), *(prompt.task for prompt in PROMPTS)}
        return OPEN_WEBUI_TASKS.get(header) or (header if header in known else OTHER)
    metadata = body.get("metadata")
    task = metadata.get("task") if isinstance(metadata, Mapping) else None
    # `metadata` is anybody's to fill: only a name that is unmistakably Open WebUI's counts.
    return OPEN_WEBUI_TASKS.get(task) if isinstance(task, str) and task.endswith("_generation") else None


def _read_prompt(messages: list[Message]) -> str | None:
    texts = _place_texts(messages)
    for prompt in PROMPTS:
        if any(_matches(prompt, text) for text in texts[prompt.place]):
            return prompt.task
    if texts["system"] and any(_is_cherry_studio_transcript(text) for text in texts["only"]):
        return "title"
    return None


def _place_texts(messages: list[Message]) -> dict[Place, list[str]]:
    """The texts of a request that can be a prompt, by where they stand."""
    spoken = [message for message in messages if message.role not in SYSTEM_ROLES]
    texts: dict[Place, list[str]] = {
        "only": [message.text.strip() for message in spoken if message.role == "user"] if len(spoken) == 1 else [],
        "system": [message.text.strip() for message in messages if message.role in SYSTEM_ROLES],
        "last_user": [],
        "last_system": [],
    }
    if any(message.role == "assistant" for message in messages[:-1]):
        last = messages[-1]
        if last.role == "user":
            texts["last_user"] = [last.text.strip()]
        elif last.role in SYSTEM_ROLES:
            texts["last_system"] = [last.text.strip()]
    return texts


def _matches(prompt: Prompt, text: str) -> bool:
    return (
        text.startswith(prompt.begins) and text.endswith(prompt.ends) and all(phrase in text for phrase in prompt.holds)
    )


def _is_cherry_studio_transcript(text: str) -> bool:
    """Whether a text is the JSON in which Cherry Studio gives a conversation to be named, in whatever language."""
    if not text.startswith('[{"role":"'):
        return False
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return 0 < len(items) <= CHERRY_STUDIO_MESSAGES and all(
        isinstance(item, dict)
        and {"role", "mainText"} <= item.keys() <= CHERRY_STUDIO_FIELDS
        and isinstance(item["mainText"], str)
        for item in items
    )


def _list_messages(body: Mapping[str, Any]) -> Iterator[Message]:
    """The messages of a request to either endpoint; what is not of their form is left out."""
    instructions = body.get("instructions")
    if isinstance(instructions, str):
        yield Message("system", instructions)
    items = body.get("messages", body.get("input"))
    if isinstance(items, str):
        yield Message("user", items)
    for item in items if isinstance(items, list) else []:
        if isinstance(item, Mapping) and isinstance(item.get("role"), str):
            yield Message(item["role"], _read_text(item.get("content")))


def _read_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))
