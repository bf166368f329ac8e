"""Embeddings by the model that embeds here (T3, V2)."""

from __future__ import annotations

import asyncio
from functools import partial

import structlog
from rest_framework.request import Request
from rest_framework.response import Response

from apps.core.apart import read_apart
from apps.core.db import in_database
from apps.core.errors import ModelUnavailable
from apps.core.http import read_size
from apps.core.llm.embedding.client import get_embedder, get_embedder_name
from apps.gateway.openai.base import OpenAIView
from apps.gateway.openai.embeddings import embed_texts, read_embedding_request, render_embeddings

logger = structlog.get_logger(__name__)


class EmbeddingsView(OpenAIView):
    """Embeddings of texts; nothing is stored, and nobody is made for a name in the body."""

    async def post(self, request: Request) -> Response:
        """Embed the texts of ``input``."""
        reading = partial(read_embedding_request, request.data, active=await in_database(get_embedder_name))
        given = await read_apart(reading, size=read_size(request))
        try:
            embedder = await in_database(get_embedder)
            vectors = await asyncio.to_thread(embed_texts, given, embedder)
        except ModelUnavailable as error:
            # What its server said is for who runs this, as in a turn.
            logger.warning("embeddings.model_unavailable", detail=error.message, **error.fields)
            raise ModelUnavailable("The embedding model cannot be reached at the moment.") from None
        return Response(render_embeddings(given, vectors, model=embedder.name))
