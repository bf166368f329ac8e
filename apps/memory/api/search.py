"""REST of search in conversations by meaning (V5): /memory/conversations."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_settings, get_user
from apps.accounts.types import Scope
from apps.conversations.models import Role
from apps.conversations.serializers import NO_SESSION
from apps.conversations.sessions import get_session
from apps.conversations.types import MAX_CONTENT_CHARS
from apps.core.errors import ModelUnavailable, TooLarge
from apps.core.fields import KnownFieldsSerializer, StrictCharField, StrictFloatField, StrictIntegerField, read_body
from apps.core.http import read_uuid
from apps.core.operations import Problem, describe
from apps.memory.vectors.search import search_conversations

operation = partial(describe, tag="Search")
MAX_TOP_K = 50


class ConversationSearchRequest(KnownFieldsSerializer):
    """A search by meaning."""

    example = {"query": "租房合同的解约期", "threshold": 0.6}

    query = StrictCharField()
    top_k = StrictIntegerField(min_value=1, max_value=MAX_TOP_K, default=5, help_text="How many results at most.")
    threshold = StrictFloatField(
        min_value=0, max_value=1, required=False, help_text="`memory.similarity_threshold` by default."
    )
    chat_id = StrictCharField(required=False, help_text="ID of a session, to search in that one only.")

    def validate_query(self, query: str) -> str:
        if len(query) > MAX_CONTENT_CHARS:
            raise TooLarge(f"query has {len(query)} characters; {MAX_CONTENT_CHARS} are allowed.")
        return query


class ConversationMatchSerializer(serializers.Serializer[Any]):
    """A message or summary similar to the query; for a long message, its most similar part."""

    content = serializers.CharField()
    similarity = serializers.FloatField(help_text="Cosine similarity.")
    created_at = serializers.DateTimeField()
    chat_id = serializers.UUIDField(help_text="ID of the session.")
    message_type = serializers.ChoiceField(choices=Role.choices)


class ConversationSearchResultsSerializer(serializers.Serializer[Any]):
    """Most similar first."""

    results = ConversationMatchSerializer(many=True)


class ConversationSearchView(APIView):
    """What was said that is near a query in meaning, most similar first (V5)."""

    @operation(
        "search_conversations",
        scope=Scope.READ,
        body=ConversationSearchRequest,
        answers=ConversationSearchResultsSerializer,
        problems=[
            NO_SESSION,
            Problem(TooLarge, "`query` is too long"),
            Problem(ModelUnavailable, "The embedding model cannot be asked", {"reason": "timeout"}),
        ],
    )
    def post(self, request: Request) -> Response:
        """Search conversations by meaning.

        Messages and summaries whose meaning is near the query, most similar first.
        """
        user = get_user(request)
        asked = read_body(ConversationSearchRequest, request)
        matches = search_conversations(
            user=user,
            query=asked["query"],
            top_k=asked["top_k"],
            threshold=asked["threshold"] if "threshold" in asked else get_settings(user).similarity_threshold,
            chat_id=get_session(user, read_uuid(asked["chat_id"])).id if "chat_id" in asked else None,
        )
        results = [asdict(match) for match in matches]
        return Response(ConversationSearchResultsSerializer({"results": results}).data)
