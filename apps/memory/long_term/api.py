"""REST of long-term memories (SPEC, API: /memory/long-term)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.models import User
from apps.accounts.selectors import get_settings, get_user
from apps.conversations.sessions import get_session
from apps.core.errors import InvalidInput
from apps.core.http import read_int, read_uuid
from apps.memory.embeddings.queries import embed_query
from apps.memory.history.as_of_list import AsOfListView
from apps.memory.listing import check_confirmed, read_query
from apps.memory.long_term import services
from apps.memory.long_term.copies import list_copies
from apps.memory.long_term.deletion import forget_all, forget_memories
from apps.memory.long_term.filters import LongTermMemoryFilter
from apps.memory.long_term.past import PAST
from apps.memory.long_term.selectors import get_memories_by_id, get_memory, list_memories
from apps.memory.long_term.serializers import (
    BatchDeleteRequest,
    LongTermMemoryChangeRequest,
    LongTermMemoryReplaceRequest,
    LongTermMemoryRequest,
    LongTermMemorySerializer,
    MemoryCopiesSerializer,
    ScoredMemorySerializer,
)
from apps.memory.long_term.types import Action
from apps.memory.models import LongTermMemory
from apps.memory.retrieval import retrieve_relevant_memories
from apps.memory.types import ScoredMemory
from apps.memory.working.selectors import WorkingMemorySnapshot, find_working_memory

MAX_SEARCH_LIMIT = 50


class LongTermMemoriesView(AsOfListView[LongTermMemory]):
    """The user's long-term memories, newest first, now or at a time; create one, or delete all."""

    past = PAST
    serializer_class = LongTermMemorySerializer
    filterset_class = LongTermMemoryFilter
    queryset = LongTermMemory.objects.none()  # for the schema; requests see their user's own

    def get_queryset(self) -> Any:
        return list_memories(get_user(self.request))

    def post(self, request: Request) -> Response:
        body = LongTermMemoryRequest(data=request.data)
        body.is_valid(raise_exception=True)
        memory, action = services.create_memory(user=get_user(request), now=timezone.now(), **body.validated_data)
        code = status.HTTP_200_OK if action is Action.REFRESHED else status.HTTP_201_CREATED
        return Response(LongTermMemorySerializer(memory).data, status=code)

    def delete(self, request: Request) -> Response:
        check_confirmed(request)
        return Response({"deleted": forget_all(user=get_user(request), now=timezone.now())})


class LongTermMemoryView(APIView):
    """One memory of any status."""

    def get(self, request: Request, memory_id: str) -> Response:
        memory = get_memory(get_user(request), read_uuid(memory_id))
        return Response(LongTermMemorySerializer(memory).data)

    def put(self, request: Request, memory_id: str) -> Response:
        return self._update(request, memory_id, body=LongTermMemoryReplaceRequest(data=request.data))

    def patch(self, request: Request, memory_id: str) -> Response:
        return self._update(request, memory_id, body=LongTermMemoryChangeRequest(data=request.data, partial=True))

    def _update(self, request: Request, memory_id: str, *, body: LongTermMemoryChangeRequest) -> Response:
        user, asked = get_user(request), read_uuid(memory_id)
        get_memory(user, asked)
        body.is_valid(raise_exception=True)
        changes, now = dict(body.validated_data), timezone.now()
        muted = changes.pop("muted", None)
        with transaction.atomic():
            if changes or muted is None:
                services.update_memory(user=user, memory_id=asked, changes=changes, now=now)
            if muted is not None:
                services.mute_memories(user=user, ids=[asked], muted=muted, now=now)
        return Response(LongTermMemorySerializer(get_memory(user, asked)).data)

    def delete(self, request: Request, memory_id: str) -> Response:
        user, asked = get_user(request), read_uuid(memory_id)
        copies = _read_bool(request, "copies")
        get_memory(user, asked)
        result = forget_memories(user=user, ids=[asked], now=timezone.now(), copies=copies)
        return Response({"deleted": result.deleted})


class AcceptView(APIView):
    """Accept a pending memory; 409 unless it is pending."""

    def post(self, request: Request, memory_id: str) -> Response:
        memory = services.accept_memory(user=get_user(request), memory_id=read_uuid(memory_id), now=timezone.now())
        return Response(LongTermMemorySerializer(memory).data)


class RejectView(APIView):
    """Reject a pending memory; it is not proposed again. 409 unless it is pending."""

    def post(self, request: Request, memory_id: str) -> Response:
        memory = services.reject_memory(user=get_user(request), memory_id=read_uuid(memory_id), now=timezone.now())
        return Response(LongTermMemorySerializer(memory).data)


class CopiesView(APIView):
    """Other places with the memory's text: memories, active sessions, profile, summaries, contexts (L6)."""

    def get(self, request: Request, memory_id: str) -> Response:
        user = get_user(request)
        copies = list_copies(user, [get_memory(user, read_uuid(memory_id))])
        return Response(MemoryCopiesSerializer({"results": copies}).data)


class BatchDeleteView(APIView):
    """Delete several memories at once."""

    def post(self, request: Request) -> Response:
        body = BatchDeleteRequest(data=request.data)
        body.is_valid(raise_exception=True)
        result = forget_memories(user=get_user(request), now=timezone.now(), **body.validated_data)
        return Response(asdict(result))


class SearchView(APIView):
    """The memories a message would recall, best first, with every component of the score (K5). Counts no use (L4)."""

    def get(self, request: Request) -> Response:
        user, now, query = get_user(request), timezone.now(), read_query(request)
        settings = get_settings(user)
        scored = retrieve_relevant_memories(
            user=user,
            message=query,
            limit=read_int(request, "limit", default=settings.retrieval_limit, minimum=1, maximum=MAX_SEARCH_LIMIT),
            working_memory=_find_working_memory(request, user, ttl_minutes=settings.working_ttl_minutes),
            candidate_limit=settings.candidate_limit,
            weights=settings.score_weights,
            half_life_days=settings.recency_half_life_days,
            max_keywords=settings.max_keywords,
            query_embedding=embed_query(query) if settings.semantic_candidates else None,
            min_similarity=settings.semantic_min_similarity,
            now=now,
        )
        return Response({"results": ScoredMemorySerializer(_with_memories(user, scored), many=True).data})


def _with_memories(user: User, scored: list[ScoredMemory]) -> list[dict[str, Any]]:
    memories = get_memories_by_id(user, [item.candidate.id for item in scored])
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
