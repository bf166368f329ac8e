"""A turn on the wire (SPEC, API: POST messages), the same for JSON, for the stream's `done` and for a stored turn."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from apps.accounts.models import User
from apps.chat.context.types import ATOMIC, MESSAGE
from apps.chat.models import Turn
from apps.chat.turn.command_record import DELETED, describe_commands
from apps.chat.turn.tool_use.record import calls_to_wire, list_recalled
from apps.conversations.models import Message
from apps.conversations.rounds import read_rounds
from apps.conversations.serializers import MessageSerializer
from apps.core.text.client_blocks import cut_client_blocks
from apps.core.text.json_text import readable_text
from apps.memory.long_term.types import Action
from apps.memory.selectors import WorkingMemorySnapshot, cut_round, get_atomic_memories_by_id, get_memories_by_id

_MESSAGES = MessageSerializer()
"""One for all messages: to make its fields takes far longer than to use them."""


def message_to_wire(message: Message) -> dict[str, Any]:
    """Return the message as clients see it."""
    return dict(_MESSAGES.to_representation(message))


def turn_to_wire(turn: Turn, *, user: User, working: WorkingMemorySnapshot | None) -> dict[str, Any]:
    """Return a stored turn as it was answered; of memories deleted since, only that they are."""
    used: list[dict[str, Any]] = turn.memories_used
    updates: list[dict[str, Any]] = turn.memory_updates
    # What tools found is among the used ones, too.
    ids = {uuid.UUID(item["id"]) for item in [*used, *updates] if item.get("kind") not in (ATOMIC, MESSAGE)}
    memories = get_memories_by_id(user, ids) if ids else {}
    texts = {str(key): f"{memory.key}: {readable_text(memory.value)}" for key, memory in memories.items()}
    atomic_ids = [uuid.UUID(item["id"]) for item in used if item["kind"] == ATOMIC]
    if atomic_ids:
        atomic = get_atomic_memories_by_id(user, atomic_ids)
        texts |= {str(key): memory.content for key, memory in atomic.items()}
    asked = cut_client_blocks(turn.user_message.content) if turn.user_message else ""
    rounds = read_rounds(user, [uuid.UUID(item["id"]) for item in used if item["kind"] == MESSAGE])
    texts |= {key: cut_round(past.said, past.reply, message=asked)[0] for key, past in rounds.items()}
    known = {
        str(key): {"category": memory.category, "key": memory.key, "value": memory.value}
        for key, memory in memories.items()
    }
    gone = {"category": None, "key": DELETED, "value": None}
    return {
        "user_message": message_to_wire(turn.user_message) if turn.user_message else None,
        "assistant_message": message_to_wire(turn.assistant_message),
        "emotion": turn.emotion,
        "strategy": turn.strategy,
        "memories_used": [
            {"id": item["id"], "kind": item["kind"], "text": texts.get(item["id"], DELETED), **item}
            for item in list_recalled(used)
        ],
        "memory_updates": [{**item, **known.get(item["id"], gone)} for item in updates],
        "commands": describe_commands(turn),
        "tool_calls": calls_to_wire(turn.tool_calls, texts=texts),
        "working_memory": working.to_wire() if working else None,
    }


def without(items: Iterable[Mapping[str, Any]], *names: str) -> list[dict[str, Any]]:
    """Return copies of the items without the named fields: what a turn keeps is references, never remembered text."""
    return [{key: value for key, value in item.items() if key not in names} for item in items]


def describe_remembered(updates: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return a reply's metadata (L8): what it added to memory, in words; nothing that is pending, gone or old news."""
    return {
        "remembered": [
            f"{update['key']}: {readable_text(update['value'])}"
            for update in updates
            if update["action"] in (Action.CREATED, Action.SUPERSEDED) and update["value"] not in (None, [])
        ]
    }
