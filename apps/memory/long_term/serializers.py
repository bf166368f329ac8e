"""Long-term memories on the wire (L1)."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.core.fields import StrictBooleanField, StrictCharField, StrictUUIDField
from apps.core.serializers import KnownFieldsSerializer
from apps.memory.long_term.types import Mode
from apps.memory.long_term.validation import MAX_KEY_CHARACTERS, is_share
from apps.memory.models import Category, LongTermMemory, Source

MUTED_HELP = "Kept and shown, but never recalled in a reply."
VALUE_HELP = "Any JSON value, except null and blank text."


class LongTermMemorySerializer(serializers.ModelSerializer[LongTermMemory]):
    """Something known about the person, under a key. One value per key is active."""

    session_id = serializers.UUIDField(
        allow_null=True, read_only=True, help_text="The session it comes from; null if there is none or it was deleted."
    )
    message_id = serializers.UUIDField(
        allow_null=True, read_only=True, help_text="The message in which it was said; null if there is none."
    )
    superseded_by = serializers.UUIDField(
        source="superseded_by_id", allow_null=True, read_only=True, help_text="ID of the memory that took its place."
    )
    mode = serializers.ChoiceField(
        choices=[mode.value for mode in Mode],
        read_only=True,
        help_text="How a pending memory, once accepted, changes the current value of its key.",
    )

    class Meta:
        model = LongTermMemory
        fields = read_only_fields = (
            "id",
            "session_id",
            "message_id",
            "category",
            "key",
            "value",
            "confidence",
            "source",
            "status",
            "mode",
            "superseded_by",
            "muted",
            "created_at",
            "updated_at",
            "last_accessed",
            "access_count",
        )
        extra_kwargs = {
            "value": {"help_text": "Any JSON value."},
            "confidence": {"help_text": "From 0 to 1."},
            "status": {"help_text": "Only `active` memories are recalled; `pending` ones wait for review."},
            "last_accessed": {"help_text": "When it was last in a prompt; at first, when it was created."},
            "access_count": {"help_text": "In how many prompts it was."},
        }


class ConfidenceField(serializers.FloatField):
    """A JSON number from 0 to 1; neither a word nor true nor false."""

    default_error_messages = {"not_a_share": "Must be a number from 0 to 1."}

    def to_internal_value(self, data: Any) -> float:
        if not is_share(data):
            self.fail("not_a_share")
        return float(data)


class LongTermMemoryChangeRequest(KnownFieldsSerializer):
    """Fields of a memory to change."""

    category = serializers.ChoiceField(choices=Category.choices)
    key = StrictCharField(max_length=MAX_KEY_CHARACTERS)
    value = serializers.JSONField(help_text=VALUE_HELP)
    confidence = ConfidenceField(required=False, min_value=0, max_value=1)
    source = serializers.ChoiceField(choices=Source.choices, required=False)  # type: ignore[assignment]
    muted = StrictBooleanField(required=False, help_text=MUTED_HELP)


class LongTermMemoryReplaceRequest(LongTermMemoryChangeRequest):
    """A complete memory. Read-only fields are ignored, so a GET response can be sent back."""

    ignored = frozenset(LongTermMemorySerializer.Meta.fields)


class LongTermMemoryRequest(LongTermMemoryChangeRequest):
    """A new memory; `confidence` defaults to 1 and `source` to user_stated."""

    session_id = StrictUUIDField(required=False, allow_null=True)
    muted = None  # type: ignore[assignment]  # a new one is not


class BatchDeleteRequest(KnownFieldsSerializer):
    """Memories to delete."""

    ids = serializers.ListField(child=StrictUUIDField(), allow_empty=False, help_text="IDs of the memories.")
    copies = StrictBooleanField(default=False, help_text="Also delete the copies that `…/copies` lists.")


class BatchDeletedSerializer(serializers.Serializer[Any]):
    """The result of deleting several memories."""

    deleted = serializers.IntegerField(help_text="How many memories were deleted.")
    missing = serializers.ListField(child=serializers.UUIDField(), help_text="IDs that were not found.")


class MemoryCopySerializer(serializers.Serializer[Any]):
    """Another place with the memory's text: another memory, a context variable, a topic, or a text."""

    kind = serializers.ChoiceField(
        choices=["long_term", "atomic", "working", "topic", "profile", "summary", "title", "context"]
    )
    id = serializers.UUIDField(help_text="ID of the memory, session, profile, summary or context.")
    field = serializers.CharField(help_text="The field, variable or section that has the text.")
    text = serializers.CharField()


class MemoryCopiesSerializer(serializers.Serializer[Any]):
    """All other places with the memory's text."""

    results = MemoryCopySerializer(many=True)


class ScoredMemorySerializer(serializers.Serializer[Any]):
    """A memory with its score and every component of it."""

    memory = LongTermMemorySerializer()
    score = serializers.FloatField(help_text="The weighted sum of the components, times `topic_boost`.")
    keyword_score = serializers.FloatField(help_text="From 0 to 1.")
    semantic_score = serializers.FloatField(help_text="Cosine similarity; 0 if unknown.")
    category_boost = serializers.FloatField(help_text="Preferences 1.5, facts 1.2, patterns 1.")
    recency_score = serializers.FloatField(help_text="From 0 to 1: halved every `memory.recency_half_life_days`.")
    frequency_score = serializers.FloatField(help_text="From 0 to 1, by `access_count`.")
    confidence = serializers.FloatField(help_text="From 0 to 1.")
    topic_boost = serializers.FloatField(help_text="Above 1 if it is about the session's current topic.")


class MemorySearchResultsSerializer(serializers.Serializer[Any]):
    """Best first."""

    results = ScoredMemorySerializer(many=True)
