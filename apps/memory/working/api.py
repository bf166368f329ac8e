"""REST of working memory (SPEC, API: /memory/working/{session_id})."""

from __future__ import annotations

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_settings, get_user
from apps.core.http import read_uuid
from apps.memory.working import services
from apps.memory.working.selectors import get_working_memory
from apps.memory.working.serializers import WorkingMemoryChangeRequest, WorkingMemorySerializer


class WorkingMemoryView(APIView):
    """Working memory of an active session; 404 before its first message and after it has expired (W2, W4)."""

    def get(self, request: Request, session_id: str) -> Response:
        user = get_user(request)
        ttl_minutes = get_settings(user).working_ttl_minutes
        snapshot = get_working_memory(user, read_uuid(session_id), now=timezone.now(), ttl_minutes=ttl_minutes)
        return Response(WorkingMemorySerializer(snapshot).data)

    def patch(self, request: Request, session_id: str) -> Response:
        body = WorkingMemoryChangeRequest(data=request.data)
        body.is_valid(raise_exception=True)
        snapshot = services.update_working_memory(
            user=get_user(request), session_id=read_uuid(session_id), now=timezone.now(), changes=body.validated_data
        )
        return Response(WorkingMemorySerializer(snapshot).data)

    def delete(self, request: Request, session_id: str) -> Response:
        deleted = services.forget_working_memory(user=get_user(request), session_id=read_uuid(session_id))
        return Response({"deleted": deleted})
