"""What the API document says about imports from elsewhere."""

from __future__ import annotations

from typing import Any

from apps.core.openapi.types import Answer, Body, Operation, Problem, page, path_id, query
from apps.core.serializers import DeletedSerializer
from apps.doors.imports.serializers import (
    ImportItemSerializer,
    ImportPreviewSerializer,
    PastImportRequest,
    PastImportSerializer,
)
from apps.doors.models import ImportItem

TAG = "Import and export"
IMPORT_ID = path_id("import_id", "ID of an import.")

PREVIEW: dict[str, Any] = {
    "format": "chatgpt",
    "found": {"conversations": 214, "messages": 6120, "memories": 0},
    "ended": 0,
    "unlearned": 2,
    "proposals": 1,
    "rows": {},
    "left_out": {"tool": 310, "hidden": 214, "attachment": 57},
    "first": "2023-04-02T09:12:44Z",
    "last": "2026-10-01T18:40:03Z",
    "problem": "",
    "conversations": [
        {"title": "搬家计划", "said": "我三月要搬到上海", "messages": 18, "started_at": "2024-03-01T00:00:00Z"}
    ],
    "memories": [],
    "examples": [{"reason": "empty", "label": "New chat", "detail": "", "count": 1}],
}
IMPORT: dict[str, Any] = {
    "id": "0b9c7f52-3c1e-4d8a-9f27-6a5e4d3c2b10",
    "format": "chatgpt",
    "file_name": "chatgpt-export.zip",
    "size": 48120331,
    "state": "running",
    "problem": "",
    "total": 214,
    "done": 80,
    "report": {
        "found": {"conversations": 214, "messages": 6120, "memories": 0},
        "left_out": {"tool": 310, "hidden": 214, "attachment": 57},
        "unlearned": 2,
        "proposals": 1,
        "first": "2023-04-02T09:12:44Z",
        "last": "2026-10-01T18:40:03Z",
        "imported": {"conversations": 80, "messages": 2207, "memories": 0},
        "skipped": {},
        "failed": 0,
    },
    "can_undo": False,
    "created_at": "2026-10-03T08:30:00Z",
    "updated_at": "2026-10-03T08:30:09Z",
    "finished_at": None,
}
ITEM = {
    "number": 3,
    "kind": "conversation",
    "state": "imported",
    "label": "搬家计划",
    "reason": "",
    "detail": "",
    "count": 18,
    "session_id": "9f5e4d3c-2b10-4a8a-8c1e-0b9c7f523c1e",
    "memory_id": None,
}

OPERATIONS = {
    "GET /memory/imports": Operation(
        id="list_imports",
        summary="List imports",
        tag=TAG,
        description="Newest first.",
        answers={200: Answer(PastImportSerializer, page(IMPORT))},
    ),
    "POST /memory/imports": Operation(
        id="create_import",
        summary="Import conversations and memories from elsewhere",
        tag=TAG,
        description="An export of ChatGPT, Claude, DeepSeek, mem0, Letta or Zep, a file of JSON lines, or an export of "
        "everything from Jiyi. Conversations become sessions, and what was said in them is learned in the background. "
        "Memories become memories. Importing a file again imports only what is new. With `dry_run`, nothing is "
        "written.",
        body=Body(PastImportRequest, {"file": "@chatgpt-export.zip"}, media_type="multipart/form-data"),
        answers={
            200: Answer(ImportPreviewSerializer, PREVIEW, description="With `dry_run`: what the file holds."),
            202: Answer(PastImportSerializer, {**IMPORT, "state": "queued", "total": 0, "done": 0, "report": {}}),
        },
        problems={
            409: Problem(
                "Too many of your imports are under way, or another file is being previewed",
                "conflict",
                "Too many imports are under way. Wait until one is done, or cancel it.",
            ),
            413: Problem("The file is too large", "too_large", "The file is larger than 200 MiB."),
            422: [
                Problem(
                    "The file has none of the formats",
                    "import_refused",
                    "This file is not in a format that can be imported.",
                    {"errors": []},
                ),
                Problem("The file is damaged", "import_refused", "The archive is damaged.", {"errors": []}),
            ],
        },
    ),
    "GET /memory/imports/{import_id}": Operation(
        id="get_import",
        summary="Get an import",
        tag=TAG,
        description="Its progress and its report.",
        parameters=[IMPORT_ID],
        answers={200: Answer(PastImportSerializer, IMPORT)},
    ),
    "DELETE /memory/imports/{import_id}": Operation(
        id="delete_import",
        summary="Cancel an import, or delete its report",
        tag=TAG,
        description="An import in progress is cancelled: what was imported so far stays and can be undone. Of one that "
        "has ended, the report is deleted.",
        parameters=[IMPORT_ID],
        answers={200: Answer(DeletedSerializer, {"deleted": 1})},
        problems={409: Problem("It is being undone", "conflict", "This import is being undone.")},
    ),
    "GET /memory/imports/{import_id}/items": Operation(
        id="list_import_items",
        summary="List the items of an import",
        tag=TAG,
        description="The outcome for each conversation and memory, in the order of the file.",
        parameters=[IMPORT_ID, query("state", "Only items in this state.", str, enum=ImportItem.State.values)],
        answers={200: Answer(ImportItemSerializer, page(ITEM))},
    ),
    "POST /memory/imports/{import_id}/undo": Operation(
        id="undo_import",
        summary="Undo an import",
        tag=TAG,
        description="Deletes the sessions and memories that it created, and what was learned from its messages. What "
        "something was built on since stays. The file can then be imported again.",
        parameters=[IMPORT_ID],
        answers={202: Answer(PastImportSerializer, {**IMPORT, "state": "undoing", "done": 214})},
        problems={
            409: Problem(
                "It has not ended, was undone already, or restored an export of everything",
                "conflict",
                "This import cannot be undone.",
            )
        },
    ),
}
