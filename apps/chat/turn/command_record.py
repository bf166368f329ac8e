"""What a turn keeps of its commands (L9), and how they are read back: on the wire, and in its rebuilt prompt.

Kept are references, and what was to be forgotten in the words of the turn's own message; no remembered text.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from apps.accounts.models import User
from apps.chat.models import Turn
from apps.core.text.commands import CommandKind
from apps.core.text.json_text import readable_text
from apps.memory.selectors import get_atomic_memories_by_id, get_memories_by_id
from apps.memory.services import CommandResult, Outcome, describe_forgotten

DELETED = "(deleted)"


def record_commands(results: Sequence[CommandResult], *, prompted: Sequence[CommandResult]) -> list[dict[str, Any]]:
    """Return what is kept. `prompted`: the results that the prompt had, before the model's answer."""
    statuses = [*(result.status for result in prompted), *[Outcome.LEFT_OUT] * (len(results) - len(prompted))]
    return [_record(result, prompted=status) for result, status in zip(results, statuses, strict=True)]


def record_choice(
    kept: Sequence[Mapping[str, Any]], *, at: int, result: CommandResult, chosen: uuid.UUID
) -> list[dict[str, Any]]:
    """Return what is kept after the person chose, of what the command `at` may mean, what to forget."""
    changed = [dict(item) for item in kept]
    changed[at]["unclear"] = [memory_id for memory_id in changed[at]["unclear"] if memory_id != str(chosen)]
    # The prompt knew nothing of it.
    return [*changed, _record(result, prompted=Outcome.LEFT_OUT)]


def _record(result: CommandResult, *, prompted: Outcome) -> dict[str, Any]:
    return {
        "kind": str(result.kind),
        "status": str(result.status),
        "prompted": str(prompted),
        "said": result.said if result.kind is CommandKind.FORGET else "",
        "operation": str(result.operation) if result.operation else None,
        "memory_ids": [str(memory_id) for memory_id in result.memory_ids],
        "unclear": [str(memory_id) for memory_id in result.unclear],
    }


def restore_prompted(kept: Sequence[Mapping[str, Any]], *, user: User, texts: Mapping[str, str]) -> list[CommandResult]:
    """Return the results as the prompt had them. `texts`: of the atomic memories they name, as they were then."""
    results = [_restore(item, user=user, texts=texts) for item in kept]
    return [replace(result, status=Outcome(item["prompted"])) for result, item in zip(results, kept, strict=True)]


def read_commands_now(kept: Sequence[Mapping[str, Any]], *, user: User) -> list[CommandResult]:
    """Return the results with what has become of them since: undone, accepted, deleted."""
    ids = {uuid.UUID(memory_id) for item in kept for memory_id in item["memory_ids"]}
    rows = get_atomic_memories_by_id(user, ids) if ids else {}
    texts = {str(memory_id): row.content for memory_id, row in rows.items()}
    results = []
    for item in kept:
        result = _restore(item, user=user, texts=texts)
        statuses = {rows[memory_id].status for memory_id in result.memory_ids if memory_id in rows}
        if result.status in (Outcome.STORED, Outcome.WAITING) and statuses:
            result = replace(result, status=_update_status(result.status, statuses))
        results.append(result)
    return results


def _update_status(status: Outcome, statuses: set[str]) -> Outcome:
    """What was stored is undone where it was turned down, and no longer waits where it was accepted."""
    if statuses == {"rejected"}:
        return Outcome.UNDONE
    return Outcome.STORED if status is Outcome.WAITING and "pending" not in statuses else status


def _restore(item: Mapping[str, Any], *, user: User, texts: Mapping[str, str]) -> CommandResult:
    kind, status = CommandKind(item["kind"]), Outcome(item["status"])
    operation = item["operation"] and uuid.UUID(item["operation"])
    shown = tuple(texts.get(memory_id, DELETED) for memory_id in item["memory_ids"])
    if status is Outcome.FORGOTTEN:
        now = describe_forgotten(user=user, operation=operation)
        status, shown = now.status, now.texts or (DELETED,)
    return CommandResult(
        kind=kind,
        status=status,
        texts=shown,
        operation=operation,
        memory_ids=tuple(map(uuid.UUID, item["memory_ids"])),
        unclear=tuple(map(uuid.UUID, item["unclear"])),
        said=item["said"],
    )


def describe_commands(turn: Turn) -> list[dict[str, Any]]:
    """Return a stored turn's commands on the wire, with what has become of them since."""
    return commands_to_wire(read_commands_now(turn.commands, user=turn.user), user=turn.user)


def commands_to_wire(results: Sequence[CommandResult], *, user: User) -> list[dict[str, Any]]:
    """Return the results on the wire (SPEC, API: POST messages); memories that may be meant with their texts."""
    unclear = {memory_id for result in results for memory_id in result.unclear}
    known = _read_candidates(user, unclear) if unclear else {}
    return [
        {
            "kind": str(result.kind),
            "status": str(result.status),
            "texts": list(filter(None, [result.said])) if result.status is Outcome.NOT_FOUND else list(result.texts),
            "operation": str(result.operation) if result.operation else None,
            "memory_ids": [str(memory_id) for memory_id in result.memory_ids],
            "unclear": [known[memory_id] for memory_id in result.unclear if memory_id in known],
        }
        for result in results
    ]


def _read_candidates(user: User, ids: set[uuid.UUID]) -> dict[uuid.UUID, dict[str, str]]:
    """The active memories of these IDs, of both kinds."""
    found = {
        key: {"id": str(key), "kind": "long_term", "text": f"{row.key}: {readable_text(row.value)}"}
        for key, row in get_memories_by_id(user, ids).items()
        if row.status == "active"
    }
    for key, row in get_atomic_memories_by_id(user, ids).items():
        if row.status == "active":
            found[key] = {"id": str(key), "kind": "atomic", "text": row.content}
    return found
