"""What the API document says about atomic memories."""

from __future__ import annotations

from typing import Any

from apps.core.openapi.types import Answer, Body, Examples, Operation, Problem, ordering, page, path_id, query
from apps.core.serializers import DeletedSerializer
from apps.memory.atomic.api import MAX_TOP_N
from apps.memory.atomic.filters import ORDERINGS
from apps.memory.atomic.serializers import (
    AtomicMemoryChangeRequest,
    AtomicMemoryReplaceRequest,
    AtomicMemoryRequest,
    AtomicMemorySerializer,
    AtomicSearchResultsSerializer,
)
from apps.memory.atomic.validation import MAX_CONTENT_CHARACTERS
from apps.memory.openapi_parts import (
    AS_OF,
    CONFIRM,
    HISTORY,
    MUTED,
    Q_TOO_LONG,
    SEARCH,
    STATUS,
    Q,
    not_pending,
    time_limit,
)

TAG = "Atomic memory"
ATOMIC_ID = "b72ee391-ef08-4753-8e80-6bd21f8837be"

MEMORY: dict[str, Any] = {
    "id": ATOMIC_ID,
    "session_id": "8d1f2c1e-5a0b-4c57-9f0e-3a7b5b1d9c42",
    "message_id": "2f6a1f0a-7c7e-4a35-8b8e-0d5f3a9e6b11",
    "content": "The user moved to York on 26 September 2026.",
    "tags": ["home"],
    "timestamp": "2026-10-03T08:30:00Z",
    "event_start": "2026-09-26T00:00:00Z",
    "event_end": None,
    "status": "active",
    "superseded_by": None,
    "muted": False,
    "create_time": "2026-10-03T08:30:06.402117Z",
    "updated_at": "2026-10-03T08:30:06.402117Z",
}
MEMORY_ZH = {**MEMORY, "content": "用户上周六搬到了成都。", "tags": ["住处"]}

PATH = path_id("atomic_id", "ID of the atomic memory.")
TOO_LARGE = Problem(
    "The content is too long",
    "too_large",
    f"The content has over {MAX_CONTENT_CHARACTERS:,} characters.",
    {"content": [f"The content has over {MAX_CONTENT_CHARACTERS:,} characters."]},
)
SAME = Problem(
    "Another active memory says the same",
    "conflict",
    "Another active memory already says this.",
    {"content": ["Another active memory already says this."], "memory_id": "0d9f4e7b-63c2-4b18-8f2a-91c5d7e3a604"},
)
NEW = Examples(
    English={"content": "The user moved to York on 26 September 2026.", "tags": ["home"]},
    中文={"content": "用户上周六搬到了成都。", "event_start": "2026-09-26T00:00:00+08:00"},
)

