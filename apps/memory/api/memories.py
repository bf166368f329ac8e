"""REST of memories: /memory/long-term (L1) and /memory/atomic (A1)."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

import django_filters  # type: ignore[import-untyped]
from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_user
from apps.accounts.spaces import NO_SPACE, refuse_bound
from apps.accounts.types import Scope
from apps.conversations.serializers import NO_SESSION
from apps.core.errors import Conflict, InvalidInput, TooLarge
from apps.core.fields import (
    KnownFieldsSerializer,
    StrictBooleanField,
    StrictCharField,
    StrictDateTimeField,
    StrictUUIDField,
    read_body,
    refuse_forbidden,
    results_of,
)
from apps.core.http import read_uuid
from apps.core.operations import Answer, Problem, describe, query
from apps.core.pagination import StableOrderingFilter
from apps.memory.api.lists import (
    AS_OF,
    CONFIRM,
    HISTORY,
    MUTED_HELP,
    NOT_PENDING,
    SINCE,
    SPACE_HELP,
    UNTIL,
    MemoriesView,
    MemoryFilter,
    MemoryView,
    TimeFilter,
)
from apps.memory.deletion import delete_memories, list_copies
from apps.memory.entries import create_memory
from apps.memory.judge.review import accept_memory, reject_memory
from apps.memory.keyed import Action
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicMemory, AtomicSource, Category, LongTermMemory, Source
from apps.memory.serializers import (
    EVENT_HELP,
    TIMESTAMP_HELP,
    VALID_UNTIL_HELP,
    AtomicMemorySerializer,
    LongTermMemorySerializer,
    MarksField,
)
from apps.memory.validation import (
    MAX_CONTENT_CHARACTERS,
    MAX_KEY_CHARACTERS,
    MAX_TAG_CHARACTERS,
    MAX_TAGS,
    MAX_VALUE_CHARACTERS,
    is_share,
)

operation = partial(describe, tag="Long-term memory")
COPIES_HELP = "Also delete the copies that `…/copies` lists."
OTHER_ID = "0d9f4e7b-63c2-4b18-8f2a-91c5d7e3a604"

VALUE_TOO_LARGE = Problem(
    TooLarge, "The value is too large", {"value": [f"The value has over {MAX_VALUE_CHARACTERS:,} characters of JSON."]}
)
KEY_TAKEN = Problem(
    Conflict,
    "Another active memory has this key",
    {"key": ["Another active memory already uses this key."], "memory_id": OTHER_ID},
)


class LongTermMemoryFilter(MemoryFilter):
    """Narrow the list by category and source, too, and order it."""

    category = django_filters.ChoiceFilter(choices=Category.choices, label="Only memories of this category.")
    source = django_filters.ChoiceFilter(choices=Source.choices, label="Only memories of this source.")
    ordering = StableOrderingFilter(
        fields=("created_at", "updated_at", "last_accessed", "access_count", "confidence", "key")
    )
    search_text = staticmethod(LONG_TERM.search)


class ConfidenceField(serializers.FloatField):
    """A JSON number from 0 to 1; neither a word nor true nor false."""

    default_error_messages = {"not_a_share": "Must be a number from 0 to 1."}

    def to_internal_value(self, data: Any) -> float:
        if not is_share(data):
            self.fail("not_a_share")
        return float(data)


class LongTermMemoryChangeRequest(KnownFieldsSerializer):
    """Fields of a memory to change."""

    example = {"category": "preference", "key": "喜欢的颜色", "value": "蓝色"}

    category = serializers.ChoiceField(choices=Category.choices)
    key = StrictCharField(max_length=MAX_KEY_CHARACTERS)
    value = serializers.JSONField(help_text="Any JSON value, except null and blank text.")
    confidence = ConfidenceField(required=False, min_value=0, max_value=1)
    source = serializers.ChoiceField(choices=Source.choices, required=False)  # type: ignore[assignment]
    valid_until = StrictDateTimeField(required=False, allow_null=True, help_text=VALID_UNTIL_HELP)
    sensitive = MarksField(required=False)
    muted = StrictBooleanField(required=False, help_text=MUTED_HELP)


class LongTermMemoryReplaceRequest(LongTermMemoryChangeRequest):
    """A complete memory. Read-only fields are ignored, so a GET response can be sent back."""

    ignored = frozenset(LongTermMemorySerializer.Meta.fields)


class LongTermMemoryRequest(LongTermMemoryChangeRequest):
    """A new memory; `confidence` defaults to 1 and `source` to user_stated."""

    session_id = StrictUUIDField(required=False, allow_null=True)
    space = StrictUUIDField(source="space_id", required=False, allow_null=True, help_text=SPACE_HELP)
    muted = None  # type: ignore[assignment]  # a new one is not


class BatchDeleteRequest(KnownFieldsSerializer):
    """Memories to delete."""

    example = {"ids": [LongTermMemorySerializer.example["id"], OTHER_ID]}

    ids = serializers.ListField(child=StrictUUIDField(), allow_empty=False, help_text="IDs of the memories.")
    copies = StrictBooleanField(default=False, help_text=COPIES_HELP)


class BatchDeletedSerializer(serializers.Serializer[Any]):
    """The result of deleting several memories."""

    deleted = serializers.IntegerField(help_text="How many memories were deleted.")
    missing = serializers.ListField(child=serializers.UUIDField(), help_text="IDs that were not found.")


class MemoryCopySerializer(serializers.Serializer[Any]):
    """Another place with the memory's text: another memory, a context variable, a topic, or a text."""

    kind = serializers.ChoiceField(
        choices=["long_term", "atomic", "working", "topic", "profile", "summary", "title", "context"]
    )
    id = serializers.UUIDField(help_text="ID of the memory, session, profile, summary or context.")
    field = serializers.CharField(help_text="The field, variable or section that has the text.")
    text = serializers.CharField()


