"""REST of search in conversations (SPEC, API: /memory/conversations)."""

from __future__ import annotations

from dataclasses import asdict

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.selectors import get_settings, get_user
from apps.conversations.sessions import get_session
from apps.core.http import read_uuid
from apps.memory.embeddings.search import search_conversations
from apps.memory.embeddings.serializers import ConversationSearchRequest, ConversationSearchResultsSerializer


class ConversationSearchView(APIView):
    """What was said that is near a query in meaning, most similar first (V5)."""

    def post(self, request: Request) -> Response:
        user = get_user(request)
        body = ConversationSearchRequest(data=request.data)
        body.is_valid(raise_exception=True)
        asked = body.validated_data
        matches = search_conversations(
            user=user,
            query=asked["query"],
            top_k=asked["top_k"],
            threshold=asked["threshold"] if "threshold" in asked else get_settings(user).similarity_threshold,
            chat_id=get_session(user, read_uuid(asked["chat_id"])).id if "chat_id" in asked else None,
        )
        results = [asdict(match) for match in matches]
        return Response(ConversationSearchResultsSerializer({"results": results}).data)
