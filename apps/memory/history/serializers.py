"""Changes on the wire (L7)."""

from __future__ import annotations

from rest_framework import serializers

from apps.memory.models import Change


class ChangeSerializer(serializers.ModelSerializer[Change]):
    """One change. `before` null: it was made then; both null: it has been deleted since. `actor` null: the machine."""

    actor = serializers.CharField(source="actor.username", default=None, allow_null=True, read_only=True)
    before = serializers.JSONField(allow_null=True, read_only=True)
    after = serializers.JSONField(allow_null=True, read_only=True)
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
            "before",
            "after",
            "undone_by",
            "can_be_undone",
            "created_at",
        )


class ChangesSerializer(serializers.Serializer[dict[str, list[Change]]]):
    """What undoing changed."""

    results = ChangeSerializer(many=True, read_only=True)
