"""Changes on the wire (L7)."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.memory.models import Change


@extend_schema_field({"type": ["object", "null"], "additionalProperties": True})
class SnapshotField(serializers.JSONField):
    """What an object was: fields by name, different from kind to kind."""


class ChangeSerializer(serializers.ModelSerializer[Change]):
    """One change. `before` is null for a creation; both are null if the object has since been deleted.

    `actor` null: the assistant. `message_id`: the message that caused it, null where none did or it was deleted.
    """

    message_id = serializers.UUIDField(allow_null=True, read_only=True)
    actor = serializers.CharField(source="actor.username", default=None, allow_null=True, read_only=True)
    before = SnapshotField(read_only=True)
    after = SnapshotField(read_only=True)
    can_be_undone = serializers.BooleanField(read_only=True)

    class Meta:
        model = Change
        fields = read_only_fields = (
            "operation",
            "object_id",
            "kind",
            "action",
            "origin",
            "actor",
            "message_id",
            "before",
            "after",
            "undone_by",
            "can_be_undone",
            "created_at",
        )


class ChangesSerializer(serializers.Serializer[dict[str, list[Change]]]):
    """The changes made by undoing."""

    results = ChangeSerializer(many=True, read_only=True)