class LongTermMemoriesView(MemoriesView[LongTermMemory]):
    """The user's long-term memories, newest first, now or at a time; create one, or delete all."""

    kind = LONG_TERM
    serializer_class = LongTermMemorySerializer
    filterset_class = LongTermMemoryFilter

    @operation("list_memories", scope=Scope.READ, parameters=[AS_OF], problems=[NO_SPACE])
    def get(self, request: Request) -> Response:
        """List long-term memories. Newest first."""
        return self.list(request)

    @operation(
        "create_memory",
        scope=Scope.WRITE,
        body=LongTermMemoryRequest,
        answers={
            201: Answer(LongTermMemorySerializer, "The new memory."),
            200: Answer(LongTermMemorySerializer, "The key had this value already: the memory that is there."),
        },
        problems=[NO_SESSION, NO_SPACE, VALUE_TOO_LARGE],
    )
    def post(self, request: Request) -> Response:
        """Add a long-term memory.

        A value under a key that is taken supersedes the old value, which stays in the history.
        """
        body = read_body(LongTermMemoryRequest, request)
        memory, action = create_memory(user=get_user(request), now=timezone.now(), **body)
        code = status.HTTP_200_OK if action is Action.REFRESHED else status.HTTP_201_CREATED
        return Response(LongTermMemorySerializer(memory).data, status=code)

    @operation("delete_all_memories", scope=Scope.ADMIN, parameters=[CONFIRM])
    def delete(self, request: Request) -> Response:
        """Delete all long-term memories.

        For good: with their history, and they are not learned again from earlier messages.
        """
        return self.delete_all()


class LongTermMemoryView(MemoryView):
    """One memory of any status."""

    kind, serializer_class = LONG_TERM, LongTermMemorySerializer

    @operation("get_memory", scope=Scope.READ)
    def get(self, request: Request, memory_id: str) -> Response:
        """Get a long-term memory. Of any status. Does not count as use."""
        return self.show(memory_id)

    @operation(
        "replace_memory",
        scope=Scope.WRITE,
        body=LongTermMemoryReplaceRequest,
        problems=[KEY_TAKEN, HISTORY, VALUE_TOO_LARGE],
    )
    def put(self, request: Request, memory_id: str) -> Response:
        """Replace a long-term memory.

        `valid_until` and `sensitive` are removed where they are left out. Fields that cannot be changed are ignored, so
        what GET answered can be edited and sent back.
        """
        return self.change(memory_id, LongTermMemoryReplaceRequest, emptied={"valid_until": None, "sensitive": []})

    @operation(
        "update_memory",
        scope=Scope.WRITE,
        body=LongTermMemoryChangeRequest(partial=True),
        problems=[KEY_TAKEN, HISTORY, VALUE_TOO_LARGE],
    )
    def patch(self, request: Request, memory_id: str) -> Response:
        """Change a long-term memory.

        Only the given fields. With `muted: true` it is kept and shown, but recalled in no reply.
        """
        return self.change(memory_id, LongTermMemoryChangeRequest, partial=True)

    @operation(
        "delete_memory",
        scope=Scope.WRITE,
        parameters=[query("copies", COPIES_HELP, {"type": "boolean", "default": False})],
    )
    def delete(self, request: Request, memory_id: str) -> Response:
        """Delete a long-term memory. For good: with its history, and it is not learned again from earlier messages."""
        read_uuid(memory_id)
        return self.remove(memory_id, copies=_read_bool(request, "copies"))


