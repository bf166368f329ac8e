"""Responses: OpenAI's newer endpoint, which the AI SDK asks by default, in front of the same turn (T3)."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.http import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.accounts.selectors import get_user
from apps.accounts.types import Scope
from apps.chat.turn.run import TurnRun, start_turn
from apps.chat.turn.types import Delta, Done, Failed, OpenTurn, Relayed, TurnEvent
from apps.conversations.models import MessageStatus
from apps.conversations.sessions import get_shown_status
from apps.core.db import in_database
from apps.core.errors import JiyiError, NotFound
from apps.core.fields import UncleanedJSONParser
from apps.core.http import read_size, run_in_thread_if_large
from apps.core.llm.client import choose_chat_model, get_chat_model
from apps.core.llm.wire import DEFAULT_BASE_URL, name_token_limit
from apps.core.operations import Problem
from apps.core.responses import encode_event, stream_frames
from apps.core.text.clean import estimate_tokens
from apps.doors.housekeeping import read_task
from apps.doors.openai import schemas
from apps.doors.openai.api import count_usage, describe_turn
from apps.doors.openai.base import (
    DEFAULT_MODEL,
    SESSION_HEADER,
    OpenAIView,
    PreviousResponseNotFound,
    describe_error,
    describe_headers,
    find_named_session,
    find_person,
    read_pause,
    refuse,
    relay_recorded,
    sends_whole_chat,
    stream_turn,
)
from apps.doors.openai.request import ChatRequest, render_content
from apps.doors.openai.responses_answer import (
    Event,
    ResponseBuilder,
    name_call,
    name_message,
    name_response,
    read_item_name,
    read_response_name,
    render_call,
    render_message,
    render_stored,
)
from apps.doors.openai.responses_request import (
    ResponseRequest,
    list_called,
    list_references,
    read_response_request,
    to_messages,
)
from apps.doors.openai.schemas import operation
from apps.doors.openai.stored_responses import (
    NewResponse,
    Place,
    add_calls,
    continue_response,
    find_earlier_response,
    find_response,
    list_chat_messages,
    open_response_turn,
)


class ResponsesView(OpenAIView):
    """Responses with memory: chat completions in other words, whose client may leave the history to us."""

    parser_classes = [UncleanedJSONParser]

    @operation(
        "create_response",
        scope=Scope.WRITE,
        parameters=[schemas.SESSION, schemas.PAUSE, schemas.TASK],
        body=schemas.RESPONSE_REQUEST,
        answers={200: schemas.RESPONSE_ANSWERS},
        problems=[
            schemas.NO_SESSION,
            Problem(PreviousResponseNotFound, "There is no such previous response", {"previous_response_id": []}),
            schemas.TOO_LONG,
            schemas.REFUSED,
            schemas.FAILED,
        ],
    )
    async def post(self, request: Request) -> HttpResponseBase:
        """Make a response with memory. The same turn as a chat completion, for clients of OpenAI's newer endpoint."""
        user = await in_database(find_person, request)
        default = await in_database(get_chat_model)
        limit_name = name_token_limit(getattr(default, "server", DEFAULT_BASE_URL))
        reading = partial(read_response_request, request.data, limit_name=limit_name)
        given = await run_in_thread_if_large(reading, size=read_size(request))
        place = await in_database(_find_place, user, given)
        pause = read_pause(request.headers)
        whole = place.is_branch or sends_whole_chat(request.headers)
        chat = given.to_chat(place.messages, whole=whole)
        if place.session_id is not None and chat.conversation is None:
            refuse("input must have a message of the user or results of calls.", "input")
        # Before the session: clients ask for search queries and the like before a chat's first message.
        body = {**chat.body, "metadata": given.metadata}
        if chat.conversation is None or read_task(headers=request.headers, body=body) is not None:
            return await _answer_plainly(given, chat, user=user)
        session_id = await in_database(_find_session, user, place, request.headers) if given.stored else None
        conversation = replace(chat.conversation, paused=pause)
        if place.from_store:
            conversation = replace(conversation, given=replace(conversation.given, before=()))
        response = NewResponse(
            id=uuid.uuid4(),
            previous=read_response_name(given.previous or ""),
            after=place.after,
            model=conversation.model or default.name,
            metadata=given.metadata,
        )
        opening = partial(
            open_response_turn,
            user=user,
            session_id=session_id,
            request=conversation,
            response=response,
            now=timezone.now(),
        )
        return await _answer_turn(given, opening, user=user, key=response.id)


class ResponseView(OpenAIView):
    """A stored response."""

    @operation(
        "get_response",
        scope=Scope.READ,
        parameters=[OpenApiParameter("response_id", str, OpenApiParameter.PATH, True, "ID of the response.")],
        answers=schemas.RESPONSE,
    )
    async def get(self, request: Request, response_id: str) -> Response:
        """Get a stored response. Without the figures and most parameters of its time, which are not kept."""
        return Response(await in_database(_describe_stored, get_user(request), response_id))


# What a request refers to


def _find_place(user: User, given: ResponseRequest) -> Place:
    """Return the messages of the request, with all that it refers to. Raises `NotFound` for what is not there."""
    earlier = None
    if given.previous is not None:
        key = read_response_name(given.previous)
        earlier = find_earlier_response(user, key) if key else None
        if earlier is None:
            raise PreviousResponseNotFound(given.previous)
    called = list_called(earlier.exchange) if earlier else []
    new = to_messages(given.items, referred=_find_items(user, list_references(given.items)), called=called)
    return continue_response(new, earlier, stored=given.stored)


