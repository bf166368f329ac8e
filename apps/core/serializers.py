"""Read request bodies, and hold what the bodies and answers of every app have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request


class KnownFieldsSerializer(serializers.Serializer[Any]):
    """Reject unknown fields, because the value of a mistyped field would be lost."""

    example: ClassVar[Any] = None  # of a body, for the API document
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


def read_body(serializer: type[serializers.BaseSerializer[Any]], request: Request, **options: Any) -> dict[str, Any]:
    """Return the validated body of a request. Raises DRF's `ValidationError`. `options`: the serializer's."""
    body = serializer(data=request.data, **options)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)