class AcceptView(MemoryView):
    """Accept a pending memory; 409 unless it is pending."""

    kind, serializer_class = LONG_TERM, LongTermMemorySerializer

    @operation("accept_memory", scope=Scope.WRITE, problems=[NOT_PENDING])
    def post(self, request: Request, memory_id: str) -> Response:
        """Accept a pending memory. From now on it is recalled. Another value of its key is superseded."""
        return self.decide(memory_id, accept_memory)


class RejectView(MemoryView):
    """Reject a pending memory; it is not proposed again. 409 unless it is pending."""

    kind, serializer_class = LONG_TERM, LongTermMemorySerializer

    @operation("reject_memory", scope=Scope.WRITE, problems=[NOT_PENDING])
    def post(self, request: Request, memory_id: str) -> Response:
        """Reject a pending memory. It is not proposed again."""
        return self.decide(memory_id, reject_memory)


class CopiesView(APIView):
    """Other places with the memory's text: memories, active sessions, profile, summaries, contexts (L6)."""

    @operation(
        "list_memory_copies",
        scope=Scope.READ,
        unbound=True,
        answers=results_of("MemoryCopies", MemoryCopySerializer, "All other places with the memory's text."),
    )
    def get(self, request: Request, memory_id: str) -> Response:
        """List other places with a memory's text.

        In memories of both kinds, sessions that are live, the profile, summaries and shared contexts. Deleting
        the memory can delete them too.
        """
        user = get_user(request)
        copies = list_copies(user, [LONG_TERM.get(user, read_uuid(memory_id))])
        return Response({"results": MemoryCopySerializer(copies, many=True).data})


class BatchDeleteView(APIView):
    """Delete several memories at once."""

    @operation("delete_memories", scope=Scope.WRITE, body=BatchDeleteRequest, answers=BatchDeletedSerializer)
    def post(self, request: Request) -> Response:
        """Delete several long-term memories."""
        user, body = get_user(request), read_body(BatchDeleteRequest, request)
        if body["copies"]:
            refuse_bound(user)
        return Response(asdict(delete_memories(LONG_TERM, user=user, now=timezone.now(), **body)))


def _read_bool(request: Request, name: str) -> bool:
    raw = request.query_params.get(name, "false")
    if raw not in ("true", "false"):
        raise InvalidInput(f"{name} must be true or false.", fields={name: ["Must be true or false."]})
    return raw == "true"


atomic_operation = partial(describe, tag="Atomic memory")

TOO_LONG = Problem(
    TooLarge, "The content is too long", {"content": [f"The content has over {MAX_CONTENT_CHARACTERS:,} characters."]}
)
SAME = Problem(
    Conflict,
    "Another active memory says the same",
    {"content": ["Another active memory already says this."], "memory_id": AtomicMemorySerializer.example["id"]},
)


class AtomicMemoryFilter(MemoryFilter):
    """Narrow the list by time, tags, session and source, too, and order it."""

    since = TimeFilter(field_name="timestamp", lookup_expr="gte", label=SINCE)
    until = TimeFilter(field_name="timestamp", lookup_expr="lte", label=UNTIL)
    tags = django_filters.CharFilter(method="filter_tags", label="Comma-separated tags that a memory must all have.")
    session_id = django_filters.UUIDFilter(label="Only memories of this session.")
    source = django_filters.ChoiceFilter(
        choices=AtomicSource.choices, label="Only what the person said, or only what the assistant said."
    )
    ordering = StableOrderingFilter(
        fields={"create_time": "created_at", "updated_at": "updated_at", "timestamp": "timestamp"}
    )
    search_text = staticmethod(ATOMIC.search)

    def filter_tags(self, queryset: QuerySet[AtomicMemory], name: str, value: str) -> QuerySet[AtomicMemory]:
        refuse_forbidden(value)
        return queryset.filter(tags__contains=[tag.strip() for tag in value.split(",") if tag.strip()])


class AtomicMemoryChangeRequest(KnownFieldsSerializer):
    """Fields of an atomic memory to change."""

    example = {"content": "The user moved to York on 26 September 2026.", "tags": ["home"]}

    content = StrictCharField()
    tags = serializers.ListField(
        child=StrictCharField(max_length=MAX_TAG_CHARACTERS), max_length=MAX_TAGS, required=False
    )
    timestamp = StrictDateTimeField(required=False, help_text=TIMESTAMP_HELP)
    event_start = StrictDateTimeField(required=False, allow_null=True, help_text=EVENT_HELP)
    event_end = StrictDateTimeField(required=False, allow_null=True)
    valid_until = StrictDateTimeField(required=False, allow_null=True, help_text=VALID_UNTIL_HELP)
    sensitive = MarksField(required=False)
    muted = StrictBooleanField(required=False, help_text=MUTED_HELP)


class AtomicMemoryReplaceRequest(AtomicMemoryChangeRequest):
    """A complete atomic memory. Read-only fields are ignored, so a GET response can be sent back."""

    ignored = frozenset(AtomicMemorySerializer.Meta.fields)


