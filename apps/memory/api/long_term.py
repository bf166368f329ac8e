"""REST of long-term memories (L1): /memory/long-term."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

import django_filters  # type: ignore[import-untyped]
from django.db import transaction
from django.utils import timezone
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.models import User
from apps.accounts.selectors import get_settings, get_user
from apps.accounts.types import Scope
from apps.conversations.serializers import NO_SESSION
from apps.conversations.sessions import get_session
from apps.core.errors import Conflict, InvalidInput, TooLarge
from apps.core.fields import KnownFieldsSerializer, StrictBooleanField, StrictCharField, StrictUUIDField, read_body
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
    AsOfListView,
    MemoryFilter,
    check_confirmed,
    read_query,
)
from apps.memory.copies import list_copies
from apps.memory.deletion import delete_all_memories, delete_memories
from apps.memory.entries import create_memory
from apps.memory.judge.review import accept_memory, reject_memory
from apps.memory.keyed import Action
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import mute_memories, update_memory
from apps.memory.models import Category, LongTermMemory, Source
from apps.memory.recall.long_term import retrieve_relevant_memories
from apps.memory.serializers import LongTermMemorySerializer
from apps.memory.types import ScoredMemory
from apps.memory.validation import MAX_KEY_CHARACTERS, MAX_VALUE_CHARACTERS, is_share
from apps.memory.vectors.queries import embed_query
from apps.memory.working.sessions import WorkingMemorySnapshot, find_working_memory

operation = partial(describe, tag="Long-term memory")
MAX_SEARCH_LIMIT = 50
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
    muted = StrictBooleanField(required=False, help_text=MUTED_HELP)


class LongTermMemoryReplaceRequest(LongTermMemoryChangeRequest):
    """A complete memory. Read-only fields are ignored, so a GET response can be sent back."""

    ignored = frozenset(LongTermMemorySerializer.Meta.fields)


class LongTermMemoryRequest(LongTermMemoryChangeRequest):
    """A new memory; `confidence` defaults to 1 and `source` to user_stated."""

    session_id = StrictUUIDField(required=False, allow_null=True)
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


class MemoryCopiesSerializer(serializers.Serializer[Any]):
    """All other places with the memory's text."""

    results = MemoryCopySerializer(many=True)


class ScoredMemorySerializer(serializers.Serializer[Any]):
    """A memory with its score and every component of it."""

    memory = LongTermMemorySerializer()
    score = serializers.FloatField(help_text="The weighted sum of the components, times `topic_boost`.")
    keyword_score = serializers.FloatField(help_text="From 0 to 1.")
    semantic_score = serializers.FloatField(help_text="Cosine similarity; 0 if unknown.")
    category_boost = serializers.FloatField(help_text="Preferences 1.5, facts 1.2, patterns 1.")
    recency_score = serializers.FloatField(help_text="From 0 to 1: halved every `memory.recency_half_life_days`.")
    frequency_score = serializers.FloatField(help_text="From 0 to 1, by `access_count`.")
    confidence = serializers.FloatField(help_text="From 0 to 1.")
    topic_boost = serializers.FloatField(help_text="Above 1 if it is about the session's current topic.")


class MemorySearchResultsSerializer(serializers.Serializer[Any]):
    """Best first."""

    results = ScoredMemorySerializer(many=True)


class LongTermMemoriesView(AsOfListView[LongTermMemory]):
    """The user's long-term memories, newest first, now or at a time; create one, or delete all."""

    kind = LONG_TERM
    serializer_class = LongTermMemorySerializer
    filterset_class = LongTermMemoryFilter
    queryset = LongTermMemory.objects.none()  # for the schema; requests see their user's own

    def get_queryset(self) -> Any:
        return LONG_TERM.rows(get_user(self.request))

    @operation("list_memories", scope=Scope.READ, parameters=[AS_OF])
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
        problems=[NO_SESSION, VALUE_TOO_LARGE],
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
        check_confirmed(request)
        return Response({"deleted": delete_all_memories(LONG_TERM, user=get_user(request), now=timezone.now())})


class LongTermMemoryView(APIView):
    """One memory of any status."""

    serializer_class = LongTermMemorySerializer

    @operation("get_memory", scope=Scope.READ)
    def get(self, request: Request, memory_id: str) -> Response:
        """Get a long-term memory. Of any status. Does not count as use."""
        memory = LONG_TERM.get(get_user(request), read_uuid(memory_id))
        return Response(LongTermMemorySerializer(memory).data)

    @operation(
        "replace_memory",
        scope=Scope.WRITE,
        body=LongTermMemoryReplaceRequest,
        problems=[KEY_TAKEN, HISTORY, VALUE_TOO_LARGE],
    )
    def put(self, request: Request, memory_id: str) -> Response:
        """Replace a long-term memory.

        Fields that cannot be changed are ignored, so what GET answered can be edited and sent back.
        """
        return self._update(request, memory_id, LongTermMemoryReplaceRequest)

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
        return self._update(request, memory_id, LongTermMemoryChangeRequest, partial=True)

    def _update(
        self, request: Request, memory_id: str, serializer: type[LongTermMemoryChangeRequest], **options: bool
    ) -> Response:
        user, asked = get_user(request), read_uuid(memory_id)
        LONG_TERM.get(user, asked)
        changes, now = read_body(serializer, request, **options), timezone.now()
        muted = changes.pop("muted", None)
        with transaction.atomic():
            if changes or muted is None:
                update_memory(LONG_TERM, user=user, memory_id=asked, changes=changes, now=now)
            if muted is not None:
                mute_memories(LONG_TERM, user=user, ids=[asked], muted=muted, now=now)
        return Response(LongTermMemorySerializer(LONG_TERM.get(user, asked)).data)

    @operation(
        "delete_memory",
        scope=Scope.WRITE,
        parameters=[query("copies", COPIES_HELP, {"type": "boolean", "default": False})],
    )
    def delete(self, request: Request, memory_id: str) -> Response:
        """Delete a long-term memory. For good: with its history, and it is not learned again from earlier messages."""
        user, asked = get_user(request), read_uuid(memory_id)
        copies = _read_bool(request, "copies")
        LONG_TERM.get(user, asked)
        result = delete_memories(LONG_TERM, user=user, ids=[asked], now=timezone.now(), copies=copies)
        return Response({"deleted": result.deleted})