def _find_items(user: User, references: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    names = {reference: read_item_name(reference) for reference in references}
    messages = list_chat_messages(user, {name[0] for name in names.values() if name}) if references else {}
    items: dict[str, Mapping[str, Any]] = {}
    for reference, name in names.items():
        item = _make_item(messages.get(name[0]), name[1]) if name else None
        if item is None:
            text = f"Item with id {reference!r} not found."
            raise NotFound(text, fields={"input": [text]})
        items[reference] = item
    return items


def _make_item(message: Mapping[str, Any] | None, number: int | None) -> Mapping[str, Any] | None:
    """Return the item that a stored chat message, or one of its calls, is."""
    if message is None:
        return None
    if number is None:
        return {"type": "message", "role": "assistant", "content": message.get("content") or ""}
    calls = message.get("tool_calls") or []
    return render_call(calls[number], name="") if number < len(calls) else None


def _find_session(user: User, place: Place, headers: Mapping[str, str]) -> uuid.UUID | None:
    if place.session_id is not None and not headers.get(SESSION_HEADER, "").strip():
        return place.session_id
    named = find_named_session(user=user, headers=headers)
    if place.session_id not in (None, named):
        refuse(f"previous_response_id is not of the session in {SESSION_HEADER}.", "previous_response_id")
    return named


# A turn


async def _answer_turn(
    given: ResponseRequest, opening: Callable[[], OpenTurn], *, user: User, key: uuid.UUID
) -> HttpResponseBase:
    run = start_turn(opening)
    turn = await run.opened()
    headers = describe_headers(turn, stored=given.stored)
    builder = _begin(given, key=key, model=(turn.client.model if turn.client else "") or turn.chosen.name)
    if not given.stream:
        return Response(await _collect(_build(run.events(), run, turn, builder, user=user)), headers=headers)
    return await stream_turn(
        run, lambda events: _encode(_build(events, run, turn, builder, user=user), builder), headers=headers
    )


async def _build(
    events: AsyncIterator[TurnEvent], run: TurnRun, turn: OpenTurn, builder: ResponseBuilder, *, user: User
) -> AsyncIterator[Event]:
    """Yield the events of the response to a turn. Raises what the turn failed with."""
    for made in builder.begin():
        yield made
    async for event in events:
        match event:
            case Delta(text):
                for made in builder.add_text(text):
                    yield made
            case Relayed(answer):
                for made in builder.add_chat(answer):
                    yield made
            case Failed(error):
                raise error
            case Done(result):
                stored = turn.round is not None
                if stored and builder.calls:
                    await in_database(add_calls, user=user, response_id=builder.key, message=builder.message)
                builder.finish_reason = builder.finish_reason or run.finish_reason
                usage = count_usage(prompt_tokens=turn.context.total_tokens, text=builder.text)
                extra = describe_turn(result, session_id=str(turn.session_id) if stored else None)
                for made in builder.finish(usage=usage, **extra):
                    yield made


async def _collect(events: AsyncIterator[Event]) -> Any:
    """Return the response that the last event holds."""
    last: Event = {}
    async for event in events:
        last = event
    return last["response"]


async def _encode(events: AsyncIterator[Event], builder: ResponseBuilder) -> AsyncIterator[bytes]:
    try:
        async for event in events:
            yield encode_event(event["type"], event)
    except JiyiError as error:
        for event in builder.fail(describe_error(error)["error"]):
            yield encode_event(event["type"], event)


def _begin(given: ResponseRequest, *, key: uuid.UUID, model: str) -> ResponseBuilder:
    return ResponseBuilder(key=key, created=int(time.time()), model=model or DEFAULT_MODEL, echo=given.echo)


# No conversation


async def _answer_plainly(given: ResponseRequest, chat: ChatRequest, *, user: User) -> HttpResponseBase:
    """Pass a request on that is no conversation: nothing is recalled, stored or learned."""
    chosen = await in_database(choose_chat_model, asked=chat.body["model"])
    answer = relay_recorded(chosen.model, {**chat.relayed_body, "model": chosen.other}, user=user)
    builder = _begin(given, key=uuid.uuid4(), model=chat.body["model"] or chosen.name)
    first = await anext(answer)  # a refusal has a status of its own

    async def build() -> AsyncIterator[Event]:
        for made in (*builder.begin(), *builder.add_chat(first)):
            yield made
        async for event in answer:
            for made in builder.add_chat(event):
                yield made
        prompt = sum(estimate_tokens(render_content(line)) for line in chat.body["messages"])
        for made in builder.finish(usage=count_usage(prompt_tokens=prompt, text=builder.text)):
            yield made

    if not given.stream:
        return Response(await _collect(build()))
    return stream_frames(_encode(build(), builder))


# A stored response


def _describe_stored(user: User, name: str) -> dict[str, Any]:
    key = read_response_name(name)
    found = find_response(user, key) if key else None
    if key is None or found is None:
        raise NotFound(f"Response with id {name!r} not found.")
    row, reply = found.row, found.reply
    if reply is not None:
        status, output = "completed", [render_message({"output_text": reply.content}, name=name_message(key))]
    elif found.calls is not None:
        calls = enumerate(found.calls["tool_calls"])
        status, output = "completed", [render_call(call, name=name_call(key, at)) for at, call in calls]
        if found.calls.get("content"):
            output.insert(0, render_message({"output_text": found.calls["content"]}, name=name_message(key)))
    else:
        waits = found.asked and get_shown_status(found.asked, now=timezone.now()) == MessageStatus.PENDING
        status, output = "in_progress" if waits else "failed", []
    created = row.created_at if row else reply.create_time if reply else timezone.now()
    return render_stored(
        key,
        created=int(created.timestamp()),
        model=(row.model if row else "") or DEFAULT_MODEL,
        status=status,
        output=output,
        previous=name_response(row.previous) if row and row.previous else None,
        metadata=row.metadata if row else {},
    )