class AtomicMemoryRequest(AtomicMemoryChangeRequest):
    """A new atomic memory; `timestamp` defaults to now."""

    session_id = StrictUUIDField(required=False, allow_null=True)
    space = StrictUUIDField(source="space_id", required=False, allow_null=True, help_text=SPACE_HELP)
    muted = None  # type: ignore[assignment]  # a new one is not


class AtomicMemoriesView(MemoriesView[AtomicMemory]):
    """The user's atomic memories, newest first, now or at a time; create one, or delete all."""

    kind = ATOMIC
    serializer_class = AtomicMemorySerializer
    filterset_class = AtomicMemoryFilter

    @atomic_operation("list_atomic_memories", scope=Scope.READ, parameters=[AS_OF], problems=[NO_SPACE])
    def get(self, request: Request) -> Response:
        """List atomic memories. Newest first."""
        return self.list(request)

    @atomic_operation(
        "create_atomic_memory",
        scope=Scope.WRITE,
        body=AtomicMemoryRequest,
        answers={
            201: Answer(AtomicMemorySerializer, "The new memory."),
            200: Answer(AtomicMemorySerializer, "An active memory says the same: that one, with the new tags added."),
        },
        problems=[NO_SESSION, NO_SPACE, TOO_LONG],
    )
    def post(self, request: Request) -> Response:
        """Add an atomic memory."""
        body = read_body(AtomicMemoryRequest, request)
        memory, created = create_atomic_memory(user=get_user(request), now=timezone.now(), **body)
        code = status.HTTP_201_CREATED if created else status.HTTP_200_OK
        return Response(AtomicMemorySerializer(memory).data, status=code)

    @atomic_operation("delete_all_atomic_memories", scope=Scope.ADMIN, parameters=[CONFIRM])
    def delete(self, request: Request) -> Response:
        """Delete all atomic memories.

        For good: with their history, and they are not learned again from earlier messages.
        """
        return self.delete_all()


class AtomicMemoryView(MemoryView):
    """One atomic memory of any status."""

    kind, serializer_class = ATOMIC, AtomicMemorySerializer

    @atomic_operation("get_atomic_memory", scope=Scope.READ)
    def get(self, request: Request, atomic_id: str) -> Response:
        """Get an atomic memory. Of any status."""
        return self.show(atomic_id)

    @atomic_operation(
        "replace_atomic_memory", scope=Scope.WRITE, body=AtomicMemoryReplaceRequest, problems=[SAME, HISTORY, TOO_LONG]
    )
    def put(self, request: Request, atomic_id: str) -> Response:
        """Replace an atomic memory.

        Tags, times of the event, `valid_until` and `sensitive` are removed where they are left out. Fields that cannot
        be changed are ignored, so what GET answered can be edited and sent back.
        """
        emptied: dict[str, Any] = {"tags": [], "event_start": None, "event_end": None, "valid_until": None}
        emptied["sensitive"] = []
        return self.change(atomic_id, AtomicMemoryReplaceRequest, emptied=emptied)

    @atomic_operation(
        "update_atomic_memory",
        scope=Scope.WRITE,
        body=AtomicMemoryChangeRequest(partial=True),
        problems=[SAME, HISTORY, TOO_LONG],
    )
    def patch(self, request: Request, atomic_id: str) -> Response:
        """Change an atomic memory.

        Only the given fields. With `muted: true` it is kept and shown, but recalled in no reply.
        """
        return self.change(atomic_id, AtomicMemoryChangeRequest, partial=True)

    @atomic_operation("delete_atomic_memory", scope=Scope.WRITE)
    def delete(self, request: Request, atomic_id: str) -> Response:
        """Delete an atomic memory. For good: with its history, and it is not learned again from earlier messages."""
        return self.remove(atomic_id)


class AtomicAcceptView(MemoryView):
    """Accept a pending atomic memory; 409 unless it is pending."""

    kind, serializer_class = ATOMIC, AtomicMemorySerializer

    @atomic_operation("accept_atomic_memory", scope=Scope.WRITE, problems=[NOT_PENDING])
    def post(self, request: Request, atomic_id: str) -> Response:
        """Accept a pending atomic memory. From now on it is recalled, and what it proposes to end has ended."""
        return self.decide(atomic_id, accept_memory)


class AtomicRejectView(MemoryView):
    """Reject a pending atomic memory; 409 unless it is pending."""

    kind, serializer_class = ATOMIC, AtomicMemorySerializer

    @atomic_operation("reject_atomic_memory", scope=Scope.WRITE, problems=[NOT_PENDING])
    def post(self, request: Request, atomic_id: str) -> Response:
        """Reject a pending atomic memory. It is not recorded again."""
        return self.decide(atomic_id, reject_memory)
