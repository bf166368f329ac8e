"""REST of chat completions, models and embeddings for OpenAI's clients, which only change their base URL (T3)."""

from __future__ import annotations

import asyncio
import secrets
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import structlog
from django.http import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.accounts.selectors import get_user
from apps.accounts.types import Scope
from apps.chat.turn.open import open_client_turn
from apps.chat.turn.run import TurnRun, start_turn
from apps.chat.turn.types import ClientRequest, Delta, Done, Failed, OpenTurn, Relayed, TurnEvent
from apps.core.db import in_database
from apps.core.errors import JiyiError, ModelUnavailable
from apps.core.fields import UncleanedJSONParser
from apps.core.http import read_size, run_in_thread_if_large
from apps.core.llm.client import choose_chat_model, get_embedder, get_embedder_name
from apps.core.operations import Problem
from apps.core.responses import encode_data, stream_frames
from apps.core.text.clean import estimate_tokens
from apps.doors.housekeeping import read_task
from apps.doors.openai import schemas
from apps.doors.openai.base import (
    DEFAULT_MODEL,
    ModelNotFound,
    OpenAIView,
    describe_error,
    describe_headers,
    find_named_session,
    find_person,
    list_models,
    read_pause,
    relay_recorded,
    sends_whole_chat,
    stream_turn,
)
from apps.doors.openai.embeddings import embed_texts, read_embedding_request, render_embeddings
from apps.doors.openai.request import ChatRequest, read_chat_request
from apps.doors.openai.schemas import operation

logger = structlog.get_logger(__name__)


