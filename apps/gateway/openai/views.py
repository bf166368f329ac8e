"""The OpenAI-compatible endpoints (T3): any OpenAI client gets memory by changing its base URL."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

from django.http import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.accounts.selectors import get_user
from apps.accounts.services.identity import resolve_person
from apps.chat import services
from apps.chat.services import Delta, Done, Failed, OpenTurn, Relayed, Started, TurnEvent, TurnRun
from apps.core.db import in_database
from apps.core.errors import JiyiError, NotFound
from apps.core.http import AsyncAPIView
from apps.core.llm.client import get_chat_model
from apps.core.llm.relaying import relay
from apps.core.sse import encode_data, stream_frames
from apps.gateway.housekeeping import read_task
from apps.gateway.openai.completions import Completion, as_chunk, count_usage, describe_turn
from apps.gateway.openai.errors import describe_error, handle_openai_exception
from apps.gateway.openai.models import DEFAULT_MODEL, list_models, name_default_models
from apps.gateway.openai.request import ChatRequest, read_chat_request
from apps.gateway.openai.sessions import SESSION_HEADER, NamedSession, read_session

FIRST_EVENT_SECONDS = 15.0
"""How long the status of a stream waits for the model's first word: until then a failure has a status of its own."""

_END = b"data: [DONE]\n\n"


class OpenAIView(AsyncAPIView):
    """A view whose errors have OpenAI's shape."""

    def get_exception_handler(self) -> Any:
        return handle_openai_exception


class ChatCompletionsView(OpenAIView):
    """Chat completions with memory: the same turn as in REST, for clients of OpenAI's API."""

    async def post(self, request: Request) -> HttpResponseBase:
        """Answer the last message of the user. The session's ID is in the header ``X-Session-Id`` of the answer."""
        user = await in_database(find_person, request)
        named = await in_database(read_session, user=user, headers=request.headers)
        chat = read_chat_request(request.data, default_models=name_default_models(), whole=named.whole)
        task = read_task(headers=request.headers, body=chat.body)
        if task is not None or chat.conversation is None:
            return await _answer_plainly(chat)
        return await _answer_turn(chat, user=user, named=named)


class ModelsView(OpenAIView):
    """The models that can be asked for."""

    async def get(self, request: Request) -> Response:
        return Response({"object": "list", "data": [_describe_model(name) for name in await list_models()]})


class ModelView(OpenAIView):
    """One of them."""

    async def get(self, request: Request, model: str) -> Response:
        if model not in await list_models():
            raise NotFound(f"The model {model!r} does not exist.")
        return Response(_describe_model(model))


def find_person(request: Request) -> User:
    """Return who asks: with a service token also by fields of the body (T4)."""
    user = get_user(request)
    token = request.auth
    if token is None or not getattr(token, "is_service", False) or user.pk != token.user_id:
        return user
    body = request.data if isinstance(request.data, Mapping) else {}
    return resolve_person(token=token, headers=request.headers, body=body)


def _describe_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": DEFAULT_MODEL}


# A turn


async def _answer_turn(chat: ChatRequest, *, user: User, named: NamedSession) -> HttpResponseBase:
    opening = partial(
        services.open_client_turn, user=user, session_id=named.id, request=chat.conversation, now=timezone.now()
    )
    run = services.start_turn(opening)
    turn = await run.opened()
    headers = {SESSION_HEADER: str(turn.session_id)} if chat.stored else {}
    relayed = turn.client is not None and turn.client.relayed is not None
    if not chat.stream:
        body = await _collect_relayed(run) if relayed else await _collect(run, turn)
        return Response(body, headers=headers)
    events = run.events()
    first, events = await _peek(events)
    if isinstance(first, Failed):
        raise first.error
    frames = _encode_relayed(events) if relayed else _encode(events, run, turn, include_usage=chat.include_usage)
    response = stream_frames(frames)
    for name, value in headers.items():
        response[name] = value
    return response


async def _peek(events: AsyncIterator[TurnEvent]) -> tuple[TurnEvent | None, AsyncIterator[TurnEvent]]:
    """Wait a while for the first event that says something, and return it with all events; None if none came."""
    seen: list[TurnEvent] = []
    upcoming = asyncio.ensure_future(anext(events))
    deadline = asyncio.get_running_loop().time() + FIRST_EVENT_SECONDS
    first: TurnEvent | None = None
    while first is None:
        remaining = deadline - asyncio.get_running_loop().time()
        done, _pending = await asyncio.wait([upcoming], timeout=max(remaining, 0))
        if not done:
            break
        seen.append(upcoming.result())
        if isinstance(seen[-1], Started):
            upcoming = asyncio.ensure_future(anext(events))
        else:
            first = seen[-1]

    async def replay() -> AsyncIterator[TurnEvent]:
        for event in seen:
            yield event
        if first is None:
            yield await upcoming
        async for event in events:
            yield event

    return first, replay()


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
                extra = describe_turn(result, session_id=_name_session(turn))
                yield encode_data(completion.chunk({}, finish_reason=run.finish_reason, usage=unused, **extra))
                if include_usage:
                    usage = count_usage(prompt_tokens=turn.context.total_tokens, text="".join(pieces))
                    yield encode_data(completion.usage_chunk(usage))
    yield _END


async def _encode_relayed(events: AsyncIterator[TurnEvent]) -> AsyncIterator[bytes]:
    async for event in events:
        match event:
            case Relayed(answer):
                yield encode_data(as_chunk(answer) if answer.get("object") == "chat.completion" else answer)
            case Failed(error):
                yield encode_data(describe_error(error))
                return
    yield _END


def _begin(turn: OpenTurn) -> Completion:
    asked = turn.client.model if turn.client else ""
    name = secrets.token_hex(12) if turn.round is None else turn.round.message_id.hex
    return Completion(
        id=f"chatcmpl-{name}", model=asked or get_chat_model().name or DEFAULT_MODEL, created=int(time.time())
    )


def _name_session(turn: OpenTurn) -> str | None:
    return str(turn.session_id) if turn.client is None or turn.client.stored else None


# No conversation


async def _answer_plainly(chat: ChatRequest) -> HttpResponseBase:
    """Pass a request on that is no conversation: nothing is recalled, stored or learned."""
    answer = relay(get_chat_model(), {**chat.relayed_body, "stream": chat.stream})
    if not chat.stream:
        return Response([event async for event in answer][0])
    first = await anext(answer)  # a refusal has a status of its own

    async def encode() -> AsyncIterator[bytes]:
        try:
            yield encode_data(as_chunk(first) if first.get("object") == "chat.completion" else first)
            async for event in answer:
                yield encode_data(event)
        except JiyiError as error:
            yield encode_data(describe_error(error))
            return
        yield _END

    return stream_frames(encode())
