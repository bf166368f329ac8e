"""Search in conversations on the wire (V5)."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.conversations.models import Role
from apps.conversations.types import MAX_CONTENT_CHARS
from apps.core.errors import TooLarge
from apps.core.fields import StrictCharField, StrictFloatField, StrictIntegerField
from apps.core.serializers import KnownFieldsSerializer

MAX_TOP_K = 50


class ConversationSearchRequest(KnownFieldsSerializer):
    """A search by meaning."""

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
