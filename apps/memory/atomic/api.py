"""REST of atomic memories (SPEC, API: /memory/atomic)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_settings, get_user
from apps.core.http import read_int, read_uuid
from apps.memory.atomic import services
from apps.memory.atomic.filters import AtomicMemoryFilter
from apps.memory.atomic.past import PAST
from apps.memory.atomic.selectors import get_atomic_memories_by_id, get_atomic_memory, list_atomic_memories
from apps.memory.atomic.serializers import (
    AtomicMemoryChangeRequest,
    AtomicMemoryReplaceRequest,
    AtomicMemoryRequest,
    AtomicMemorySerializer,
    ScoredAtomicMemorySerializer,
)
from apps.memory.embeddings.queries import embed_query
from apps.memory.history.as_of_list import AsOfListView
from apps.memory.listing import check_confirmed, read_query, read_time
from apps.memory.models import AtomicMemory
from apps.memory.retrieval.atomic import retrieve_atomic_memories
from apps.memory.reviewing import accept_atomic_memory, reject_atomic_memory

MAX_TOP_N = 50


class AtomicMemoriesView(AsOfListView[AtomicMemory]):
    """The user's atomic memories, newest first, now or at a time; create one, or delete all."""

    past = PAST
    serializer_class = AtomicMemorySerializer
    filterset_class = AtomicMemoryFilter
    queryset = AtomicMemory.objects.none()  # for the schema; requests see their user's own

    def get_queryset(self) -> Any:
        return list_atomic_memories(get_user(self.request))

    def post(self, request: Request) -> Response:
        body = AtomicMemoryRequest(data=request.data)
        body.is_valid(raise_exception=True)
        memory, created = services.create_atomic_memory(
            user=get_user(request), now=timezone.now(), **body.validated_data
        )
        code = status.HTTP_201_CREATED if created else status.HTTP_200_OK
        return Response(AtomicMemorySerializer(memory).data, status=code)

    def delete(self, request: Request) -> Response:
        check_confirmed(request)
        return Response({"deleted": services.forget_all_atomic_memories(user=get_user(request), now=timezone.now())})


class AtomicMemoryView(APIView):
    """One atomic memory of any status."""

    def get(self, request: Request, atomic_id: str) -> Response:
        memory = get_atomic_memory(get_user(request), read_uuid(atomic_id))
        return Response(AtomicMemorySerializer(memory).data)

    def put(self, request: Request, atomic_id: str) -> Response:
        emptied: dict[str, Any] = {"tags": [], "event_start": None, "event_end": None}
        return self._update(request, atomic_id, body=AtomicMemoryReplaceRequest(data=request.data), otherwise=emptied)

    def patch(self, request: Request, atomic_id: str) -> Response:
        return self._update(request, atomic_id, body=AtomicMemoryChangeRequest(data=request.data, partial=True))

    def _update(
        self,
        request: Request,
        atomic_id: str,
        *,
        body: AtomicMemoryChangeRequest,
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

    def delete(self, request: Request, atomic_id: str) -> Response:
        user, asked = get_user(request), read_uuid(atomic_id)
        get_atomic_memory(user, asked)
        return Response({"deleted": services.forget_atomic_memories(user=user, ids=[asked], now=timezone.now())})


class AtomicAcceptView(APIView):
    """Accept a pending atomic memory; 409 unless it is pending."""

    def post(self, request: Request, atomic_id: str) -> Response:
        memory = accept_atomic_memory(user=get_user(request), memory_id=read_uuid(atomic_id), now=timezone.now())
        return Response(AtomicMemorySerializer(memory).data)


class AtomicRejectView(APIView):
    """Reject a pending atomic memory; 409 unless it is pending."""

    def post(self, request: Request, atomic_id: str) -> Response:
        memory = reject_atomic_memory(user=get_user(request), memory_id=read_uuid(atomic_id), now=timezone.now())
        return Response(AtomicMemorySerializer(memory).data)


class AtomicSearchView(APIView):
    """The atomic memories a message would recall, best first (A4)."""

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
            zone=settings.zone,
            now=timezone.now(),
        )
        memories = get_atomic_memories_by_id(user, [item.candidate.id for item in found])
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
