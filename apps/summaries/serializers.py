"""Session summaries on the wire (S1)."""

from __future__ import annotations

from rest_framework import serializers

from apps.core.fields import StrictCharField, StrictUUIDField
from apps.core.serializers import KnownFieldsSerializer
from apps.summaries.models import SessionSummary
from apps.summaries.services import MAX_SNIPPET_CHARACTERS, MAX_TITLE_CHARACTERS


class SessionSummarySerializer(serializers.ModelSerializer[SessionSummary]):
    """A short summary of a session."""

    session_id = serializers.UUIDField(read_only=True)

    class Meta:
        model = SessionSummary
        fields = read_only_fields = ("id", "session_id", "title", "snippet", "created_at")


class SummaryChangeRequest(KnownFieldsSerializer):
    """Fields of a summary to change."""

    title = StrictCharField(max_length=MAX_TITLE_CHARACTERS)
    snippet = StrictCharField(max_length=MAX_SNIPPET_CHARACTERS)


class SummaryReplaceRequest(SummaryChangeRequest):
    """A complete summary. Read-only fields are ignored, so a GET response can be sent back."""

    ignored = frozenset(SessionSummarySerializer.Meta.fields)


class SummaryRequest(SummaryChangeRequest):
    """A summary written by hand for a session without one."""

    session_id = StrictUUIDField()
