"""What is kept of a turn, and the turn on the wire: references, revisions and figures, and no remembered text (M6).

`apps.chat.inspect` rebuilds the prompt from it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.utils.crypto import salted_hmac

from apps.accounts.models import User
from apps.chat.context.build import assemble
from apps.chat.context.types import ATOMIC, MESSAGE, ClientPrompt
from apps.chat.models import Turn
from apps.chat.prompts import NO_ANALYSIS, Analysis
from apps.chat.turn.commands import DELETED, describe_commands
from apps.chat.turn.tool_use.record import calls_to_wire, list_recalled
from apps.chat.turn.types import OpenTurn
from apps.conversations.models import Message
from apps.conversations.rounds import read_rounds
from apps.conversations.serializers import MessageSerializer
from apps.core.text.client_blocks import cut_client_blocks
from apps.core.text.json_text import readable_text
from apps.memory import kinds as memory_kinds
from apps.memory.keyed import Action
from apps.memory.recall.rounds import cut_round
from apps.memory.working import WorkingMemorySnapshot

COMPOSED = "composed"
"""The answer of a turn that composed its reply itself: no model was asked (L9)."""


NOT_KEPT = "(instructions of the application, not kept)"
"""What stands in a rebuilt prompt for a client's system messages, which are the application's and not the person's."""

DIGEST_CHARS = 32
"""128 bits: what is compared with it was made by us."""


def describe_layers(turn: OpenTurn) -> list[dict[str, Any]]:
    """Return what each layer held, by reference, and a digest of its text, a client's instructions left out."""
    given = turn.context.given
    kept = turn.context.layers
    if given.client and given.client.instructions:
        client = replace(given.client, instructions=NOT_KEPT)
        kept = assemble(replace(given, client=client)).layers
    return [
        {
            "index": layer.index,
            "name": layer.name,
            "tokens": layer.tokens,
            "refs": list(layer.refs),
            "digest": digest_layer(user_id=turn.user.pk, content=kept_layer.content),
        }
        for layer, kept_layer in zip(turn.context.layers, kept, strict=True)
    ]


def describe_sources(
    turn: OpenTurn, *, analysis: Analysis | None, working: WorkingMemorySnapshot | None
) -> dict[str, Any]:
    """Return under what the context was made, and the revisions of what it was made from.

    `opened_at`: when that was read. `now`, `zone`: the time as the model saw it. `settings`: those that were not
    at their default. `profile`: its version. `entries`: how many each shared context had. `days`: of each session's
    summary. `working` and `working_after`: the revisions before the turn and with what it found (`working`, None where
    it is gone). `answer`: whether the model's answer could be read as JSON, or was taken as text, or "composed" where
    no model was asked. `everything`: whether the prompt held all that is remembered, as the message asked for it.
    `temporary`: whether it said that nothing is kept (C7). `tools`: those that the model could call. `files`: how much
    of each attached file was shown.
    `client`: what a client of the OpenAI-compatible endpoint brought along (T3), None for the others.
    """
    given = turn.context.given
    return {
        "opened_at": turn.opened_at.astimezone(UTC).isoformat(),
        "now": given.now.isoformat(),
        "zone": turn.settings.timezone,
        "budget": given.budget,
        "context_limit": given.context_limit,
        "settings": turn.settings.model_dump(mode="json", exclude_defaults=True),
        "emotions": list(given.emotions),
        "profile": given.profile.version if given.profile else None,
        "entries": {case.id: len(case.entries) for case in given.cases},
        "days": {note.id: note.day.isoformat() for note in given.session_notes},
        "working": _describe_working(turn.working),
        "working_after": _describe_working(working),
        "cut": [{"kind": cut.kind, "tokens": cut.tokens, "refs": list(cut.refs)} for cut in turn.context.cut],
        "answer": _describe_answer(turn, analysis),
        "everything": given.everything,
        "temporary": given.temporary,
        "tools": list(given.tools),
        "files": [{"id": file.id, "chars": len(file.text)} for file in given.files],
        "client": _describe_client(given.client),
    }


def _describe_client(client: ClientPrompt | None) -> dict[str, bool] | None:
    if client is None:
        return None
    return {
        "instructions": bool(client.instructions),
        "history": client.history is not None,
        "relayed": client.relayed,
    }


def _describe_answer(turn: OpenTurn, analysis: Analysis | None) -> str | None:
    if turn.reply is not None:
        return COMPOSED
    if analysis is None:
        return None
    return "text" if analysis is NO_ANALYSIS else "json"


def digest_layer(*, user_id: int, content: str) -> str:
    """Return what tells whether a rebuilt layer is the one that was sent.

    Keyed with the installation's secret and the person, so that no text can be guessed from it (L6).
    """
    return salted_hmac(f"jiyi.layer.{user_id}", content, algorithm="sha256").hexdigest()[:DIGEST_CHARS]


def _describe_working(working: WorkingMemorySnapshot | None) -> dict[str, Any] | None:
    """Name a revision of a working memory; `empty`: it said nothing, so that nothing of it can have been deleted."""
    if working is None:
        return None
    return {
        "started_at": _write(working.created_at),
        "revision": working.revision,
        "empty": not (working.current_topic or working.variables.values),
    }


def _write(time: datetime) -> str:
    return time.astimezone(UTC).isoformat()


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
    memories = memory_kinds.LONG_TERM.by_ids(user, ids) if ids else {}
    texts = {str(key): f"{memory.key}: {readable_text(memory.value)}" for key, memory in memories.items()}
    atomic_ids = [uuid.UUID(item["id"]) for item in used if item["kind"] == ATOMIC]
    if atomic_ids:
        atomic = memory_kinds.ATOMIC.by_ids(user, atomic_ids)
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
