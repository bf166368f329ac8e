"""REST of search: memories of both kinds as a message would recall them (K5, A4), conversations by meaning (V5)."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.models import User
from apps.accounts.selectors import get_settings, get_user
from apps.accounts.spaces import NO_SPACE, SPACE, look_from, read_sight
from apps.accounts.types import Scope
from apps.conversations.models import Role, Session
from apps.conversations.serializers import NO_SESSION
from apps.conversations.sessions import find_spaces, get_session
from apps.conversations.types import MAX_CONTENT_CHARS
from apps.core.errors import ModelUnavailable, TooLarge
from apps.core.fields import (
    KnownFieldsSerializer,
    StrictCharField,
    StrictFloatField,
    StrictIntegerField,
    read_body,
    results_of,
)
from apps.core.http import read_uuid
from apps.core.operations import Problem, describe, query
from apps.core.pagination import read_int
from apps.memory.api.lists import (
    Q_TOO_LONG,
    QUERY,
    SINCE,
    UNTIL,
    TimeFilter,
    answer_search,
    read_query,
    read_time,
)
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.recall.atomic import retrieve_atomic_memories
from apps.memory.recall.both import recall_long_term
from apps.memory.serializers import AtomicMemorySerializer, LongTermMemorySerializer
from apps.memory.vectors.queries import embed_query, search_conversations
from apps.memory.working import find_working_memory

operation = partial(describe, tag="Search")
MAX_TOP_K = 50


class ConversationSearchRequest(KnownFieldsSerializer):
    """A search by meaning."""

    example = {"query": "租房合同的解约期", "threshold": 0.6}

    query = StrictCharField()
    top_k = StrictIntegerField(min_value=1, max_value=MAX_TOP_K, default=5, help_text="How many results at most.")
    threshold = StrictFloatField(
        min_value=0, max_value=1, required=False, help_text="`memory.similarity_threshold` by default."
    )
    chat_id = StrictCharField(required=False, help_text="ID of a session, to search in that one only.")
    space = StrictCharField(required=False, help_text=f"{SPACE.description} With `chat_id`, where that session is.")

    def validate_query(self, query: str) -> str:
        if len(query) > MAX_CONTENT_CHARS:
            raise TooLarge(f"query has {len(query)} characters; {MAX_CONTENT_CHARS} are allowed.")
        return query


class ConversationMatchSerializer(serializers.Serializer[Any]):
    """A message or summary similar to the query; for a long message, its most similar part."""

    content = serializers.CharField()
    similarity = serializers.FloatField(help_text="Cosine similarity.")
    created_at = serializers.DateTimeField()
    chat_id = serializers.UUIDField(help_text="ID of the session.")
    space = serializers.UUIDField(allow_null=True, help_text="ID of the space that the session is in.")
    message_type = serializers.ChoiceField(choices=Role.choices)


class ConversationSearchView(APIView):
    """What was said that is near a query in meaning, most similar first (V5)."""

    @operation(
        "search_conversations",
        scope=Scope.READ,
        body=ConversationSearchRequest,
        answers=results_of("ConversationSearchResults", ConversationMatchSerializer, "Most similar first."),
        problems=[
            NO_SESSION,
            NO_SPACE,
            Problem(TooLarge, "`query` is too long"),
            Problem(ModelUnavailable, "The embedding model cannot be asked", {"reason": "timeout"}),
        ],
    )
    def post(self, request: Request) -> Response:
        """Search conversations by meaning.

        Messages and summaries whose meaning is near the query, most similar first.
        """
        asked = read_body(ConversationSearchRequest, request)
        session, user = _look(request, asked.get("chat_id"), asked.get("space", ""))
        matches = search_conversations(
            user=user,
            query=asked["query"],
            top_k=asked["top_k"],
            threshold=asked["threshold"] if "threshold" in asked else get_settings(user).similarity_threshold,
            chat_id=session.id if session else None,
        )
        spaces = find_spaces(user, {match.chat_id for match in matches})
        results = [asdict(match) | {"space": spaces.get(match.chat_id)} for match in matches]
        return Response({"results": ConversationMatchSerializer(results, many=True).data})


def _look(request: Request, session_id: str | None, named: str) -> tuple[Session | None, User]:
    """Return the session, None without an ID, and who asks as they look from the space named, else from where it is."""
    user = get_user(request)
    session = None if session_id is None else get_session(user, read_uuid(session_id))
    if session is not None and not named:
        return session, user.within(session.space_id)
    return session, look_from(user, named)


MAX_TOP_N = 50
MAX_SEARCH_LIMIT = 50


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


class SearchView(APIView):
    """The memories a message would recall, best first, with every component of the score (K5). Counts no use (L4)."""

    @operation(
        "search_memories",
        scope=Scope.READ,
        parameters=[
            QUERY,
            query(
                "session_id",
                "Prefer memories about the current topic of this session, and look from where it is.",
                {"type": "string", "format": "uuid"},
            ),
            SPACE,
            query(
                "limit",
                "How many at most; `memory.retrieval_limit` by default.",
                {"type": "integer", "minimum": 1, "maximum": MAX_SEARCH_LIMIT},
            ),
        ],
        answers=results_of("MemorySearchResults", ScoredMemorySerializer, "Best first."),
        problems=[NO_SESSION, NO_SPACE, Q_TOO_LONG],
    )
    def get(self, request: Request) -> Response:
        """Search long-term memories. What a message would recall, best first, with every component of the score."""
        now, text = timezone.now(), read_query(request)
        asked = request.query_params
        session, user = _look(request, asked.get("session_id"), asked.get("space", ""))
        settings = get_settings(user)
        scored = recall_long_term(
            user,
            text,
            settings,
            read_int(request, "limit", default=settings.retrieval_limit, minimum=1, maximum=MAX_SEARCH_LIMIT),
            query_embedding=embed_query(text) if settings.semantic_candidates else None,
            working_memory=find_working_memory(user, session.id, now=now, ttl_minutes=settings.working_ttl_minutes)
            if session
            else None,
            now=now,
        )
        return answer_search(LONG_TERM, ScoredMemorySerializer, user, scored)


class ScoredAtomicMemorySerializer(serializers.Serializer[Any]):
    """An atomic memory with its score and the components of it."""

    memory = AtomicMemorySerializer()
    score = serializers.FloatField(help_text="The sum of `parts`; comparable within one response only.")
    keyword_score = serializers.FloatField(help_text="BM25: at least 0, without an upper limit.")
    semantic_score = serializers.FloatField(help_text="Cosine similarity; 0 if unknown.")
    parts = serializers.DictField(
        child=serializers.FloatField(), help_text="The points that each feature adds to the score, or takes from it."
    )


class AtomicSearchView(APIView):
    """The atomic memories a message would recall, best first (A4)."""

    @operation(
        "search_atomic_memories",
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
            SPACE,
        ],
        answers=results_of("AtomicSearchResults", ScoredAtomicMemorySerializer, "Best first."),
        problems=[NO_SPACE, Q_TOO_LONG],
    )
    def get(self, request: Request) -> Response:
        """Search atomic memories. What a message would recall, best first."""
        user, text = read_sight(request), read_query(request)
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
        return answer_search(ATOMIC, ScoredAtomicMemorySerializer, user, found)
