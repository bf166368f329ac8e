"""What the API document says about long-term memories."""

from __future__ import annotations

from typing import Any

from apps.core.openapi.types import Answer, Body, Examples, Operation, Problem, ordering, page, path_id, query
from apps.core.serializers import DeletedSerializer
from apps.memory.long_term.api import MAX_SEARCH_LIMIT
from apps.memory.long_term.filters import ORDERINGS
from apps.memory.long_term.serializers import (
    BatchDeletedSerializer,
    BatchDeleteRequest,
    LongTermMemoryChangeRequest,
    LongTermMemoryReplaceRequest,
    LongTermMemoryRequest,
    LongTermMemorySerializer,
    MemoryCopiesSerializer,
    MemorySearchResultsSerializer,
)
from apps.memory.long_term.validation import MAX_VALUE_CHARACTERS
from apps.memory.models import Category, Source
from apps.memory.openapi_parts import AS_OF, CONFIRM, HISTORY, MUTED, Q_TOO_LONG, SEARCH, STATUS, Q, not_pending

TAG = "Long-term memory"
MEMORY_ID = "5e0c8a52-9d3b-4f6e-b1c7-2a4d6f8e0b13"

MEMORY: dict[str, Any] = {
    "id": MEMORY_ID,
    "session_id": None,
    "message_id": None,
    "category": "fact",
    "key": "allergies",
    "value": ["peanuts", "shrimp"],
    "confidence": 1.0,
    "source": "user_stated",
    "status": "active",
    "mode": "replace",
    "superseded_by": None,
    "muted": False,
    "created_at": "2026-10-03T08:30:02.114920Z",
    "updated_at": "2026-10-03T08:30:02.114920Z",
    "last_accessed": "2026-11-20T18:05:47.118204Z",
    "access_count": 4,
}
MEMORY_ZH = {**MEMORY, "category": "preference", "key": "喜欢的颜色", "value": "蓝色"}
PENDING = {
    **MEMORY,
    "category": "pattern",
    "key": "running",
    "value": "runs on Sunday mornings",
    "source": "inferred",
    "confidence": 0.6,
    "access_count": 0,
}

PATH = path_id("memory_id", "ID of the memory.")
VALUE_TOO_LARGE = Problem(
    "The value is too large",
    "too_large",
    f"The value has over {MAX_VALUE_CHARACTERS:,} characters of JSON.",
    {"value": [f"The value has over {MAX_VALUE_CHARACTERS:,} characters of JSON."]},
)
KEY_TAKEN = Problem(
    "Another active memory has this key",
    "conflict",
    "Another active memory already uses this key.",
    {"key": ["Another active memory already uses this key."], "memory_id": "0d9f4e7b-63c2-4b18-8f2a-91c5d7e3a604"},
)
NEW = Examples(
    English={"category": "fact", "key": "allergies", "value": ["peanuts", "shrimp"]},
    中文={"category": "preference", "key": "喜欢的颜色", "value": "蓝色"},
)
FOUND = {
    "results": [
        {
            "memory": MEMORY,
            "score": 0.71,
            "keyword_score": 0.42,
            "semantic_score": 0.58,
            "category_boost": 1.2,
            "recency_score": 0.82,
            "frequency_score": 0.5,
            "confidence": 1.0,
            "topic_boost": 1.0,
        }
    ]
}