class ChatCompletionsView(OpenAIView):
    """Chat completions with memory: the same turn as in REST, for clients of OpenAI's API."""

    parser_classes = [UncleanedJSONParser]

    @operation(
        "create_chat_completion",
        scope=Scope.WRITE,
        parameters=[schemas.SESSION, schemas.PAUSE, schemas.TASK],
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
        whole, pause = sends_whole_chat(request.headers), read_pause(request.headers)
        reading = partial(read_chat_request, request.data, whole=whole)
        chat = await run_in_thread_if_large(reading, size=read_size(request))
        # Before the session: clients ask for search queries and the like before a chat's first message.
        if chat.conversation is None or read_task(headers=request.headers, body=chat.body) is not None:
            return await _answer_plainly(chat, user=user)
        session_id = await in_database(find_named_session, user=user, headers=request.headers) if chat.stored else None
        conversation = replace(chat.conversation, paused=pause)
        return await _answer_turn(chat, conversation, user=user, session_id=session_id)


class ModelsView(OpenAIView):
    """The models that can be asked for."""

    @operation("list_models", scope=Scope.READ, answers=schemas.MODELS)
    async def get(self, request: Request) -> Response:
        """List models."""
        return Response(
            {"object": "list", "data": [_describe_model(name) for name in await list_models(get_user(request))]}
        )


class ModelView(OpenAIView):
    """One of them."""

    @operation(
        "get_model",
        scope=Scope.READ,
        parameters=[OpenApiParameter("model", str, OpenApiParameter.PATH, True, "Name of the model.")],
        answers=schemas.MODEL,
        problems=[Problem(ModelNotFound, "There is no such model", {"model": []})],
    )
    async def get(self, request: Request, model: str) -> Response:
        """Get a model."""
        if model not in await list_models(get_user(request)):
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
        given = await run_in_thread_if_large(reading, size=read_size(request))
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
    headers = describe_headers(turn, stored=chat.stored)
    if not chat.stream:
        return Response(await _collect(run, turn), headers=headers)
    make = partial(_make_chunks, run=run, turn=turn, include_usage=chat.include_usage)
    return await stream_turn(run, lambda events: _encode(make(events)), headers=headers)


async def _collect(run: TurnRun, turn: OpenTurn) -> dict[str, Any]:
    pieces: list[str] = []
    relayed: dict[str, Any] | None = None
    async for event in run.events():
        match event:
            case Delta(text):
                pieces.append(text)
            case Relayed(answer):
                relayed = dict(answer)
            case Failed(error):
                raise error
            case Done(result) if relayed is None:
                text = "".join(pieces)
                usage = count_usage(prompt_tokens=turn.context.total_tokens, text=text)
                extra = describe_turn(result, session_id=_name_session(turn))
                return _begin(turn).whole(text, finish_reason=run.finish_reason, usage=usage, **extra)
    assert relayed is not None, "a turn ends with Done or Failed"
    return relayed


async def _make_chunks(
    events: AsyncIterator[TurnEvent], *, run: TurnRun, turn: OpenTurn, include_usage: bool
) -> AsyncIterator[Mapping[str, Any]]:
    """Yield the chunks of a turn's completion. Raises what the turn failed with."""
    completion, pieces = _begin(turn), list[str]()
    unused: Any = None if include_usage else ...
    is_relayed = turn.client is not None and turn.client.relayed is not None
    if not is_relayed:
        yield completion.chunk({"role": "assistant", "content": ""}, usage=unused)
    async for event in events:
        match event:
            case Delta(text):
                pieces.append(text)
                yield completion.chunk({"content": text}, usage=unused)
            case Relayed(answer):
                for chunk in list_chunks(answer, include_usage=include_usage):
                    yield chunk
            case Failed(error):
                raise error
            case Done(result) if not is_relayed:
                usage = count_usage(prompt_tokens=turn.context.total_tokens, text="".join(pieces))
                extra = describe_turn(result, session_id=_name_session(turn))
                # Without being asked for it, it is on the last chunk: Dify counts for itself where it finds none.
                last = None if include_usage else usage
                yield completion.chunk({}, finish_reason=run.finish_reason, usage=last, **extra)
                if include_usage:
                    yield completion.usage_chunk(usage)


async def _encode(chunks: AsyncIterator[Mapping[str, Any]]) -> AsyncIterator[bytes]:
    try:
        async for chunk in chunks:
            yield encode_data(chunk)
    except JiyiError as error:
        yield encode_data(describe_error(error))
    else:
        yield b"data: [DONE]\n\n"


def _begin(turn: OpenTurn) -> Completion:
    name = secrets.token_hex(12) if turn.round is None else turn.round.message_id.hex
    model = (turn.client.model if turn.client else "") or turn.chosen.name or DEFAULT_MODEL
    return Completion(id=f"chatcmpl-{name}", model=model, created=int(time.time()))


def _name_session(turn: OpenTurn) -> str | None:
    return str(turn.session_id) if turn.client is None or turn.client.stored else None


async def _answer_plainly(chat: ChatRequest, *, user: User) -> HttpResponseBase:
    """Pass a request on that is no conversation: nothing is recalled, stored or learned."""
    chosen = await in_database(choose_chat_model, asked=chat.body["model"])
    body = {**chat.relayed_body, "model": chosen.other, "stream": chat.stream}
    answer = relay_recorded(chosen.model, body, user=user)
    first = await anext(answer)  # a refusal has a status of its own
    if not chat.stream:
        await answer.aclose()
        return Response(first)

    async def make() -> AsyncIterator[Mapping[str, Any]]:
        for chunk in list_chunks(first, include_usage=chat.include_usage):
            yield chunk
        async for event in answer:
            for chunk in list_chunks(event, include_usage=chat.include_usage):
                yield chunk

    return stream_frames(_encode(make()))


# On the wire

# The field in which a completion tells what OpenAI's has no place for.
EXTENSION = "jiyi"

_TOLD = ("emotion", "strategy", "paused_by", "memories_used", "memory_updates", "commands", "tool_calls")


@dataclass(frozen=True, slots=True)
class Completion:
    """What all chunks of one completion have in common. `created` is a Unix time in seconds."""

    id: str
    model: str
    created: int

    def chunk(
        self, delta: Mapping[str, Any], *, finish_reason: str | None = None, usage: Any = ..., **extra: Any
    ) -> dict[str, Any]:
        """Return one chunk. `usage`: null in all but the last chunk of a stream that was asked for it."""
        choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish_reason}
        return self._envelope("chat.completion.chunk", [choice], usage=usage, **extra)

    def usage_chunk(self, usage: Mapping[str, int]) -> dict[str, Any]:
        """Return the last chunk of a stream that was asked for its usage: without choices."""
        return self._envelope("chat.completion.chunk", [], usage=usage)

    def whole(self, text: str, *, finish_reason: str, usage: Mapping[str, int], **extra: Any) -> dict[str, Any]:
        """Return the completion of a request that is not streamed."""
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}
        return self._envelope("chat.completion", [choice], usage=usage, **extra)

    def _envelope(self, kind: str, choices: list[Any], *, usage: Any, **extra: Any) -> dict[str, Any]:
        base = {"id": self.id, "object": kind, "created": self.created, "model": self.model, "choices": choices}
        return {**base, **({} if usage is ... else {"usage": usage}), **extra}


def count_usage(*, prompt_tokens: int, text: str) -> dict[str, int]:
    """Return estimated figures: the model's server counts the JSON around the reply, too."""
    completion_tokens = estimate_tokens(text)
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def describe_turn(result: Mapping[str, Any], *, session_id: str | None) -> dict[str, Any]:
    """Return the extension: the session and what the turn found, as in REST's answer."""
    message = result["assistant_message"]
    told = {name: result[name] for name in _TOLD}
    return {EXTENSION: {"session_id": session_id, "message_id": message["id"] if message else None, **told}}


def list_chunks(event: Mapping[str, Any], *, include_usage: bool) -> list[Mapping[str, Any]]:
    """Return what an event of the model's server is in the stream of a client: one chunk, or none.

    Servers send chunks without choices unasked: clients read the first choice of each, unless they asked for the usage.
    """
    if event.get("choices") == [] and not (include_usage and event.get("usage")):
        return []
    return [_as_chunk(event) if event.get("object") == "chat.completion" else event]


def _as_chunk(completion: Mapping[str, Any]) -> dict[str, Any]:
    """Return a whole completion as the one chunk of a stream, for a server that does not stream."""
    choices = [
        {**{name: value for name, value in choice.items() if name != "message"}, "delta": choice.get("message", {})}
        for choice in completion["choices"]
        if isinstance(choice, dict)
    ]
    return {**completion, "object": "chat.completion.chunk", "choices": choices}
