"""What the API document says about session summaries."""

from __future__ import annotations

from typing import Any

from apps.core.openapi.types import Answer, Body, Examples, Operation, Problem, ordering, page, path_id
from apps.core.serializers import DeletedSerializer
from apps.summaries.serializers import (
    SessionSummarySerializer,
    SummaryChangeRequest,
    SummaryReplaceRequest,
    SummaryRequest,
)

TAG = "Summaries"
PATH = path_id("summary_id", "ID of the summary.")
SESSION_ID = "8d1f2c1e-5a0b-4c57-9f0e-3a7b5b1d9c42"
SUMMARY: dict[str, Any] = {
    "id": "6c2e9b1d-8f47-4a50-93d6-7e0b5a4c1f82",
    "session_id": SESSION_ID,
    "title": "Dinner for Anna",
    "snippet": "Planned a vegetarian dinner without peanuts for Friday: mushroom risotto.",
    "created_at": "2026-11-20T18:06:10.845117Z",
}
SUMMARY_ZH = {
    **SUMMARY,
    "title": "租房合同",
    "snippet": "依据《中华人民共和国民法典》第七百三十条，讨论了解约的通知期。",
}
TEXT = {"title": SUMMARY["title"], "snippet": SUMMARY["snippet"]}

OPERATIONS = {
    "GET /summaries": Operation(
        id="list_summaries",
        summary="List summaries",
        tag=TAG,
        description="Newest first.",
        parameters=[ordering("created_at", "updated_at")],
        answers={200: Answer(SessionSummarySerializer, page(SUMMARY))},
    ),
    "POST /summaries": Operation(
        id="create_summary",
        summary="Write a summary",
        tag=TAG,
        description="For a session that has none.",
        body=Body(SummaryRequest, {"session_id": SESSION_ID, **TEXT}),
        answers={201: Answer(SessionSummarySerializer, SUMMARY)},
        problems={
            404: Problem("There is no session with this `session_id`", "not_found", "This session does not exist."),
            409: [
                Problem("The session has a summary", "conflict", "The session already has a summary."),
                Problem("The session is temporary", "conflict", "A temporary session has no summary."),
            ],
        },
    ),
    "GET /summaries/{summary_id}": Operation(
        id="get_summary",
        summary="Get a summary",
        tag=TAG,
        parameters=[PATH],
        answers={200: Answer(SessionSummarySerializer, Examples(English=SUMMARY, 中文=SUMMARY_ZH))},
    ),
    "PUT /summaries/{summary_id}": Operation(
        id="replace_summary",
        summary="Replace a summary",
        tag=TAG,
        description="The assistant does not overwrite it any more.",
        parameters=[PATH],
        body=Body(SummaryReplaceRequest, TEXT),
        answers={200: Answer(SessionSummarySerializer, SUMMARY)},
    ),
    "PATCH /summaries/{summary_id}": Operation(
        id="update_summary",
        summary="Change a summary",
        tag=TAG,
        description="Only the given fields. The assistant does not overwrite it any more.",
        parameters=[PATH],
        body=Body(SummaryChangeRequest(partial=True), {"title": "Dinner for Anna"}),
        answers={200: Answer(SessionSummarySerializer, SUMMARY)},
    ),
    "DELETE /summaries/{summary_id}": Operation(
        id="delete_summary",
        summary="Delete a summary",
        tag=TAG,
        description="For good: it is not written again from earlier messages.",
        parameters=[PATH],
        answers={200: Answer(DeletedSerializer, {"deleted": 1})},
    ),
}
