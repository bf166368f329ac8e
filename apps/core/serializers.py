"""Answers that every app gives in the same shape."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class DeletedSerializer(serializers.Serializer[Any]):
    """What a DELETE did."""

    deleted = serializers.IntegerField()
