"""Long-term memories on the wire (L1)."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.core.fields import StrictBooleanField, StrictCharField
from apps.core.serializers import KnownFieldsSerializer
from apps.memory.long_term.types import Mode
from apps.memory.long_term.validation import MAX_KEY_CHARACTERS, is_share
from apps.memory.models import Category, LongTermMemory, Source

MUTED_HELP = "Kept and shown, but never recalled in a reply (L10)."


class LongTermMemorySerializer(serializers.ModelSerializer[LongTermMemory]):
    """The fields of L1, and `mode`: how a pending memory, once accepted, changes the current value of its key."""

    session_id = serializers.UUIDField(allow_null=True, read_only=True)
    message_id = serializers.UUIDField(allow_null=True, read_only=True)
    superseded_by = serializers.UUIDField(source="superseded_by_id", allow_null=True, read_only=True)
    mode = serializers.ChoiceField(choices=[mode.value for mode in Mode], read_only=True)

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


class ConfidenceField(serializers.FloatField):
    """A JSON number from 0 to 1; neither a word nor true nor false."""

    default_error_messages = {"not_a_share": "Must be a number from 0 to 1."}

    def to_internal_value(self, data: Any) -> float:
        if not is_share(data):
            self.fail("not_a_share")
        return float(data)


class MemoryChangeRequest(KnownFieldsSerializer):
    """Fields of a memory to change."""

    category = serializers.ChoiceField(choices=Category.choices)
    key = StrictCharField(max_length=MAX_KEY_CHARACTERS)
    value = serializers.JSONField()
    confidence = ConfidenceField(required=False, min_value=0, max_value=1)
    source = serializers.ChoiceField(choices=Source.choices, required=False)  # type: ignore[assignment]
    muted = StrictBooleanField(required=False, help_text=MUTED_HELP)


class MemoryReplaceRequest(MemoryChangeRequest):
    """A complete memory. Read-only fields are ignored, so a GET response can be sent back."""

    ignored = frozenset(LongTermMemorySerializer.Meta.fields)


class MemoryRequest(MemoryChangeRequest):
    """A new memory; `confidence` defaults to 1 and `source` to user_stated."""

    session_id = serializers.UUIDField(required=False, allow_null=True)
    muted = None  # type: ignore[assignment]  # a new one is not


class BatchDeleteRequest(KnownFieldsSerializer):
    """IDs of the memories to delete; `copies` also deletes the copies that `…/copies` lists."""

    ids = serializers.ListField(child=serializers.UUIDField(), allow_empty=False)
    copies = StrictBooleanField(default=False)


class BatchDeletedSerializer(serializers.Serializer[Any]):
    """The number of deleted memories, and the IDs that were not found."""

    deleted = serializers.IntegerField()
    missing = serializers.ListField(child=serializers.UUIDField())


class MemoryCopySerializer(serializers.Serializer[Any]):
    """Another place with the memory's text: another memory, a context variable, a topic, or a text."""

    kind = serializers.ChoiceField(choices=["long_term", "atomic", "working", "topic", "profile", "summary", "context"])
    id = serializers.UUIDField()
    field = serializers.CharField()
    text = serializers.CharField()


class CopiesSerializer(serializers.Serializer[Any]):
    results = MemoryCopySerializer(many=True)


class ScoredMemorySerializer(serializers.Serializer[Any]):
    """A memory with its score and every component of it (K5)."""

    memory = LongTermMemorySerializer()
    score = serializers.FloatField()
    keyword_score = serializers.FloatField()
    semantic_score = serializers.FloatField()
    category_boost = serializers.FloatField()
    recency_score = serializers.FloatField()
    frequency_score = serializers.FloatField()
    confidence = serializers.FloatField()
    topic_boost = serializers.FloatField()


class RankedMemoriesSerializer(serializers.Serializer[Any]):
    results = ScoredMemorySerializer(many=True)
