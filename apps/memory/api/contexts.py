"""REST of shared contexts (X1): /memory/contexts."""

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
from apps.core.errors import TooLarge
from apps.core.fields import KnownFieldsSerializer, StrictCharField, StrictUUIDField, read_body
from apps.core.http import ListView, read_uuid
from apps.core.operations import Problem, describe
from apps.core.pagination import TimesFilter
from apps.memory import contexts as services
from apps.memory.api.lists import SPACE_HELP
from apps.memory.contexts import (
    MAX_AUTHOR_CHARACTERS,
    MAX_CONTEXT_BYTES,
    MAX_TITLE_CHARACTERS,
    get_context,
    list_contexts,
)
from apps.memory.models import ContextEntry, SharedContext

operation = partial(describe, tag="Shared contexts")


class ContextEntrySerializer(serializers.ModelSerializer[ContextEntry]):
    """Something that was added to a shared context."""

    class Meta:
        model = ContextEntry
        fields = read_only_fields = ("id", "author", "text", "created_at")


class SharedContextSerializer(serializers.ModelSerializer[SharedContext]):
    """The background of a case. Entries are in the order in which they were added."""

    example = {
        "id": "3b0f6a4c-2e91-4d7a-8c55-6f1e9d2a7b38",
        "session_id": None,
        "space": None,
        "title": "租房合同纠纷",
        "content": "合同自2025年3月1日起，为期两年，月租4500元，提前三个月通知解约。",
        "entries": [
            {
                "id": "9e4d1c7b-5a36-4f02-b8d9-0c7a6e3f2d15",
                "author": "researcher",
                "text": "押金由第三方保管。",
                "created_at": "2026-11-20T18:12:09.331006Z",
            }
        ],
        "created_at": "2026-11-20T18:02:11.402913Z",
        "updated_at": "2026-11-20T18:12:09.331006Z",
    }

    session_id = serializers.UUIDField(allow_null=True, read_only=True)
    entries = ContextEntrySerializer(many=True, read_only=True)

    class Meta:
        model = SharedContext
        fields = read_only_fields = (
            "id",
            "session_id",
            "space",
            "title",
            "content",
            "entries",
            "created_at",
            "updated_at",
        )


class SharedContextRequest(KnownFieldsSerializer):
    """A new context, optionally of one of the user's sessions."""

    example = SharedContextSerializer.example

    title = StrictCharField(max_length=MAX_TITLE_CHARACTERS)
    content = StrictCharField()
    session_id = StrictUUIDField(required=False, allow_null=True)
    space = StrictUUIDField(source="space_id", required=False, allow_null=True, help_text=SPACE_HELP)


class ContextEntryRequest(KnownFieldsSerializer):
    """A text to add; `author` defaults to the username."""

    example = {"text": "The deposit is held by a protection scheme.", "author": "researcher"}

    text = StrictCharField()
    author = StrictCharField(required=False, max_length=MAX_AUTHOR_CHARACTERS)


class SharedContextFilter(TimesFilter):
    """Narrow the list to a space, and order it."""

    space = SpaceFilter()


def _too_large(field: str) -> Problem:
    reason = f"A shared context has at most {MAX_CONTEXT_BYTES:,} bytes in all; this would make 70,000."
    return Problem(TooLarge, "The context would have over 64 KiB", {field: [reason]})


class ContextsView(ListView):
    """The user's shared contexts, newest first; create one."""

    serializer_class = SharedContextSerializer
    filterset_class = SharedContextFilter
    rows = staticmethod(list_contexts)

    @operation("list_shared_contexts", scope=Scope.READ, problems=[NO_SPACE])
    def get(self, request: Request) -> Response:
        """List shared contexts. Newest first."""
        return self.list(request)

    @operation(
        "create_shared_context",
        scope=Scope.WRITE,
        body=SharedContextRequest,
        status=201,
        problems=[NO_SESSION, NO_SPACE, _too_large("content")],
    )
    def post(self, request: Request) -> Response:
        """Create a shared context."""
        body = read_body(SharedContextRequest, request)
        context = services.create_context(user=get_user(request), now=timezone.now(), **body)
        return Response(SharedContextSerializer(context).data, status=status.HTTP_201_CREATED)


class ContextView(APIView):
    """One shared context with its entries."""

    @operation("get_shared_context", scope=Scope.READ, answers=SharedContextSerializer)
    def get(self, request: Request, context_id: str) -> Response:
        """Get a shared context. With its entries, in the order in which they were added."""
        return Response(SharedContextSerializer(get_context(get_user(request), read_uuid(context_id))).data)

    @operation("delete_shared_context", scope=Scope.WRITE)
    def delete(self, request: Request, context_id: str) -> Response:
        """Delete a shared context."""
        services.delete_context(user=get_user(request), context_id=read_uuid(context_id), now=timezone.now())
        return Response({"deleted": 1})


class ContextEntriesView(APIView):
    """Append entries to a context; existing ones do not change. 413 if the total exceeds 64 KiB."""

    @operation(
        "add_context_entry",
        scope=Scope.WRITE,
        body=ContextEntryRequest,
        status=201,
        answers=SharedContextSerializer,
        problems=[_too_large("text")],
    )
    def post(self, request: Request, context_id: str) -> Response:
        """Add to a shared context. What is there does not change. `author` is the username by default."""
        user, asked = get_user(request), read_uuid(context_id)
        get_context(user, asked)
        body = read_body(ContextEntryRequest, request)
        author = body.get("author", user.get_username()[:MAX_AUTHOR_CHARACTERS])
        context = services.append_entry(
            user=user, context_id=asked, text=body["text"], author=author, now=timezone.now()
        )
        return Response(SharedContextSerializer(context).data, status=status.HTTP_201_CREATED)
