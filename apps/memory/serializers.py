"""Memories of each kind on the wire (L1, A1, W1)."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.accounts.types import Sensitive
from apps.memory.keyed import Mode
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.memory.working import WorkingMemorySnapshot

TIMESTAMP_HELP = "When it was said."
EVENT_HELP = "When it happened, or began, if that was said."
VALID_UNTIL_HELP = "When it ceases to hold, if it does: kept and shown after that, but no longer recalled."
SENSITIVE_HELP = "The sensitive categories that it was marked with."
STATUS_HELP = "Only `active` memories are recalled; `pending` ones wait for review."


class MarksField(serializers.ListField):
    """Sensitive categories (D4)."""

    def __init__(self, **kwargs: Any) -> None:
        child = serializers.ChoiceField(choices=[one.value for one in Sensitive])
        super().__init__(child=child, max_length=len(Sensitive), help_text=SENSITIVE_HELP, **kwargs)


class LinkedSerializer(serializers.Serializer[Any]):
    """Where a memory comes from, what took its place, and what it is marked with."""

    session_id = serializers.UUIDField(
        allow_null=True, read_only=True, help_text="The session it comes from; null if there is none or it was deleted."
    )
    message_id = serializers.UUIDField(
        allow_null=True, read_only=True, help_text="The message in which it was said; null if there is none."
    )
    space = serializers.UUIDField(
        source="space_id", allow_null=True, read_only=True, help_text="ID of the space it is in; null: everywhere."
    )
    superseded_by = serializers.UUIDField(
        source="superseded_by_id", allow_null=True, read_only=True, help_text="ID of the memory that took its place."
    )
    sensitive = MarksField(read_only=True)


class LongTermMemorySerializer(LinkedSerializer, serializers.ModelSerializer[LongTermMemory]):
    """Something known about the person, under a key. One value per key is active."""

    example = {
        "id": "5e0c8a52-9d3b-4f6e-b1c7-2a4d6f8e0b13",
        "session_id": None,
        "message_id": None,
        "space": None,
        "category": "fact",
        "key": "allergies",
        "value": ["peanuts", "shrimp"],
        "confidence": 1.0,
        "source": "user_stated",
        "status": "active",
        "mode": "replace",
        "superseded_by": None,
        "muted": False,
        "valid_until": None,
        "sensitive": ["health"],
        "created_at": "2026-10-03T08:30:02.114920Z",
        "updated_at": "2026-10-03T08:30:02.114920Z",
        "last_accessed": "2026-11-20T18:05:47.118204Z",
        "access_count": 4,
    }

    mode = serializers.ChoiceField(
        choices=[mode.value for mode in Mode],
        read_only=True,
        help_text="How a pending memory, once accepted, changes the current value of its key.",
    )

    class Meta:
        model = LongTermMemory
        fields = read_only_fields = LONG_TERM.api_fields
        extra_kwargs = {
            "value": {"help_text": "Any JSON value."},
            "confidence": {"help_text": "From 0 to 1."},
            "valid_until": {"help_text": VALID_UNTIL_HELP},
            "status": {"help_text": STATUS_HELP},
            "last_accessed": {"help_text": "When it was last in a prompt; at first, when it was created."},
            "access_count": {"help_text": "In how many prompts it was."},
        }


class AtomicMemorySerializer(LinkedSerializer, serializers.ModelSerializer[AtomicMemory]):
    """A statement from a conversation, in one to four sentences."""

    example = {
        "id": "b72ee391-ef08-4753-8e80-6bd21f8837be",
        "session_id": "8d1f2c1e-5a0b-4c57-9f0e-3a7b5b1d9c42",
        "message_id": "2f6a1f0a-7c7e-4a35-8b8e-0d5f3a9e6b11",
        "space": None,
        "content": "用户上周六搬到了成都。",
        "source": "user_stated",
        "tags": ["住处"],
        "timestamp": "2026-10-03T08:30:00Z",
        "event_start": "2026-09-26T00:00:00Z",
        "event_end": None,
        "status": "active",
        "superseded_by": None,
        "muted": False,
        "valid_until": None,
        "sensitive": [],
        "create_time": "2026-10-03T08:30:06.402117Z",
        "updated_at": "2026-10-03T08:30:06.402117Z",
    }

    tags = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = AtomicMemory
        fields = read_only_fields = ATOMIC.api_fields
        extra_kwargs = {
            "source": {"help_text": "`assistant`: it tells what the assistant said, not the person."},
            "timestamp": {"help_text": TIMESTAMP_HELP},
            "event_start": {"help_text": EVENT_HELP},
            "event_end": {"help_text": "When it ended, if that was said."},
            "valid_until": {"help_text": VALID_UNTIL_HELP},
            "status": {"help_text": STATUS_HELP},
        }


class WorkingMemorySerializer(serializers.Serializer[Any]):
    """What a session is about now."""

    example = {
        "session_id": "8d1f2c1e-5a0b-4c57-9f0e-3a7b5b1d9c42",
        "current_topic": "旅行",
        "context_variables": {
            "guests": 2,
            "hitl_行程安排": {
                "fields": {"destination": "北京", "date": "周末"},
                "timestamp": "2026-11-20T18:05:44.730122+00:00",
            },
        },
        "turn_count": 3,
        "last_emotion": "curious",
        "created_at": "2026-11-20T18:02:15.220871+00:00",
        "updated_at": "2026-11-20T18:05:47.118204+00:00",
    }

    session_id = serializers.UUIDField()
    current_topic = serializers.CharField(allow_null=True)
    context_variables = serializers.DictField(
        help_text="Details of this conversation, in the order in which they were written. Forms are `hitl_<title>`."
    )
    turn_count = serializers.IntegerField()
    last_emotion = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def to_representation(self, instance: WorkingMemorySnapshot) -> dict[str, Any]:
        return instance.to_wire()
