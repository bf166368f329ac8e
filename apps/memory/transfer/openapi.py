"""What the API document says about export and import."""

from __future__ import annotations

from apps.core.openapi.types import Answer, Body, Operation, Problem, query
from apps.memory.long_term.openapi import MEMORY
from apps.memory.long_term.serializers import LongTermMemorySerializer
from apps.memory.transfer.api import ImportReportSerializer, ImportRequest

TAG = "Import and export"

OPERATIONS = {
    "GET /memory/long-term/export": Operation(
        id="export_memories",
        summary="Export long-term memories",
        tag=TAG,
        description="Of every status, newest first, as an attachment. The file can be imported again without loss.",
        parameters=[
            query("format", "The format of the file.", {"type": "string", "enum": ["json"], "default": "json"})
        ],
        answers={200: Answer(LongTermMemorySerializer(many=True), [MEMORY])},
    ),
    "POST /memory/long-term/import": Operation(
        id="import_memories",
        summary="Import long-term memories",
        tag=TAG,
        description="All of a file or, with any bad row, nothing. All fields are kept. An ID of your own updates that "
        "memory; one that somebody else has is replaced, and links follow.",
        body=Body(ImportRequest, {"file": "@memories.json"}, media_type="multipart/form-data"),
        answers={200: Answer(ImportReportSerializer, {"created": 12, "updated": 1, "skipped": 30, "errors": []})},
        problems={
            409: Problem(
                "Some of the memories were created at the same time",
                "conflict",
                "Some of these memories have just been created elsewhere. Try again.",
            ),
            422: [
                Problem(
                    "Some rows are not valid (the first is 1)",
                    "import_refused",
                    "Nothing was imported because some rows are invalid.",
                    {"errors": [{"row": 1, "reasons": {"category": ["This field is missing."]}}]},
                ),
                Problem("The file is not a JSON array", "import_refused", "The file is not JSON.", {"errors": []}),
            ],
        },
    ),
}
