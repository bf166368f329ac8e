"""REST of chat completions, models and embeddings for OpenAI's clients, which only change their base URL (T3)."""

from __future__ import annotations

import asyncio
import secrets
import time
import uuid
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import structlog
from django.http import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.accounts.types import Scope
from apps.chat.turn.open import open_client_turn
from apps.chat.turn.run import TurnRun, start_turn
from apps.chat.turn.types import ClientRequest, Delta, Done, Failed, OpenTurn, Relayed, TurnEvent
from apps.core.apart import read_apart
from apps.core.db import in_database
from apps.core.errors import JiyiError, ModelUnavailable
from apps.core.http import read_size
from apps.core.llm.client import choose_chat_model
from apps.core.llm.embedding.client import get_embedder, get_embedder_name
from apps.core.llm.relaying import relay
from apps.core.operations import Problem
from apps.core.parsing import UncleanedJSONParser
from apps.core.sse import encode_data, stream_frames
from apps.gateway.housekeeping import read_task
from apps.gateway.openai import schemas
from apps.gateway.openai.base import OpenAIView, find_person, peek
from apps.gateway.openai.completions import Completion, count_usage, describe_turn, list_chunks
from apps.gateway.openai.embeddings import embed_texts, read_embedding_request, render_embeddings
from apps.gateway.openai.errors import ModelNotFound, describe_error
from apps.gateway.openai.models import DEFAULT_MODEL, list_models
from apps.gateway.openai.request import ChatRequest, read_chat_request
from apps.gateway.openai.schemas import operation
from apps.gateway.openai.sessions import SESSION_HEADER, find_named_session, sends_whole_chat

logger = structlog.get_logger(__name__)

_END = b"data: [DONE]\n\n"


class ChatCompletionsView(OpenAIView):
    """Chat completions with memory: the same turn as in REST, for clients of OpenAI's API."""

    parser_classes = [UncleanedJSONParser]

    @operation(
        "create_chat_completion",
        scope=Scope.WRITE,
        parameters=[schemas.SESSION, schemas.TASK],
        body=schemas.CHAT_REQUEST,
        answers={200: schemas.CHAT_ANSWERS},
        problems=[schemas.NO_SESSION, schemas.TOO_LONG, schemas.REFUSED, schemas.FAILED],
    )
    async def post(self, request: Request) -> HttpResponseBase:
        """Answer a chat with memory.

        Any client of OpenAI's chat completions. The reply takes into account what is remembered, and what the
        person says is remembered. See `docs/openai.md`.
        """
        user = await in_database(find_person, request)
        whole = sends_whole_chat(request.headers)
        reading = partial(read_chat_request, request.data, whole=whole)
        chat = await read_apart(reading, size=read_size(request))
        # Before the session: clients ask for search queries and the like before a chat's first message.
        if chat.conversation is None or read_task(headers=request.headers, body=chat.body) is not None:
            return await _answer_plainly(chat)
        session_id = await in_database(find_named_session, user=user, headers=request.headers) if chat.stored else None
        return await _answer_turn(chat, chat.conversation, user=user, session_id=session_id)


class ModelsView(OpenAIView):
    """The models that can be asked for."""

    @operation("list_models", scope=Scope.READ, answers=schemas.MODELS)
    async def get(self, request: Request) -> Response:
        """List models."""
        return Response({"object": "list", "data": [_describe_model(name) for name in await list_models()]})


class ModelView(OpenAIView):
    """One of them."""

    @operation(
        "get_model",
        scope=Scope.READ,
        parameters=[OpenApiParameter("model", str, OpenApiParameter.PATH, True, "Name of the model.")],
        answers=schemas.MODEL,
        problems=[
            Problem(ModelNotFound, "There is no such model", {"model": []}),
        ],
    )
    async def get(self, request: Request, model: str) -> Response:
        """Get a model."""
        if model not in await list_models():
            raise ModelNotFound(model)
        return Response(_describe_model(model))


def _describe_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": DEFAULT_MODEL}


class EmbeddingsView(OpenAIView):
    """Embeddings of texts; nothing is stored, and nobody is made for a name in the body."""

    @operation(
        "create_embeddings",
        scope=Scope.READ,
        body=schemas.EMBEDDING_REQUEST,
        answers=schemas.EMBEDDINGS,
        problems=[
            Problem(ModelNotFound, "There is no such embedding model", {"model": []}),
            Problem(ModelUnavailable, "The embedding model cannot be asked"),
        ],
    )
    async def post(self, request: Request) -> Response:
        """Embed texts. By the model that embeds memories here. Nothing is stored."""
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


# A turn


