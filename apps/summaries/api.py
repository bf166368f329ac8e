"""REST of session summaries (SPEC, API: /summaries)."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_user
from apps.core.filtering import TimesFilter
from apps.core.http import read_uuid
from apps.summaries import services
from apps.summaries.models import SessionSummary
from apps.summaries.serializers import (
    SessionSummarySerializer,
    SummaryChangeRequest,
    SummaryReplaceRequest,
    SummaryRequest,
)
from apps.summaries.services import get_session_summary, list_session_summaries


class SummariesView(generics.ListAPIView[SessionSummary]):
    """Summaries of the user's sessions, newest first; write one by hand."""

    serializer_class = SessionSummarySerializer
    filterset_class = TimesFilter
    queryset = SessionSummary.objects.none()  # for the schema; requests see their user's own

    def get_queryset(self) -> Any:
        return list_session_summaries(get_user(self.request))

    def post(self, request: Request) -> Response:
        body = SummaryRequest(data=request.data)
        body.is_valid(raise_exception=True)
        summary = services.create_session_summary(user=get_user(request), now=timezone.now(), **body.validated_data)
        return Response(SessionSummarySerializer(summary).data, status=status.HTTP_201_CREATED)


class SummaryView(APIView):
    """The summary of one session. Summaries edited by the user are not overwritten."""

    def get(self, request: Request, summary_id: str) -> Response:
        summary = get_session_summary(get_user(request), read_uuid(summary_id))
        return Response(SessionSummarySerializer(summary).data)

    def put(self, request: Request, summary_id: str) -> Response:
        return self._update(request, summary_id, body=SummaryReplaceRequest(data=request.data))

    def patch(self, request: Request, summary_id: str) -> Response:
        return self._update(request, summary_id, body=SummaryChangeRequest(data=request.data, partial=True))

    def _update(self, request: Request, summary_id: str, *, body: SummaryChangeRequest) -> Response:
        user, asked = get_user(request), read_uuid(summary_id)
        get_session_summary(user, asked)
        body.is_valid(raise_exception=True)
        changes, now = body.validated_data, timezone.now()
        summary = services.update_session_summary(user=user, summary_id=asked, changes=changes, now=now)
        return Response(SessionSummarySerializer(summary).data)

    def delete(self, request: Request, summary_id: str) -> Response:
        user, asked = get_user(request), read_uuid(summary_id)
        services.delete_session_summary(user=user, summary_id=asked, now=timezone.now())
        return Response({"deleted": 1})
