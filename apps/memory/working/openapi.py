"""What the API document says about working memory."""

from __future__ import annotations

from typing import Any

from apps.core.openapi.types import Answer, Body, Operation, Problem, path_id
from apps.core.serializers import DeletedSerializer
from apps.memory.working.serializers import WorkingMemoryChangeRequest, WorkingMemorySerializer

TAG = "Working memory"
PATH = path_id("session_id", "ID of the session.")
WORKING_MEMORY: dict[str, Any] = {
    "session_id": "8d1f2c1e-5a0b-4c57-9f0e-3a7b5b1d9c42",
    "current_topic": "旅行",
    "context_variables": {
        "guests": 2,
        "hitl_行程安排": {
            "fields": {"destination": "北京", "date": "周末"},
            "timestamp": "2026-11-20T18:05:44.730122+00:00",
        },
    },
    "turn_count": 3,
    "last_emotion": "curious",
    "created_at": "2026-11-20T18:02:15.220871+00:00",
    "updated_at": "2026-11-20T18:05:47.118204+00:00",
}
NONE = Problem("The session has no working memory now", "not_found", "This session has no working memory now.")

OPERATIONS = {
    "GET /memory/working/{session_id}": Operation(
        id="get_working_memory",
        summary="Get the working memory of a session",
        tag=TAG,
        description="There is none before the first message, nor after the session has been idle for "
        "`memory.working_ttl_minutes`.",
        parameters=[PATH],
        answers={200: Answer(WorkingMemorySerializer, WORKING_MEMORY)},
        problems={404: NONE},
    ),
    "PATCH /memory/working/{session_id}": Operation(
        id="update_working_memory",
        summary="Change the working memory of a session",
        tag=TAG,
        description="A null topic clears it. Variables are merged by key, and null removes one.",
        parameters=[PATH],
        body=Body(WorkingMemoryChangeRequest, {"current_topic": "旅行", "context_variables": {"guests": 2}}),
        answers={200: Answer(WorkingMemorySerializer, WORKING_MEMORY)},
        problems={
            404: NONE,
            413: Problem(
                "The variables do not fit",
                "too_large",
                "guests passes the limit of 65536 bytes of context variables.",
            ),
        },
    ),
    "DELETE /memory/working/{session_id}": Operation(
        id="delete_working_memory",
        summary="Delete the working memory of a session",
        tag=TAG,
        description="The next message starts a new one.",
        parameters=[PATH],
        answers={200: Answer(DeletedSerializer, {"deleted": 1})},
        problems={404: NONE},
    ),
}
