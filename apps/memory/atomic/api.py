"""REST of atomic memories (SPEC, API: /memory/atomic)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_settings, get_user
from apps.core.http import read_int, read_uuid
from apps.core.serializers import DeletedSerializer
from apps.memory.atomic import services
from apps.memory.atomic.filters import AtomicMemoryFilter
from apps.memory.atomic.selectors import get_atomic_memories_by_id, get_atomic_memory, list_atomic_memories
from apps.memory.atomic.serializers import (
    AtomicChangeRequest,
    AtomicMemorySerializer,
    AtomicReplaceRequest,
    AtomicRequest,
    RankedAtomicSerializer,
    ScoredAtomicSerializer,
)
from apps.memory.embeddings.queries import embed_query
from apps.memory.listing import read_query, read_time
from apps.memory.models import AtomicMemory
from apps.memory.retrieval.atomic import retrieve_atomic_memories
from apps.memory.reviewing import accept_atomic_memory, reject_atomic_memory

MAX_TOP_N = 50


class AtomicMemoriesView(generics.ListAPIView[AtomicMemory]):
    """The user's atomic memories, newest first; create one, or delete all."""

    serializer_class = AtomicMemorySerializer
    filterset_class = AtomicMemoryFilter
    queryset = AtomicMemory.objects.none()  # for the schema; requests see their user's own

    def get_queryset(self) -> Any:
        return list_atomic_memories(get_user(self.request))

    @extend_schema(
        request=AtomicRequest,
        responses={201: AtomicMemorySerializer, 200: AtomicMemorySerializer},
        description="201 with the new memory; 200 with the active memory of the same content, with the new tags added.",
    )
    def post(self, request: Request) -> Response:
        body = AtomicRequest(data=request.data)
        body.is_valid(raise_exception=True)
        memory, created = services.create_atomic_memory(
            user=get_user(request), now=timezone.now(), **body.validated_data
        )
        code = status.HTTP_201_CREATED if created else status.HTTP_200_OK
        return Response(AtomicMemorySerializer(memory).data, status=code)

    @extend_schema(operation_id="memory_atomic_clear", responses={200: DeletedSerializer}, filters=False)
    def delete(self, request: Request) -> Response:
        return Response({"deleted": services.forget_all_atomic_memories(user=get_user(request), now=timezone.now())})


class AtomicMemoryView(APIView):
    """One atomic memory of any status."""

    @extend_schema(responses=AtomicMemorySerializer)
    def get(self, request: Request, atomic_id: str) -> Response:
        memory = get_atomic_memory(get_user(request), read_uuid(atomic_id))
        return Response(AtomicMemorySerializer(memory).data)

    @extend_schema(request=AtomicReplaceRequest, responses=AtomicMemorySerializer)
    def put(self, request: Request, atomic_id: str) -> Response:
        emptied: dict[str, Any] = {"tags": [], "event_start": None, "event_end": None}
        return self._update(request, atomic_id, body=AtomicReplaceRequest(data=request.data), otherwise=emptied)

    @extend_schema(request=AtomicChangeRequest, responses=AtomicMemorySerializer)
    def patch(self, request: Request, atomic_id: str) -> Response:
        return self._update(request, atomic_id, body=AtomicChangeRequest(data=request.data, partial=True))

    def _update(
        self,
        request: Request,
        atomic_id: str,
        *,
        body: AtomicChangeRequest,
        otherwise: Mapping[str, Any] = MappingProxyType({}),
    ) -> Response:
        user, asked = get_user(request), read_uuid(atomic_id)
        get_atomic_memory(user, asked)
        body.is_valid(raise_exception=True)
        changes, now = {**otherwise, **body.validated_data}, timezone.now()
        muted = changes.pop("muted", None)
        with transaction.atomic():
            if changes or muted is None:
                services.update_atomic_memory(user=user, memory_id=asked, changes=changes, now=now)
            if muted is not None:
                services.mute_atomic_memories(user=user, ids=[asked], muted=muted, now=now)
        return Response(AtomicMemorySerializer(get_atomic_memory(user, asked)).data)

    @extend_schema(responses={200: DeletedSerializer})
    def delete(self, request: Request, atomic_id: str) -> Response:
        user, asked = get_user(request), read_uuid(atomic_id)
        get_atomic_memory(user, asked)
        return Response({"deleted": services.forget_atomic_memories(user=user, ids=[asked], now=timezone.now())})


class AtomicAcceptView(APIView):
    """Accept a pending atomic memory; 409 unless it is pending."""

    @extend_schema(request=None, responses=AtomicMemorySerializer)
    def post(self, request: Request, atomic_id: str) -> Response:
        memory = accept_atomic_memory(user=get_user(request), memory_id=read_uuid(atomic_id), now=timezone.now())
        return Response(AtomicMemorySerializer(memory).data)


class AtomicRejectView(APIView):
    """Reject a pending atomic memory; 409 unless it is pending."""

    @extend_schema(request=None, responses=AtomicMemorySerializer)
    def post(self, request: Request, atomic_id: str) -> Response:
        memory = reject_atomic_memory(user=get_user(request), memory_id=read_uuid(atomic_id), now=timezone.now())
        return Response(AtomicMemorySerializer(memory).data)


class AtomicSearchView(APIView):
    """The atomic memories a message would recall, best first (A4)."""

    @extend_schema(
        parameters=[
            OpenApiParameter("q", str, required=True, description="A message or keywords."),
            OpenApiParameter("top_n", int, description=f"1–{MAX_TOP_N}; memory.rag_top_n by default."),
            OpenApiParameter("since", str, description="Mentioned at this time or later (ISO 8601)."),
            OpenApiParameter("until", str, description="Mentioned at this time or earlier (ISO 8601)."),
        ],
        responses=RankedAtomicSerializer,
    )
    def get(self, request: Request) -> Response:
        user, query = get_user(request), read_query(request)
        settings = get_settings(user)
        found = retrieve_atomic_memories(
            user=user,
            query=query,
            limit=read_int(request, "top_n", default=settings.rag_top_n, minimum=1, maximum=MAX_TOP_N),
            since=read_time(request, "since"),
            until=read_time(request, "until"),
            query_embedding=embed_query(query),
            candidate_limit=settings.candidate_limit,
            min_similarity=settings.semantic_min_similarity,
        )
        memories = get_atomic_memories_by_id(user, [item.candidate.id for item in found])
        results = [
            {
                "memory": memories[item.candidate.id],
                "score": item.score,
                "keyword_score": item.keyword_score,
                "semantic_score": item.semantic_score,
            }
            for item in found
            if item.candidate.id in memories  # deleted in between
        ]
        return Response({"results": ScoredAtomicSerializer(results, many=True).data})