OPERATIONS = {
    "GET /memory/long-term": Operation(
        id="list_memories",
        summary="List long-term memories",
        tag=TAG,
        description="Newest first.",
        parameters=[
            query("category", "Only memories of this category.", str, enum=Category.values),
            query("source", "Only memories of this source.", str, enum=Source.values),
            STATUS,
            MUTED,
            SEARCH,
            AS_OF,
            ordering(*ORDERINGS),
        ],
        answers={200: Answer(LongTermMemorySerializer, page(MEMORY))},
    ),
    "POST /memory/long-term": Operation(
        id="create_memory",
        summary="Add a long-term memory",
        tag=TAG,
        description="A value under a key that is taken supersedes the old value, which stays in the history.",
        body=Body(LongTermMemoryRequest, NEW),
        answers={
            201: Answer(LongTermMemorySerializer, MEMORY, "The new memory."),
            200: Answer(LongTermMemorySerializer, MEMORY, "The key had this value already: the memory that is there."),
        },
        problems={
            404: Problem("There is no session with this `session_id`", "not_found", "This session does not exist."),
            413: VALUE_TOO_LARGE,
        },
    ),
    "DELETE /memory/long-term": Operation(
        id="delete_all_memories",
        summary="Delete all long-term memories",
        tag=TAG,
        description="For good: with their history, and they are not learned again from earlier messages.",
        parameters=[CONFIRM],
        answers={200: Answer(DeletedSerializer, {"deleted": 42})},
    ),
    "GET /memory/long-term/{memory_id}": Operation(
        id="get_memory",
        summary="Get a long-term memory",
        tag=TAG,
        description="Of any status. Does not count as use.",
        parameters=[PATH],
        answers={200: Answer(LongTermMemorySerializer, Examples(English=MEMORY, 中文=MEMORY_ZH))},
    ),
    "PUT /memory/long-term/{memory_id}": Operation(
        id="replace_memory",
        summary="Replace a long-term memory",
        tag=TAG,
        description="Fields that cannot be changed are ignored, so what GET answered can be edited and sent back.",
        parameters=[PATH],
        body=Body(LongTermMemoryReplaceRequest, NEW),
        answers={200: Answer(LongTermMemorySerializer, MEMORY)},
        problems={409: [KEY_TAKEN, HISTORY], 413: VALUE_TOO_LARGE},
    ),
    "PATCH /memory/long-term/{memory_id}": Operation(
        id="update_memory",
        summary="Change a long-term memory",
        tag=TAG,
        description="Only the given fields. With `muted: true` it is kept and shown, but recalled in no reply.",
        parameters=[PATH],
        body=Body(
            LongTermMemoryChangeRequest(partial=True), Examples(Value={"value": ["peanuts"]}, Mute={"muted": True})
        ),
        answers={200: Answer(LongTermMemorySerializer, {**MEMORY, "value": ["peanuts"]})},
        problems={409: [KEY_TAKEN, HISTORY], 413: VALUE_TOO_LARGE},
    ),
    "DELETE /memory/long-term/{memory_id}": Operation(
        id="delete_memory",
        summary="Delete a long-term memory",
        tag=TAG,
        description="For good: with its history, and it is not learned again from earlier messages.",
        parameters=[
            PATH,
            query("copies", "Also delete the copies that `…/copies` lists.", {"type": "boolean", "default": False}),
        ],
        answers={200: Answer(DeletedSerializer, {"deleted": 1})},
    ),
    "POST /memory/long-term/{memory_id}/accept": Operation(
        id="accept_memory",
        summary="Accept a pending memory",
        tag=TAG,
        description="From now on it is recalled. Another value of its key is superseded.",
        parameters=[PATH],
        answers={200: Answer(LongTermMemorySerializer, PENDING)},
        problems={409: not_pending()},
    ),
    "POST /memory/long-term/{memory_id}/reject": Operation(
        id="reject_memory",
        summary="Reject a pending memory",
        tag=TAG,
        description="It is not proposed again.",
        parameters=[PATH],
        answers={200: Answer(LongTermMemorySerializer, {**PENDING, "status": "rejected"})},
        problems={409: not_pending()},
    ),
    "GET /memory/long-term/{memory_id}/copies": Operation(
        id="list_memory_copies",
        summary="List other places with a memory's text",
        tag=TAG,
        description="In memories of both kinds, sessions that are live, the profile, summaries and shared contexts. "
        "Deleting the memory can delete them too.",
        parameters=[PATH],
        answers={
            200: Answer(
                MemoryCopiesSerializer,
                {
                    "results": [
                        {
                            "kind": "atomic",
                            "id": "b72ee391-ef08-4753-8e80-6bd21f8837be",
                            "field": "content",
                            "text": "I am allergic to peanuts and shrimp.",
                        }
                    ]
                },
            )
        },
    ),
    "POST /memory/long-term/batch-delete": Operation(
        id="delete_memories",
        summary="Delete several long-term memories",
        tag=TAG,
        body=Body(BatchDeleteRequest, {"ids": [MEMORY_ID, "0d9f4e7b-63c2-4b18-8f2a-91c5d7e3a604"]}),
        answers={
            200: Answer(BatchDeletedSerializer, {"deleted": 1, "missing": ["0d9f4e7b-63c2-4b18-8f2a-91c5d7e3a604"]})
        },
    ),
    "GET /memory/long-term/search": Operation(
        id="search_memories",
        summary="Search long-term memories",
        tag="Search",
        description="What a message would recall, best first, with every component of the score.",
        parameters=[
            Q,
            query(
                "session_id",
                "Prefer memories about the current topic of this session.",
                {"type": "string", "format": "uuid"},
            ),
            query(
                "limit",
                "How many at most; `memory.retrieval_limit` by default.",
                {"type": "integer", "minimum": 1, "maximum": MAX_SEARCH_LIMIT},
            ),
        ],
        answers={200: Answer(MemorySearchResultsSerializer, FOUND)},
        problems={
            404: Problem("There is no session with this `session_id`", "not_found", "This session does not exist."),
            413: Q_TOO_LONG,
        },
    ),
}
