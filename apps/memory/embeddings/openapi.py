"""What the API document says about the search in conversations."""

from __future__ import annotations

from apps.conversations.types import MAX_CONTENT_CHARS
from apps.core.openapi.types import Answer, Body, Examples, Operation, Problem
from apps.memory.embeddings.serializers import ConversationSearchRequest, ConversationSearchResultsSerializer

OPERATIONS = {
    "POST /memory/conversations/search": Operation(
        id="search_conversations",
        summary="Search conversations by meaning",
        tag="Search",
        description="Messages and summaries whose meaning is near the query, most similar first.",
        body=Body(
            ConversationSearchRequest,
            Examples(
                English={"query": "notice period of the lease", "top_k": 5},
                中文={"query": "租房合同的解约期", "threshold": 0.6},
            ),
        ),
        answers={
            200: Answer(
                ConversationSearchResultsSerializer,
                {
                    "results": [
                        {
                            "content": "How long before moving out do I have to tell my landlord?",
                            "similarity": 0.78,
                            "created_at": "2026-11-20T18:05:44.730122Z",
                            "chat_id": "8d1f2c1e-5a0b-4c57-9f0e-3a7b5b1d9c42",
                            "message_type": "user",
                        }
                    ]
                },
            )
        },
        problems={
            404: Problem("There is no session with this `chat_id`", "not_found", "This session does not exist."),
            413: Problem(
                "`query` is too long",
                "too_large",
                f"query has 40000 characters; {MAX_CONTENT_CHARS} are allowed.",
            ),
            503: Problem(
                "The embedding model cannot be asked",
                "model_unavailable",
                "The model server at https://models.example.com took too long to answer.",
                {"reason": "timeout"},
            ),
        },
    ),
}
