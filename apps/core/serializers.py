"""What the bodies and answers of every app have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers


class KnownFieldsSerializer(serializers.Serializer[Any]):
    """Rejects unknown fields, because the value of a mistyped field would be lost."""

    ignored: frozenset[str] = frozenset()

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if isinstance(data, Mapping):
            unknown = [name for name in data if name not in self.fields and name not in self.ignored]
            if unknown:
                raise serializers.ValidationError({name: ["This field cannot be set here."] for name in unknown})
        values: dict[str, Any] = super().to_internal_value(data)
        return values


class DeletedSerializer(serializers.Serializer[Any]):
    """The result of a DELETE."""

    deleted = serializers.IntegerField(help_text="How many were deleted.")
