"""Atomic memories on the wire (A1)."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.core.fields import StrictBooleanField, StrictCharField, StrictDateTimeField
from apps.core.serializers import KnownFieldsSerializer
from apps.memory.atomic.validation import MAX_TAG_CHARACTERS, MAX_TAGS
from apps.memory.models import AtomicMemory


class AtomicMemorySerializer(serializers.ModelSerializer[AtomicMemory]):
    """The fields of A1."""

    session_id = serializers.UUIDField(allow_null=True, read_only=True)
    message_id = serializers.UUIDField(allow_null=True, read_only=True)
    superseded_by = serializers.UUIDField(source="superseded_by_id", allow_null=True, read_only=True)
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


class AtomicChangeRequest(KnownFieldsSerializer):
    """Fields of an atomic memory to change."""

    content = StrictCharField()
    tags = serializers.ListField(
        child=StrictCharField(max_length=MAX_TAG_CHARACTERS), max_length=MAX_TAGS, required=False
    )
    timestamp = StrictDateTimeField(required=False)
    event_start = StrictDateTimeField(required=False, allow_null=True)
    event_end = StrictDateTimeField(required=False, allow_null=True)
    muted = StrictBooleanField(required=False, help_text="Kept and shown, but never recalled in a reply (L10).")


class AtomicReplaceRequest(AtomicChangeRequest):
    """A complete atomic memory. Read-only fields are ignored, so a GET response can be sent back."""

    ignored = frozenset(AtomicMemorySerializer.Meta.fields)


class AtomicRequest(AtomicChangeRequest):
    """A new atomic memory; `timestamp` defaults to now."""

    session_id = serializers.UUIDField(required=False, allow_null=True)
    muted = None  # type: ignore[assignment]  # a new one is not


class ScoredAtomicSerializer(serializers.Serializer[Any]):
    """An atomic memory with its score (0 to 1, comparable only within one response) and score components.

    `keyword_score` is BM25 (at least 0, unbounded); `semantic_score` is the cosine (0 if unknown).
    """

    memory = AtomicMemorySerializer()
    score = serializers.FloatField()
    keyword_score = serializers.FloatField()
    semantic_score = serializers.FloatField()


class RankedAtomicSerializer(serializers.Serializer[Any]):
    results = ScoredAtomicSerializer(many=True)
