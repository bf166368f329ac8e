"""What is kept of a turn, and the turn on the wire: references, revisions and figures, and no remembered text (M6).

`apps.chat.inspect` rebuilds the prompt from it.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.utils.crypto import salted_hmac

from apps.accounts.models import User
from apps.chat.context.build import assemble
from apps.chat.context.types import ATOMIC, LONG_TERM, MESSAGE
from apps.chat.models import Turn
from apps.chat.prompts import NO_ANALYSIS, Analysis
from apps.chat.turn.commands import DELETED, describe_commands
from apps.chat.turn.tools import Outcome, ToolRun
from apps.chat.turn.types import OpenTurn
from apps.conversations.models import Message
from apps.conversations.rounds import read_rounds
from apps.conversations.serializers import MessageSerializer
from apps.core.text.clean import readable_text
from apps.core.text.fold import fold
from apps.core.text.keywords import match_words
from apps.core.text.segment import is_cjk
from apps.core.text.sentences import cut_client_blocks
from apps.memory import kinds as memory_kinds
from apps.memory.keyed import Action
from apps.memory.recall.rounds import cut_round
from apps.memory.working import WorkingMemorySnapshot

# The answer of a turn that composed its reply itself: no model was asked (L9).
COMPOSED = "composed"


# What stands in a rebuilt prompt for a client's system messages, which are the application's and not the person's.
NOT_KEPT = "(instructions of the application, not kept)"
# 128 bits: what is compared with it was made by us.
DIGEST_CHARS = 32


def describe_layers(turn: OpenTurn) -> list[dict[str, Any]]:
    """Return what each layer held, by reference, and a digest of its text, instructions of the application left out."""
    given = turn.context.given
    kept = turn.context.layers
    if given.application:
        client = given.client and replace(given.client, instructions=NOT_KEPT if given.client.instructions else "")
        instructions = NOT_KEPT if given.instructions else ""
        kept = assemble(replace(given, client=client, instructions=instructions)).layers
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
    `temporary`: whether it said that nothing is kept (C7). `paused_by`: what it said pauses remembering (D5).
    `instructions`: whether the space has any (P1). `tools`: those that the model could call. `masked`: whether secrets
    were masked in it (D4). `files`: how much of each attached file was shown.
    `client`: what a client of the OpenAI-compatible endpoint brought along (T3), None for the others.
    """
    given = turn.context.given
    return {
        "opened_at": _write(turn.given.now),
        "now": given.now.isoformat(),
        "zone": turn.given.settings.timezone,
        "budget": given.budget,
        "context_limit": given.context_limit,
        "settings": turn.given.settings.model_dump(mode="json", exclude_defaults=True),
        "emotions": list(given.emotions),
        "profile": given.profile.version if given.profile else None,
        "entries": {case.id: len(case.entries) for case in given.cases},
        "days": {note.id: note.day.isoformat() for note in given.session_notes},
        "working": _describe_working(turn.given.working),
        "working_after": _describe_working(working),
        "cut": [{"kind": cut.kind, "tokens": cut.tokens, "refs": list(cut.refs)} for cut in turn.context.cut],
        "answer": _describe_answer(turn, analysis),
        "everything": given.everything,
        "temporary": given.temporary,
        "paused_by": given.paused_by,
        "instructions": bool(given.instructions),
        "tools": list(given.tools),
        "masked": given.masked,
        "files": [{"id": str(file.id), "chars": len(file.text)} for file in given.files],
        "client": given.client
        and {
            "instructions": bool(given.client.instructions),
            "history": given.client.history is not None,
            "relayed": given.client.relayed,
        },
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


# One for all messages: to make its fields takes far longer than to use them.
_MESSAGES = MessageSerializer()


def message_to_wire(message: Message) -> dict[str, Any]:
    """Return the message as clients see it."""
    return dict(_MESSAGES.to_representation(message))


def turn_to_wire(turn: Turn, *, user: User, working: WorkingMemorySnapshot | None) -> dict[str, Any]:
    """Return a stored turn as it was answered; of memories deleted since, only that they are."""
    used: list[dict[str, Any]] = turn.memories_used
    updates: list[dict[str, Any]] = turn.memory_updates
    # What tools found is among the used ones, too.
    ids: dict[str, set[uuid.UUID]] = {ATOMIC: set(), MESSAGE: set(), LONG_TERM: set()}
    for item in [*used, *updates]:
        ids[item.get("kind", LONG_TERM)].add(uuid.UUID(item["id"]))
    memories = memory_kinds.LONG_TERM.by_ids(user, ids[LONG_TERM]) if ids[LONG_TERM] else {}
    atomic = memory_kinds.ATOMIC.by_ids(user, ids[ATOMIC]) if ids[ATOMIC] else {}
    texts = {str(key): memory_kinds.LONG_TERM.say(vars(row)) for key, row in memories.items()}
    texts |= {str(key): row.content for key, row in atomic.items()}
    asked = cut_client_blocks(turn.user_message.content) if turn.user_message else ""
    rounds = read_rounds(user, ids[MESSAGE])
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
        "paused_by": turn.assistant_message.paused_by or None,
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


# Tools: what the model searched for is in its own words, which may repeat what was remembered. It is kept only where
# the turn's own message says it, with which it is deleted (L6).

_NO_WORD = re.compile(r"[^\w.+#'’-]")
# How an item of a turn's `memories_used` is marked that a tool found; it has no score.
BY_TOOL = "tool"


def record_runs(runs: Iterable[ToolRun], *, message: str) -> list[dict[str, Any]]:
    """Return what is kept. `message`: the turn's own, "" for a form."""
    return [
        {
            "name": run.name,
            "outcome": str(run.outcome),
            "keyword": _keep_keyword(run, message=message),
            **_keep_times(run),
            "memories": [{"id": found["id"], "kind": found["kind"]} for found in run.memories],
            "message_ids": run.message_ids,
            "context_id": run.context_id,
            "left_out": run.result.get("left_out", 0),
            "ms": run.ms,
        }
        for run in runs
    ]


def list_found(runs: Iterable[ToolRun], *, recalled: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the memories that tools put into the prompt, each once, for `memories_used`; without `recalled` ones."""
    known = {item["id"] for item in recalled}
    found = {memory["id"]: memory["kind"] for run in runs for memory in run.memories if memory["id"] not in known}
    return [{"id": key, "kind": kind, "by": BY_TOOL} for key, kind in found.items()]


def list_recalled(memories_used: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the memories that stood in layer 3, of a turn's `memories_used`."""
    return [item for item in memories_used if "by" not in item]


def calls_to_wire(kept: Iterable[Mapping[str, Any]], *, texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return kept calls on the wire; `texts`: of the memories they found, as far as they are left."""
    return [
        {
            "name": call["name"] or None,
            "outcome": call["outcome"],
            "keyword": call["keyword"],
            "time_range": {"since": call["since"], "until": call["until"]} if call["since"] or call["until"] else None,
            "memories": [{**found, "text": texts.get(found["id"], DELETED)} for found in call["memories"]],
            "message_ids": call["message_ids"],
            "context_id": call["context_id"],
            "left_out": call["left_out"],
            "duration_ms": call["ms"],
        }
        for call in kept
    ]


def _keep_keyword(run: ToolRun, *, message: str) -> str | None:
    keyword = run.arguments.get("keyword", run.arguments.get("query"))
    if not isinstance(keyword, str) or not message:
        return None
    folded, heard = fold(message), set(match_words(message))
    wanted = match_words(keyword)
    if not wanted or not all(word in heard or (is_cjk(word) and word in folded) for word in wanted):
        return None
    return " ".join(_NO_WORD.sub(" ", keyword).split())


def _keep_times(run: ToolRun) -> dict[str, str | None]:
    """The time range where the search accepted it: then it is dates and nothing else."""
    given = run.arguments.get("time_range", run.arguments) if run.outcome is Outcome.OK else None
    times = given if isinstance(given, dict) else {}
    return {name: times.get(name) for name in ("since", "until")}
