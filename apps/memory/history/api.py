"""REST of the audit record (L7): /memory/changes."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_user
from apps.core.http import read_uuid
from apps.memory.history.filters import ChangeFilter
from apps.memory.history.selectors import list_changes
from apps.memory.history.serializers import ChangeSerializer
from apps.memory.history.undo import undo_operation
from apps.memory.models import Change


class ChangesView(generics.ListAPIView[Change]):
    """All changes to the user's memories, newest first, with author, time, and the state before and after."""

    serializer_class = ChangeSerializer
    filterset_class = ChangeFilter
    queryset = Change.objects.none()  # for the schema; requests see their user's own

    def get_queryset(self) -> Any:
        return list_changes(get_user(self.request))


class UndoView(APIView):
    """Undo an operation: all that it changed. Undoing that does it again."""

    def post(self, request: Request, operation: str) -> Response:
        user = get_user(request)
        undoing = undo_operation(user=user, operation=read_uuid(operation), now=timezone.now())
        changes = list_changes(user).filter(operation=undoing)
        return Response({"results": ChangeSerializer(changes, many=True).data})
