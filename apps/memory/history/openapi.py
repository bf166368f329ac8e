"""What the API document says about the record of changes."""

from __future__ import annotations

from typing import Any

from apps.core.openapi.types import Answer, Operation, Problem, page, path_id, query
from apps.memory.history.serializers import ChangeSerializer, UndoneChangesSerializer
from apps.memory.models import Change

TAG = "History"
OBJECT_ID = "5e0c8a52-9d3b-4f6e-b1c7-2a4d6f8e0b13"
OPERATION_ID = "7a32a1e3-9e83-53e8-be5b-34045020eb4c"
UUID = {"type": "string", "format": "uuid"}

STATE = {"key": "home", "value": "Leeds", "category": "fact", "status": "active"}
CHANGE: dict[str, Any] = {
    "operation": OPERATION_ID,
    "object_id": OBJECT_ID,
    "kind": "long_term",
    "action": "supersede",
    "origin": "extraction",
    "actor": None,
    "message_id": "2f6a1f0a-7c7e-4a35-8b8e-0d5f3a9e6b11",
    "before": STATE,
    "after": {**STATE, "status": "superseded"},
    "undone_by": None,
    "can_be_undone": True,
    "created_at": "2026-10-03T08:30:06.402117Z",
}
UNDOING = {
    **CHANGE,
    "operation": "1c7d9e2f-4b60-4a83-9d5e-8f0a2b6c3e71",
    "action": "undo",
    "origin": "api",
    "actor": "alice",
    "message_id": None,
    "before": CHANGE["after"],
    "after": CHANGE["before"],
}


def _final(when: str, message: str) -> Problem:
    return Problem(when, "conflict", message, {"object_id": OBJECT_ID})


OPERATIONS = {
    "GET /memory/changes": Operation(
        id="list_changes",
        summary="List changes",
        tag=TAG,
        description="Newest first: who changed which memory, when and why, with the state before and after.",
        parameters=[
            query("object_id", "Only changes of this memory.", UUID),
            query("operation", "Only changes of this operation: what belongs together and is undone together.", UUID),
            query("message_id", "Only changes that this message caused.", UUID),
            query("kind", "Only changes of this kind of memory.", str, enum=Change.Kind.values),
            query("action", "Only this kind of change.", str, enum=Change.Action.values),
            query("origin", "Only changes that came from there.", str, enum=Change.Origin.values),
        ],
        answers={200: Answer(ChangeSerializer, page(CHANGE))},
    ),
    "POST /memory/changes/{operation}/undo": Operation(
        id="undo_operation",
        summary="Undo an operation",
        tag=TAG,
        description="All that it changed. Undoing can itself be undone. Deletions are final.",
        parameters=[path_id("operation", "`operation` of a change.")],
        answers={200: Answer(UndoneChangesSerializer, {"results": [UNDOING]})},
        problems={
            409: [
                _final("It is a deletion", "Deletions cannot be undone."),
                _final("It was undone already", "This change was already undone."),
                _final(
                    "Something was changed again since", "This was changed again later. Undo the later change first."
                ),
            ]
        },
    ),
}