OPERATIONS = {
    "GET /memory/atomic": Operation(
        id="list_atomic_memories",
        summary="List atomic memories",
        tag=TAG,
        description="Newest first.",
        parameters=[
            STATUS,
            MUTED,
            SEARCH,
            AS_OF,
            time_limit("since", "Said at this time or later."),
            time_limit("until", "Said at this time or earlier."),
            query("tags", "Comma-separated tags that a memory must all have."),
            query("session_id", "Only memories of this session.", {"type": "string", "format": "uuid"}),
            ordering(*ORDERINGS.values()),
        ],
        answers={200: Answer(AtomicMemorySerializer, page(MEMORY))},
    ),
    "POST /memory/atomic": Operation(
        id="create_atomic_memory",
        summary="Add an atomic memory",
        tag=TAG,
        body=Body(AtomicMemoryRequest, NEW),
        answers={
            201: Answer(AtomicMemorySerializer, MEMORY, "The new memory."),
            200: Answer(
                AtomicMemorySerializer, MEMORY, "An active memory says the same: that one, with the new tags added."
            ),
        },
        problems={
            404: Problem("There is no session with this `session_id`", "not_found", "This session does not exist."),
            413: TOO_LARGE,
        },
    ),
    "DELETE /memory/atomic": Operation(
        id="delete_all_atomic_memories",
        summary="Delete all atomic memories",
        tag=TAG,
        description="For good: with their history, and they are not learned again from earlier messages.",
        parameters=[CONFIRM],
        answers={200: Answer(DeletedSerializer, {"deleted": 128})},
    ),
    "GET /memory/atomic/{atomic_id}": Operation(
        id="get_atomic_memory",
        summary="Get an atomic memory",
        tag=TAG,
        description="Of any status.",
        parameters=[PATH],
        answers={200: Answer(AtomicMemorySerializer, Examples(English=MEMORY, 中文=MEMORY_ZH))},
    ),
    "PUT /memory/atomic/{atomic_id}": Operation(
        id="replace_atomic_memory",
        summary="Replace an atomic memory",
        tag=TAG,
        description="Tags and event times that are left out are removed. Fields that cannot be changed are ignored, so "
        "what GET answered can be edited and sent back.",
        parameters=[PATH],
        body=Body(AtomicMemoryReplaceRequest, NEW),
        answers={200: Answer(AtomicMemorySerializer, MEMORY)},
        problems={409: [SAME, HISTORY], 413: TOO_LARGE},
    ),
    "PATCH /memory/atomic/{atomic_id}": Operation(
        id="update_atomic_memory",
        summary="Change an atomic memory",
        tag=TAG,
        description="Only the given fields. With `muted: true` it is kept and shown, but recalled in no reply.",
        parameters=[PATH],
        body=Body(
            AtomicMemoryChangeRequest(partial=True), Examples(Tags={"tags": ["home", "York"]}, Mute={"muted": True})
        ),
        answers={200: Answer(AtomicMemorySerializer, {**MEMORY, "tags": ["home", "York"]})},
        problems={409: [SAME, HISTORY], 413: TOO_LARGE},
    ),
    "DELETE /memory/atomic/{atomic_id}": Operation(
        id="delete_atomic_memory",
        summary="Delete an atomic memory",
        tag=TAG,
        description="For good: with its history, and it is not learned again from earlier messages.",
        parameters=[PATH],
        answers={200: Answer(DeletedSerializer, {"deleted": 1})},
    ),
    "POST /memory/atomic/{atomic_id}/accept": Operation(
        id="accept_atomic_memory",
        summary="Accept a pending atomic memory",
        tag=TAG,
        description="From now on it is recalled, and what it proposes to end has ended.",
        parameters=[PATH],
        answers={200: Answer(AtomicMemorySerializer, MEMORY)},
        problems={409: not_pending()},
    ),
    "POST /memory/atomic/{atomic_id}/reject": Operation(
        id="reject_atomic_memory",
        summary="Reject a pending atomic memory",
        tag=TAG,
        description="It is not recorded again.",
        parameters=[PATH],
        answers={200: Answer(AtomicMemorySerializer, {**MEMORY, "status": "rejected"})},
        problems={409: not_pending()},
    ),
    "GET /memory/atomic/search": Operation(
        id="search_atomic_memories",
        summary="Search atomic memories",
        tag="Search",
        description="What a message would recall, best first.",
        parameters=[
            Q,
            query(
                "top_n",
                "How many at most; `memory.rag_top_n` by default.",
                {"type": "integer", "minimum": 1, "maximum": MAX_TOP_N},
            ),
            time_limit("since", "Said at this time or later."),
            time_limit("until", "Said at this time or earlier."),
        ],
        answers={
            200: Answer(
                AtomicSearchResultsSerializer,
                {
                    "results": [
                        {
                            "memory": MEMORY,
                            "score": 5.8216,
                            "keyword_score": 1.27,
                            "semantic_score": 0.49,
                            "parts": {
                                "meaning": 1.9718,
                                "meaning_of_last_line": 0.0,
                                "words": 0.5206,
                                "words_in_session": 0.0629,
                                "words_near": 0.0,
                                "words_around": 0.0,
                                "words_with_turn_before": 0.0,
                                "length": 1.3169,
                                "question": 0.0,
                                "answer": 0.0,
                                "speaker": 0.0,
                                "time": 1.9494,
                            },
                        }
                    ]
                },
            )
        },
        problems={413: Q_TOO_LONG},
    ),
}