class AcceptView(APIView):
    """Accept a pending memory; 409 unless it is pending."""

    @operation("accept_memory", scope=Scope.WRITE, answers=LongTermMemorySerializer, problems=[NOT_PENDING])
    def post(self, request: Request, memory_id: str) -> Response:
        """Accept a pending memory. From now on it is recalled. Another value of its key is superseded."""
        memory = accept_memory(LONG_TERM, user=get_user(request), memory_id=read_uuid(memory_id), now=timezone.now())
        return Response(LongTermMemorySerializer(memory).data)


class RejectView(APIView):
    """Reject a pending memory; it is not proposed again. 409 unless it is pending."""

    @operation("reject_memory", scope=Scope.WRITE, answers=LongTermMemorySerializer, problems=[NOT_PENDING])
    def post(self, request: Request, memory_id: str) -> Response:
        """Reject a pending memory. It is not proposed again."""
        memory = reject_memory(LONG_TERM, user=get_user(request), memory_id=read_uuid(memory_id), now=timezone.now())
        return Response(LongTermMemorySerializer(memory).data)


class CopiesView(APIView):
    """Other places with the memory's text: memories, active sessions, profile, summaries, contexts (L6)."""

    @operation("list_memory_copies", scope=Scope.READ, answers=MemoryCopiesSerializer)
    def get(self, request: Request, memory_id: str) -> Response:
        """List other places with a memory's text.

        In memories of both kinds, sessions that are live, the profile, summaries and shared contexts. Deleting
        the memory can delete them too.
        """
        user = get_user(request)
        copies = list_copies(user, [LONG_TERM.get(user, read_uuid(memory_id))])
        return Response(MemoryCopiesSerializer({"results": copies}).data)


class BatchDeleteView(APIView):
    """Delete several memories at once."""

    @operation("delete_memories", scope=Scope.WRITE, body=BatchDeleteRequest, answers=BatchDeletedSerializer)
    def post(self, request: Request) -> Response:
        """Delete several long-term memories."""
        body = read_body(BatchDeleteRequest, request)
        return Response(asdict(delete_memories(LONG_TERM, user=get_user(request), now=timezone.now(), **body)))


class SearchView(APIView):
    """The memories a message would recall, best first, with every component of the score (K5). Counts no use (L4)."""

    @operation(
        "search_memories",
        tag="Search",
        scope=Scope.READ,
        parameters=[
            QUERY,
            query(
                "session_id",
                "Prefer memories about the current topic of this session.",
                {"type": "string", "format": "uuid"},
            ),
            query(
                "limit",
                "How many at most; `memory.retrieval_limit` by default.",
                {"type": "integer", "minimum": 1, "maximum": MAX_SEARCH_LIMIT},
            ),
        ],
        answers=MemorySearchResultsSerializer,
        problems=[NO_SESSION, Q_TOO_LONG],
    )
    def get(self, request: Request) -> Response:
        """Search long-term memories. What a message would recall, best first, with every component of the score."""
        user, now, text = get_user(request), timezone.now(), read_query(request)
        settings = get_settings(user)
        scored = retrieve_relevant_memories(
            user=user,
            message=text,
            limit=read_int(request, "limit", default=settings.retrieval_limit, minimum=1, maximum=MAX_SEARCH_LIMIT),
            working_memory=_find_working_memory(request, user, ttl_minutes=settings.working_ttl_minutes),
            candidate_limit=settings.candidate_limit,
            weights=settings.score_weights,
            half_life_days=settings.recency_half_life_days,
            max_keywords=settings.max_keywords,
            query_embedding=embed_query(text) if settings.semantic_candidates else None,
            min_similarity=settings.semantic_min_similarity,
            now=now,
        )
        return Response({"results": ScoredMemorySerializer(_with_memories(user, scored), many=True).data})


def _with_memories(user: User, scored: list[ScoredMemory]) -> list[dict[str, Any]]:
    memories = LONG_TERM.by_ids(user, [item.candidate.id for item in scored])
    return [
        {name: getattr(item, name) for name in ScoredMemorySerializer._declared_fields if name != "memory"}
        | {"memory": memories[item.candidate.id]}
        for item in scored
        if item.candidate.id in memories  # deleted in between
    ]


def _find_working_memory(request: Request, user: User, *, ttl_minutes: int) -> WorkingMemorySnapshot | None:
    raw = request.query_params.get("session_id")
    if raw is None:
        return None
    session = get_session(user, read_uuid(raw))
    return find_working_memory(user, session.id, now=timezone.now(), ttl_minutes=ttl_minutes)


def _read_bool(request: Request, name: str) -> bool:
    raw = request.query_params.get(name, "false")
    if raw not in ("true", "false"):
        raise InvalidInput(f"{name} must be true or false.", fields={name: ["Must be true or false."]})
    return raw == "true"
