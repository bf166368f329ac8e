"""Atomic memories on the wire (A1)."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.core.fields import StrictBooleanField, StrictCharField, StrictDateTimeField, StrictUUIDField
from apps.core.serializers import KnownFieldsSerializer
from apps.memory.atomic.validation import MAX_TAG_CHARACTERS, MAX_TAGS
from apps.memory.models import AtomicMemory

TIMESTAMP_HELP = "When it was said."
EVENT_HELP = "When it happened, or began, if that was said."


class AtomicMemorySerializer(serializers.ModelSerializer[AtomicMemory]):
    """A statement from a conversation, in one to four sentences."""

    session_id = serializers.UUIDField(
        allow_null=True, read_only=True, help_text="The session it comes from; null if there is none or it was deleted."
    )
    message_id = serializers.UUIDField(
        allow_null=True, read_only=True, help_text="The message in which it was said; null if there is none."
    )
    superseded_by = serializers.UUIDField(
        source="superseded_by_id", allow_null=True, read_only=True, help_text="ID of the memory that took its place."
    )
    tags = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = AtomicMemory
        fields = read_only_fields = (
            "id",
            "session_id",
            "message_id",
            "content",
            "tags",
            "timestamp",
            "event_start",
            "event_end",
            "status",
            "superseded_by",
            "muted",
            "create_time",
            "updated_at",
        )
        extra_kwargs = {
            "timestamp": {"help_text": TIMESTAMP_HELP},
            "event_start": {"help_text": EVENT_HELP},
            "event_end": {"help_text": "When it ended, if that was said."},
            "status": {"help_text": "Only `active` memories are recalled; `pending` ones wait for review."},
        }


class AtomicMemoryChangeRequest(KnownFieldsSerializer):
    """Fields of an atomic memory to change."""

    content = StrictCharField()
    tags = serializers.ListField(
        child=StrictCharField(max_length=MAX_TAG_CHARACTERS), max_length=MAX_TAGS, required=False
    )
    timestamp = StrictDateTimeField(required=False, help_text=TIMESTAMP_HELP)
    event_start = StrictDateTimeField(required=False, allow_null=True, help_text=EVENT_HELP)
    event_end = StrictDateTimeField(required=False, allow_null=True)
    muted = StrictBooleanField(required=False, help_text="Kept and shown, but never recalled in a reply.")


class AtomicMemoryReplaceRequest(AtomicMemoryChangeRequest):
    """A complete atomic memory. Read-only fields are ignored, so a GET response can be sent back."""

    ignored = frozenset(AtomicMemorySerializer.Meta.fields)


class AtomicMemoryRequest(AtomicMemoryChangeRequest):
    """A new atomic memory; `timestamp` defaults to now."""

    session_id = StrictUUIDField(required=False, allow_null=True)
    muted = None  # type: ignore[assignment]  # a new one is not


class ScoredAtomicMemorySerializer(serializers.Serializer[Any]):
    """An atomic memory with its score and the components of it."""

    memory = AtomicMemorySerializer()
    score = serializers.FloatField(help_text="The sum of `parts`; comparable within one response only.")
    keyword_score = serializers.FloatField(help_text="BM25: at least 0, without an upper limit.")
    semantic_score = serializers.FloatField(help_text="Cosine similarity; 0 if unknown.")
    parts = serializers.DictField(
        child=serializers.FloatField(), help_text="The points that each feature adds to the score, or takes from it."
    )


class AtomicSearchResultsSerializer(serializers.Serializer[Any]):
    """Best first."""

    results = ScoredAtomicMemorySerializer(many=True)
