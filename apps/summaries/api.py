"""REST of session summaries (S1): /summaries."""

from __future__ import annotations

from functools import partial

from django.utils import timezone
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_user
from apps.accounts.spaces import NO_SPACE, SpaceFilter
from apps.accounts.types import Scope
from apps.conversations.serializers import NO_SESSION
from apps.core.errors import Conflict
from apps.core.fields import KnownFieldsSerializer, StrictCharField, StrictUUIDField, read_body
from apps.core.http import ListView, read_uuid
from apps.core.operations import Problem, describe
from apps.core.pagination import TimesFilter
from apps.summaries.models import SessionSummary
from apps.summaries.services import (
    MAX_SNIPPET_CHARACTERS,
    MAX_TITLE_CHARACTERS,
    create_session_summary,
    delete_session_summary,
    get_session_summary,
    list_session_summaries,
    update_session_summary,
)

operation = partial(describe, tag="Summaries")


class SessionSummarySerializer(serializers.ModelSerializer[SessionSummary]):
    """A short summary of a session."""

    example = {
        "id": "6c2e9b1d-8f47-4a50-93d6-7e0b5a4c1f82",
        "session_id": "8d1f2c1e-5a0b-4c57-9f0e-3a7b5b1d9c42",
        "space": None,
        "title": "Dinner for Anna",
        "snippet": "Planned a vegetarian dinner without peanuts for Friday: mushroom risotto.",
        "created_at": "2026-11-20T18:06:10.845117Z",
    }

    session_id = serializers.UUIDField(read_only=True)
    space = serializers.UUIDField(
        source="session.space_id", allow_null=True, read_only=True, help_text="ID of the space that the session is in."
    )

    class Meta:
        model = SessionSummary
        fields = read_only_fields = ("id", "session_id", "space", "title", "snippet", "created_at")


class SummaryChangeRequest(KnownFieldsSerializer):
    """Fields of a summary to change."""

    example = SessionSummarySerializer.example

    title = StrictCharField(max_length=MAX_TITLE_CHARACTERS)
    snippet = StrictCharField(max_length=MAX_SNIPPET_CHARACTERS)


class SummaryReplaceRequest(SummaryChangeRequest):
    """A complete summary. Read-only fields are ignored, so a GET response can be sent back."""

    ignored = frozenset(SessionSummarySerializer.Meta.fields)


class SummaryRequest(SummaryChangeRequest):
    """A summary written by hand for a session without one."""

    session_id = StrictUUIDField()


class SummaryFilter(TimesFilter):
    """Narrow the list to a space, and order it."""

    space = SpaceFilter("session__space")


class SummariesView(ListView):
    """Summaries of the user's sessions, newest first; write one by hand."""

    serializer_class = SessionSummarySerializer
    filterset_class = SummaryFilter
    rows = staticmethod(lambda user: list_session_summaries(user).select_related("session"))

    @operation("list_summaries", scope=Scope.READ, problems=[NO_SPACE])
    def get(self, request: Request) -> Response:
        """List summaries. Newest first."""
        return self.list(request)

    @operation(
        "create_summary",
        scope=Scope.WRITE,
        body=SummaryRequest,
        status=201,
        problems=[
            NO_SESSION,
            Problem(Conflict, "The session has a summary"),
            Problem(Conflict, "The session is temporary"),
        ],
    )
    def post(self, request: Request) -> Response:
        """Write a summary. For a session that has none."""
        body = read_body(SummaryRequest, request)
        summary = create_session_summary(user=get_user(request), now=timezone.now(), **body)
        return Response(SessionSummarySerializer(summary).data, status=status.HTTP_201_CREATED)


class SummaryView(APIView):
    """The summary of one session. Summaries edited by the user are not overwritten."""

    serializer_class = SessionSummarySerializer

    @operation("get_summary", scope=Scope.READ)
    def get(self, request: Request, summary_id: str) -> Response:
        """Get a summary."""
        summary = get_session_summary(get_user(request), read_uuid(summary_id))
        return Response(SessionSummarySerializer(summary).data)

    @operation("replace_summary", scope=Scope.WRITE, body=SummaryReplaceRequest)
    def put(self, request: Request, summary_id: str) -> Response:
        """Replace a summary. The assistant does not overwrite it any more."""
        return self._update(request, summary_id, SummaryReplaceRequest)

    @operation("update_summary", scope=Scope.WRITE, body=SummaryChangeRequest(partial=True))
    def patch(self, request: Request, summary_id: str) -> Response:
        """Change a summary. Only the given fields. The assistant does not overwrite it any more."""
        return self._update(request, summary_id, SummaryChangeRequest, partial=True)

    def _update(
        self, request: Request, summary_id: str, serializer: type[SummaryChangeRequest], **options: bool
    ) -> Response:
        user, asked = get_user(request), read_uuid(summary_id)
        get_session_summary(user, asked)
        changes, now = read_body(serializer, request, **options), timezone.now()
        summary = update_session_summary(user=user, summary_id=asked, changes=changes, now=now)
        return Response(SessionSummarySerializer(summary).data)

    @operation("delete_summary", scope=Scope.WRITE)
    def delete(self, request: Request, summary_id: str) -> Response:
        """Delete a summary. For good: it is not written again from earlier messages."""
        user, asked = get_user(request), read_uuid(summary_id)
        delete_session_summary(user=user, summary_id=asked, now=timezone.now())
        return Response({"deleted": 1})
