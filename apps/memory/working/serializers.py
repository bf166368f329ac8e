"""Working memory on the wire (W1)."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.core.fields import StrictCharField
from apps.core.serializers import KnownFieldsSerializer
from apps.memory.working.selectors import WorkingMemorySnapshot


class WorkingMemorySerializer(serializers.Serializer[Any]):
    """The fields of W1; variables in the order they were written."""

    session_id = serializers.UUIDField()
    current_topic = serializers.CharField(allow_null=True)
    context_variables = serializers.DictField()
    turn_count = serializers.IntegerField()
    last_emotion = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def to_representation(self, instance: WorkingMemorySnapshot) -> dict[str, Any]:
        return instance.to_wire()


class WorkingMemoryChangeSerializer(KnownFieldsSerializer):
    """A null topic clears it; variables are merged by key, and null removes a variable."""

    current_topic = StrictCharField(required=False, allow_null=True, max_length=200)
    context_variables = serializers.DictField(required=False)
