"""REST of shared contexts (SPEC, API: /memory/contexts)."""

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
from apps.memory.models import SharedContext
from apps.memory.shared_context import services
from apps.memory.shared_context.selectors import get_context, list_contexts
from apps.memory.shared_context.serializers import ContextEntryRequest, SharedContextRequest, SharedContextSerializer
from apps.memory.shared_context.types import MAX_AUTHOR_CHARACTERS


class ContextsView(generics.ListAPIView[SharedContext]):
    """The user's shared contexts, newest first; create one."""

    serializer_class = SharedContextSerializer
    filterset_class = TimesFilter
    queryset = SharedContext.objects.none()  # for the schema; requests see their user's own

    def get_queryset(self) -> Any:
        return list_contexts(get_user(self.request))

    def post(self, request: Request) -> Response:
        body = SharedContextRequest(data=request.data)
        body.is_valid(raise_exception=True)
        context = services.create_context(user=get_user(request), now=timezone.now(), **body.validated_data)
        return Response(SharedContextSerializer(context).data, status=status.HTTP_201_CREATED)


class ContextView(APIView):
    """One shared context with its entries."""

    def get(self, request: Request, context_id: str) -> Response:
        return Response(SharedContextSerializer(get_context(get_user(request), read_uuid(context_id))).data)

    def delete(self, request: Request, context_id: str) -> Response:
        services.forget_context(user=get_user(request), context_id=read_uuid(context_id), now=timezone.now())
        return Response({"deleted": 1})


class ContextEntriesView(APIView):
    """Append entries to a context; existing ones do not change. 413 if the total exceeds 64 KiB."""

    def post(self, request: Request, context_id: str) -> Response:
        user, asked = get_user(request), read_uuid(context_id)
        body = ContextEntryRequest(data=request.data)
        get_context(user, asked)
        body.is_valid(raise_exception=True)
        author = body.validated_data.get("author", user.get_username()[:MAX_AUTHOR_CHARACTERS])
        text = body.validated_data["text"]
        context = services.append_entry(user=user, context_id=asked, text=text, author=author, now=timezone.now())
        return Response(SharedContextSerializer(context).data, status=status.HTTP_201_CREATED)
