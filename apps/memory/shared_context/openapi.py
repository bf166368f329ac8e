"""What the API document says about shared contexts."""

from __future__ import annotations

from typing import Any

from apps.core.openapi.types import Answer, Body, Examples, Operation, Problem, ordering, page, path_id
from apps.core.serializers import DeletedSerializer
from apps.memory.shared_context.serializers import ContextEntryRequest, SharedContextRequest, SharedContextSerializer
from apps.memory.shared_context.types import MAX_CONTEXT_BYTES

TAG = "Shared contexts"
PATH = path_id("context_id", "ID of the shared context.")
CONTEXT: dict[str, Any] = {
    "id": "3b0f6a4c-2e91-4d7a-8c55-6f1e9d2a7b38",
    "session_id": None,
    "title": "Lease of the flat in Mill Lane",
    "content": "Lease from 1 March 2025 for two years; rent 1,150 a month; notice of three months.",
    "entries": [
        {
            "id": "9e4d1c7b-5a36-4f02-b8d9-0c7a6e3f2d15",
            "author": "researcher",
            "text": "The deposit is held by a protection scheme.",
            "created_at": "2026-11-20T18:12:09.331006Z",
        }
    ],
    "created_at": "2026-11-20T18:02:11.402913Z",
    "updated_at": "2026-11-20T18:12:09.331006Z",
}


def _too_large(field: str) -> Problem:
    message = f"A shared context has at most {MAX_CONTEXT_BYTES:,} bytes in all; this would make 70,000."
    return Problem("The context would have over 64 KiB", "too_large", message, {field: [message]})


OPERATIONS = {
    "GET /memory/contexts": Operation(
        id="list_shared_contexts",
        summary="List shared contexts",
        tag=TAG,
        description="Newest first.",
        parameters=[ordering("created_at", "updated_at")],
        answers={200: Answer(SharedContextSerializer, page(CONTEXT))},
    ),
    "POST /memory/contexts": Operation(
        id="create_shared_context",
        summary="Create a shared context",
        tag=TAG,
        body=Body(
            SharedContextRequest,
            Examples(
                English={"title": CONTEXT["title"], "content": CONTEXT["content"]},
                中文={
                    "title": "租房合同纠纷",
                    "content": "合同自2025年3月1日起，为期两年，月租4500元，提前三个月通知解约。",
                },
            ),
        ),
        answers={201: Answer(SharedContextSerializer, {**CONTEXT, "entries": []})},
        problems={
            404: Problem("There is no session with this `session_id`", "not_found", "This session does not exist."),
            413: _too_large("content"),
        },
    ),
    "GET /memory/contexts/{context_id}": Operation(
        id="get_shared_context",
        summary="Get a shared context",
        tag=TAG,
        description="With its entries, in the order in which they were added.",
        parameters=[PATH],
        answers={200: Answer(SharedContextSerializer, CONTEXT)},
    ),
    "DELETE /memory/contexts/{context_id}": Operation(
        id="delete_shared_context",
        summary="Delete a shared context",
        tag=TAG,
        parameters=[PATH],
        answers={200: Answer(DeletedSerializer, {"deleted": 1})},
    ),
    "POST /memory/contexts/{context_id}/entries": Operation(
        id="add_context_entry",
        summary="Add to a shared context",
        tag=TAG,
        description="What is there does not change. `author` is the username by default.",
        parameters=[PATH],
        body=Body(
            ContextEntryRequest,
            {"text": "The deposit is held by a protection scheme.", "author": "researcher"},
        ),
        answers={201: Answer(SharedContextSerializer, CONTEXT)},
        problems={413: _too_large("text")},
    ),
}
