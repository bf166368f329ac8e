"""Working memory on the wire (W1)."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.core.fields import StrictCharField
from apps.core.serializers import KnownFieldsSerializer
from apps.memory.working.selectors import WorkingMemorySnapshot


class WorkingMemorySerializer(serializers.Serializer[Any]):
    """What a session is about now."""

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


class WorkingMemoryChangeRequest(KnownFieldsSerializer):
    """Changes to working memory."""

    current_topic = StrictCharField(required=False, allow_null=True, max_length=200, help_text="Null clears it.")
    context_variables = serializers.DictField(required=False, help_text="Merged by key; null removes one.")