async def _answer_turn(
    chat: ChatRequest, conversation: ClientRequest, *, user: User, session_id: uuid.UUID | None
) -> HttpResponseBase:
    opening = partial(open_client_turn, user=user, session_id=session_id, request=conversation, now=timezone.now())
    run = start_turn(opening)
    turn = await run.opened()
    headers = {SESSION_HEADER: str(turn.session_id)} if chat.stored else {}
    relayed = turn.client is not None and turn.client.relayed is not None
    if not chat.stream:
        body = await _collect_relayed(run) if relayed else await _collect(run, turn)
        return Response(body, headers=headers)
    events = run.events()
    first, events = await peek(events)
    if isinstance(first, Failed):
        raise first.error
    frames = (
        _encode_relayed(events, include_usage=chat.include_usage)
        if relayed
        else _encode(events, run, turn, include_usage=chat.include_usage)
    )
    response = stream_frames(frames)
    for name, value in headers.items():
        response[name] = value
    return response


async def _collect(run: TurnRun, turn: OpenTurn) -> dict[str, Any]:
    pieces: list[str] = []
    async for event in run.events():
        match event:
            case Delta(text):
                pieces.append(text)
            case Failed(error):
                raise error
            case Done(result):
                text = "".join(pieces)
                usage = count_usage(prompt_tokens=turn.context.total_tokens, text=text)
                extra = describe_turn(result, session_id=_name_session(turn))
                return _begin(turn).whole(text, finish_reason=run.finish_reason, usage=usage, **extra)
    raise AssertionError("a turn ends with Done or Failed")


async def _collect_relayed(run: TurnRun) -> dict[str, Any]:
    completion: dict[str, Any] = {}
    async for event in run.events():
        match event:
            case Relayed(answer):
                completion = dict(answer)
            case Failed(error):
                raise error
    return completion


async def _encode(
    events: AsyncIterator[TurnEvent], run: TurnRun, turn: OpenTurn, *, include_usage: bool
) -> AsyncIterator[bytes]:
    completion, pieces = _begin(turn), list[str]()
    unused: Any = None if include_usage else ...
    yield encode_data(completion.chunk({"role": "assistant", "content": ""}, usage=unused))
    async for event in events:
        match event:
            case Delta(text):
                pieces.append(text)
                yield encode_data(completion.chunk({"content": text}, usage=unused))
            case Failed(error):
                yield encode_data(describe_error(error))
                return
            case Done(result):
                usage = count_usage(prompt_tokens=turn.context.total_tokens, text="".join(pieces))
                extra = describe_turn(result, session_id=_name_session(turn))
                # Without being asked for it, it is on the last chunk: Dify counts for itself where it finds none.
                last = None if include_usage else usage
                yield encode_data(completion.chunk({}, finish_reason=run.finish_reason, usage=last, **extra))
                if include_usage:
                    yield encode_data(completion.usage_chunk(usage))
    yield _END


async def _encode_relayed(events: AsyncIterator[TurnEvent], *, include_usage: bool) -> AsyncIterator[bytes]:
    async for event in events:
        match event:
            case Relayed(answer):
                for chunk in list_chunks(answer, include_usage=include_usage):
                    yield encode_data(chunk)
            case Failed(error):
                yield encode_data(describe_error(error))
                return
    yield _END


def _begin(turn: OpenTurn) -> Completion:
    name = secrets.token_hex(12) if turn.round is None else turn.round.message_id.hex
    model = (turn.client.model if turn.client else "") or turn.chosen.name or DEFAULT_MODEL
    return Completion(id=f"chatcmpl-{name}", model=model, created=int(time.time()))


def _name_session(turn: OpenTurn) -> str | None:
    return str(turn.session_id) if turn.client is None or turn.client.stored else None


# No conversation


async def _answer_plainly(chat: ChatRequest) -> HttpResponseBase:
    """Pass a request on that is no conversation: nothing is recalled, stored or learned."""
    chosen = await in_database(choose_chat_model, asked=chat.body["model"])
    answer = relay(chosen.model, {**chat.relayed_body, "model": chosen.other, "stream": chat.stream})
    if not chat.stream:
        return Response(await anext(answer))
    first = await anext(answer)  # a refusal has a status of its own

    async def encode() -> AsyncIterator[bytes]:
        try:
            for chunk in list_chunks(first, include_usage=chat.include_usage):
                yield encode_data(chunk)
            async for event in answer:
                for chunk in list_chunks(event, include_usage=chat.include_usage):
                    yield encode_data(chunk)
        except JiyiError as error:
            yield encode_data(describe_error(error))
            return
        yield _END

    return stream_frames(encode())
