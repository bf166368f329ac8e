"""Shared contexts on the wire (X1)."""

from __future__ import annotations

from rest_framework import serializers

from apps.core.fields import StrictCharField, StrictUUIDField
from apps.core.serializers import KnownFieldsSerializer
from apps.memory.models import ContextEntry, SharedContext
from apps.memory.shared_context.types import MAX_AUTHOR_CHARACTERS, MAX_TITLE_CHARACTERS


class ContextEntrySerializer(serializers.ModelSerializer[ContextEntry]):
    """Something that was added to a shared context."""

    class Meta:
        model = ContextEntry
        fields = read_only_fields = ("id", "author", "text", "created_at")


class SharedContextSerializer(serializers.ModelSerializer[SharedContext]):
    """The background of a case. Entries are in the order in which they were added."""

    session_id = serializers.UUIDField(allow_null=True, read_only=True)
    entries = ContextEntrySerializer(many=True, read_only=True)

    class Meta:
        model = SharedContext
        fields = read_only_fields = ("id", "session_id", "title", "content", "entries", "created_at", "updated_at")


class SharedContextRequest(KnownFieldsSerializer):
    """A new context, optionally of one of the user's sessions."""

    title = StrictCharField(max_length=MAX_TITLE_CHARACTERS)
    content = StrictCharField()
    session_id = StrictUUIDField(required=False, allow_null=True)


class ContextEntryRequest(KnownFieldsSerializer):
    """A text to add; `author` defaults to the username."""

    text = StrictCharField()
    author = StrictCharField(required=False, max_length=MAX_AUTHOR_CHARACTERS)
