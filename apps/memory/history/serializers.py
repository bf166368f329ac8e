"""Changes on the wire (L7)."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.memory.models import Change


@extend_schema_field({"type": ["object", "null"], "additionalProperties": True})
class SnapshotField(serializers.JSONField):
    """What an object was: fields by name, different from kind to kind."""


class ChangeSerializer(serializers.ModelSerializer[Change]):
    """One change of one memory, or of the profile, a summary or a shared context."""

    message_id = serializers.UUIDField(
        allow_null=True, read_only=True, help_text="The message that caused it; null if none did or it was deleted."
    )
    actor = serializers.CharField(
        source="actor.username", default=None, allow_null=True, read_only=True, help_text="Null: the assistant."
    )
    before = SnapshotField(read_only=True, help_text="Null for a creation, and if the object has since been deleted.")
    after = SnapshotField(read_only=True, help_text="Null if the object has since been deleted.")
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
        extra_kwargs = {
            "operation": {"help_text": "Changes with the same operation belong together and are undone together."},
            "undone_by": {"help_text": "The operation that undid it."},
        }


class UndoneChangesSerializer(serializers.Serializer[dict[str, list[Change]]]):
    """The changes made by undoing."""

    results = ChangeSerializer(many=True, read_only=True)
