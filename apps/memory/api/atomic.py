"""REST of atomic memories (A1): /memory/atomic."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import django_filters  # type: ignore[import-untyped]
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_settings, get_user
from apps.accounts.types import Scope
from apps.conversations.serializers import NO_SESSION
from apps.core.errors import Conflict, TooLarge
from apps.core.fields import (
    KnownFieldsSerializer,
    StrictBooleanField,
    StrictCharField,
    StrictDateTimeField,
    StrictUUIDField,
    read_body,
    refuse_forbidden,
)
from apps.core.http import read_uuid
from apps.core.operations import Answer, Problem, describe, query
from apps.core.pagination import StableOrderingFilter, read_int
from apps.memory.api.lists import (
    AS_OF,
    CONFIRM,
    HISTORY,
    MUTED_HELP,
    NOT_PENDING,
    Q_TOO_LONG,
    QUERY,
    TIME_HELP,
    AsOfListView,
    MemoryFilter,
    TimeFilter,
    check_confirmed,
    read_query,
    read_time,
)
from apps.memory.deletion import delete_all_memories, delete_memories
from apps.memory.judge.review import accept_memory, reject_memory
from apps.memory.kinds import ATOMIC
from apps.memory.lifecycle import create_atomic_memory, mute_memories, update_memory
from apps.memory.models import AtomicMemory
from apps.memory.recall.atomic import retrieve_atomic_memories
from apps.memory.serializers import EVENT_HELP, TIMESTAMP_HELP, AtomicMemorySerializer
from apps.memory.validation import MAX_CONTENT_CHARACTERS, MAX_TAG_CHARACTERS, MAX_TAGS
from apps.memory.vectors.queries import embed_query

operation = partial(describe, tag="Atomic memory")
MAX_TOP_N = 50
SINCE = f"Said at this time or later. {TIME_HELP}"
UNTIL = f"Said at this time or earlier. {TIME_HELP}"

TOO_LONG = Problem(
    TooLarge, "The content is too long", {"content": [f"The content has over {MAX_CONTENT_CHARACTERS:,} characters."]}
)
SAME = Problem(
    Conflict,
    "Another active memory says the same",
    {"content": ["Another active memory already says this."], "memory_id": AtomicMemorySerializer.example["id"]},
)


class AtomicMemoryFilter(MemoryFilter):
    """Narrow the list by time, tags and session, too, and order it."""

    since = TimeFilter(field_name="timestamp", lookup_expr="gte", label=SINCE)
    until = TimeFilter(field_name="timestamp", lookup_expr="lte", label=UNTIL)
    tags = django_filters.CharFilter(method="filter_tags", label="Comma-separated tags that a memory must all have.")
    session_id = django_filters.UUIDFilter(label="Only memories of this session.")
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
    muted = StrictBooleanField(required=False, help_text=MUTED_HELP)


class AtomicMemoryReplaceRequest(AtomicMemoryChangeRequest):
    """A complete atomic memory. Read-only fields are ignored, so a GET response can be sent back."""

    ignored = frozenset(AtomicMemorySerializer.Meta.fields)


class AtomicMemoryRequest(AtomicMemoryChangeRequest):
    """A new atomic memory; `timestamp` defaults to now."""

    session_id = StrictUUIDField(required=False, allow_null=True)
    muted = None  # type: ignore[assignment]  # a new one is not


class ScoredAtomicMemorySerializer(serializers.Serializer[Any]):
    """An atomic memory with its score and the components of it."""

    memory = AtomicMemorySerializer()
    score = serializers.FloatField(help_text="The sum of `parts`; comparable within one response only.")
    keyword_score = serializers.FloatField(help_text="BM25: at least 0, without an upper limit.")
    semantic_score = serializers.FloatField(help_text="Cosine similarity; 0 if unknown.")
    parts = serializers.DictField(
        child=serializers.FloatField(), help_text="The points that each feature adds to the score, or takes from it."
    )


class AtomicSearchResultsSerializer(serializers.Serializer[Any]):
    """Best first."""

    results = ScoredAtomicMemorySerializer(many=True)


class AtomicMemoriesView(AsOfListView[AtomicMemory]):
    """The user's atomic memories, newest first, now or at a time; create one, or delete all."""

    kind = ATOMIC
    serializer_class = AtomicMemorySerializer
    filterset_class = AtomicMemoryFilter
    queryset = AtomicMemory.objects.none()  # for the schema; requests see their user's own

    def get_queryset(self) -> Any:
        return ATOMIC.rows(get_user(self.request))

    @operation("list_atomic_memories", scope=Scope.READ, parameters=[AS_OF])
    def get(self, request: Request) -> Response:
        """List atomic memories. Newest first."""
        return self.list(request)

    @operation(
        "create_atomic_memory",
        scope=Scope.WRITE,
        body=AtomicMemoryRequest,
        answers={
            201: Answer(AtomicMemorySerializer, "The new memory."),
            200: Answer(AtomicMemorySerializer, "An active memory says the same: that one, with the new tags added."),
        },
        problems=[NO_SESSION, TOO_LONG],
    )
    def post(self, request: Request) -> Response:
        """Add an atomic memory."""
        body = read_body(AtomicMemoryRequest, request)
        memory, created = create_atomic_memory(user=get_user(request), now=timezone.now(), **body)
        code = status.HTTP_201_CREATED if created else status.HTTP_200_OK
        return Response(AtomicMemorySerializer(memory).data, status=code)

    @operation("delete_all_atomic_memories", scope=Scope.ADMIN, parameters=[CONFIRM])
    def delete(self, request: Request) -> Response:
        """Delete all atomic memories.

        For good: with their history, and they are not learned again from earlier messages.
        """
        check_confirmed(request)
        return Response({"deleted": delete_all_memories(ATOMIC, user=get_user(request), now=timezone.now())})


