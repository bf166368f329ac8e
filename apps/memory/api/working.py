"""REST of working memory (W1): /memory/working/{session_id}."""

from __future__ import annotations

from functools import partial

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_settings, get_user
from apps.accounts.types import Scope
from apps.core.errors import NotFound, TooLarge
from apps.core.fields import KnownFieldsSerializer, StrictCharField, read_body
from apps.core.http import read_uuid
from apps.core.operations import Problem, describe
from apps.memory import working as services
from apps.memory.serializers import WorkingMemorySerializer
from apps.memory.working import get_working_memory

operation = partial(describe, tag="Working memory")
NONE = Problem(NotFound, "The session has no working memory now")


class WorkingMemoryChangeRequest(KnownFieldsSerializer):
    """Changes to working memory."""

    example = {"current_topic": "旅行", "context_variables": {"guests": 2}}

    current_topic = StrictCharField(required=False, allow_null=True, max_length=200, help_text="Null clears it.")
    context_variables = serializers.DictField(required=False, help_text="Merged by key; null removes one.")


class WorkingMemoryView(APIView):
    """Working memory of an active session; 404 before its first message and after it has expired (W2, W4)."""

    serializer_class = WorkingMemorySerializer

    @operation("get_working_memory", scope=Scope.READ, problems=[NONE])
    def get(self, request: Request, session_id: str) -> Response:
        """Get the working memory of a session.

        There is none before the first message, nor after the session has been idle for
        `memory.working_ttl_minutes`.
        """
        user = get_user(request)
        ttl_minutes = get_settings(user).working_ttl_minutes
        snapshot = get_working_memory(user, read_uuid(session_id), now=timezone.now(), ttl_minutes=ttl_minutes)
        return Response(WorkingMemorySerializer(snapshot).data)

    @operation(
        "update_working_memory",
        scope=Scope.WRITE,
        body=WorkingMemoryChangeRequest,
        problems=[NONE, Problem(TooLarge, "The variables do not fit")],
    )
    def patch(self, request: Request, session_id: str) -> Response:
        """Change the working memory of a session.

        A null topic clears it. Variables are merged by key, and null removes one.
        """
        changes = read_body(WorkingMemoryChangeRequest, request)
        snapshot = services.update_working_memory(
            user=get_user(request), session_id=read_uuid(session_id), now=timezone.now(), changes=changes
        )
        return Response(WorkingMemorySerializer(snapshot).data)

    @operation("delete_working_memory", scope=Scope.WRITE, problems=[NONE])
    def delete(self, request: Request, session_id: str) -> Response:
        """Delete the working memory of a session. The next message starts a new one."""
        deleted = services.delete_working_memory(user=get_user(request), session_id=read_uuid(session_id))
        return Response({"deleted": deleted})