class AtomicMemoryView(APIView):
    """One atomic memory of any status."""

    serializer_class = AtomicMemorySerializer

    @operation("get_atomic_memory", scope=Scope.READ)
    def get(self, request: Request, atomic_id: str) -> Response:
        """Get an atomic memory. Of any status."""
        memory = ATOMIC.get(get_user(request), read_uuid(atomic_id))
        return Response(AtomicMemorySerializer(memory).data)

    @operation(
        "replace_atomic_memory", scope=Scope.WRITE, body=AtomicMemoryReplaceRequest, problems=[SAME, HISTORY, TOO_LONG]
    )
    def put(self, request: Request, atomic_id: str) -> Response:
        """Replace an atomic memory.

        Tags and event times that are left out are removed. Fields that cannot be changed are ignored, so what
        GET answered can be edited and sent back.
        """
        emptied: dict[str, Any] = {"tags": [], "event_start": None, "event_end": None}
        return self._update(request, atomic_id, AtomicMemoryReplaceRequest, otherwise=emptied)

    @operation(
        "update_atomic_memory",
        scope=Scope.WRITE,
        body=AtomicMemoryChangeRequest(partial=True),
        problems=[SAME, HISTORY, TOO_LONG],
    )
    def patch(self, request: Request, atomic_id: str) -> Response:
        """Change an atomic memory.

        Only the given fields. With `muted: true` it is kept and shown, but recalled in no reply.
        """
        return self._update(request, atomic_id, AtomicMemoryChangeRequest, partial=True)

    def _update(
        self,
        request: Request,
        atomic_id: str,
        serializer: type[AtomicMemoryChangeRequest],
        *,
        otherwise: Mapping[str, Any] = MappingProxyType({}),
        **options: bool,
    ) -> Response:
        user, asked = get_user(request), read_uuid(atomic_id)
        ATOMIC.get(user, asked)
        changes, now = {**otherwise, **read_body(serializer, request, **options)}, timezone.now()
        muted = changes.pop("muted", None)
        with transaction.atomic():
            if changes or muted is None:
                update_memory(ATOMIC, user=user, memory_id=asked, changes=changes, now=now)
            if muted is not None:
                mute_memories(ATOMIC, user=user, ids=[asked], muted=muted, now=now)
        return Response(AtomicMemorySerializer(ATOMIC.get(user, asked)).data)

    @operation("delete_atomic_memory", scope=Scope.WRITE)
    def delete(self, request: Request, atomic_id: str) -> Response:
        """Delete an atomic memory. For good: with its history, and it is not learned again from earlier messages."""
        user, asked = get_user(request), read_uuid(atomic_id)
        ATOMIC.get(user, asked)
        return Response({"deleted": delete_memories(ATOMIC, user=user, ids=[asked], now=timezone.now()).deleted})


class AtomicAcceptView(APIView):
    """Accept a pending atomic memory; 409 unless it is pending."""

    @operation("accept_atomic_memory", scope=Scope.WRITE, answers=AtomicMemorySerializer, problems=[NOT_PENDING])
    def post(self, request: Request, atomic_id: str) -> Response:
        """Accept a pending atomic memory. From now on it is recalled, and what it proposes to end has ended."""
        memory = accept_memory(ATOMIC, user=get_user(request), memory_id=read_uuid(atomic_id), now=timezone.now())
        return Response(AtomicMemorySerializer(memory).data)


class AtomicRejectView(APIView):
    """Reject a pending atomic memory; 409 unless it is pending."""

    @operation("reject_atomic_memory", scope=Scope.WRITE, answers=AtomicMemorySerializer, problems=[NOT_PENDING])
    def post(self, request: Request, atomic_id: str) -> Response:
        """Reject a pending atomic memory. It is not recorded again."""
        memory = reject_memory(ATOMIC, user=get_user(request), memory_id=read_uuid(atomic_id), now=timezone.now())
        return Response(AtomicMemorySerializer(memory).data)


class AtomicSearchView(APIView):
    """The atomic memories a message would recall, best first (A4)."""

    @operation(
        "search_atomic_memories",
        tag="Search",
        scope=Scope.READ,
        parameters=[
            QUERY,
            query(
                "top_n",
                "How many at most; `memory.rag_top_n` by default.",
                {"type": "integer", "minimum": 1, "maximum": MAX_TOP_N},
            ),
            query("since", SINCE, TimeFilter.schema),
            query("until", UNTIL, TimeFilter.schema),
        ],
        answers=AtomicSearchResultsSerializer,
        problems=[Q_TOO_LONG],
    )
    def get(self, request: Request) -> Response:
        """Search atomic memories. What a message would recall, best first."""
        user, text = get_user(request), read_query(request)
        settings = get_settings(user)
        found = retrieve_atomic_memories(
            user=user,
            query=text,
            limit=read_int(request, "top_n", default=settings.rag_top_n, minimum=1, maximum=MAX_TOP_N),
            since=read_time(request, "since"),
            until=read_time(request, "until"),
            query_embedding=embed_query(text),
            zone=settings.zone,
            now=timezone.now(),
        )
        memories = ATOMIC.by_ids(user, [item.candidate.id for item in found])
        results = [
            {
                "memory": memories[item.candidate.id],
                "score": item.score,
                "keyword_score": item.keyword_score,
                "semantic_score": item.semantic_score,
                "parts": item.parts,
            }
            for item in found
            if item.candidate.id in memories  # deleted in between
        ]
        return Response({"results": ScoredAtomicMemorySerializer(results, many=True).data})
