"""REST and SSE of messages and turns: send, retry, regenerate, edit, stop, record."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from django.http import HttpResponseBase
from django.utils import timezone
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.utils.urls import remove_query_param
from rest_framework.views import APIView

from apps.accounts.models import User
from apps.accounts.selectors import get_user
from apps.accounts.types import Scope
from apps.chat.selectors import list_turn_figures
from apps.chat.serializers import (
    EditRequest,
    EditSerializer,
    FormReplySerializer,
    FormRequest,
    MessageRequest,
    RecordingReportSerializer,
    RecordingRequest,
    RestoredSerializer,
    RetryRequest,
    TurnFiguresSerializer,
    TurnSerializer,
)
from apps.chat.turn.close import get_outcome, get_stored_turn
from apps.chat.turn.commands import forget_candidate
from apps.chat.turn.open import (
    list_edits,
    open_another_turn,
    open_edited_turn,
    open_form_turn,
    open_message_turn,
    open_retry_turn,
    undo_edit,
)
from apps.chat.turn.process import fail_left_turns
from apps.chat.turn.run import TurnRun, start_turn, stop_turn
from apps.chat.turn.types import Delta, Done, Failed, OpenTurn, Started
from apps.conversations.pausing import find_pause
from apps.conversations.recordings import record_turns
from apps.conversations.rounds import AlreadySent
from apps.conversations.serializers import MessageChangeRequest, MessageSerializer
from apps.conversations.sessions import (
    find_offset,
    get_message,
    get_message_by_key,
    get_session,
    list_messages,
    set_collected,
)
from apps.conversations.types import RecordedMessage
from apps.core.db import in_database
from apps.core.errors import Conflict, ModelUnavailable, TooLarge
from apps.core.fields import read_body, read_idempotency_key
from apps.core.http import (
    AsyncAPIView,
    ListView,
    error_body,
    handle_exception,
    read_size,
    read_uuid,
    run_in_thread_if_large,
)
from apps.core.operations import EVENTS, IDEMPOTENCY_KEY, Answer, Problem, describe, event, query
from apps.core.pagination import Pagination
from apps.core.responses import stream_events

operation = partial(describe, tag="Conversations")
OUTCOME_POLL_SECONDS = 0.1
MESSAGE = {"message_id": MessageSerializer.example["id"]}

TURN_ANSWERS = {
    201: Answer(TurnSerializer, "The turn, once the reply is complete."),
    200: Answer(
        event(
            "TurnEvent",
            "`data` is JSON: of `start` it is `{user_message}`; of `delta` `{text}`, the next piece of the reply; of "
            "`done` a `Turn`. `error` ends a stream in place of `done` and has an `Error`. Comment lines keep the "
            "connection alive.",
            names=["start", "delta", "done", "error"],
        ),
        "The turn as a stream, with `stream: true`.",
        EVENTS,
        'event: start\ndata: {"user_message": {…}}\n\nevent: delta\ndata: {"text": "A mushroom risotto: "}\n\n'
        'event: done\ndata: {"user_message": {…}, "assistant_message": {…}, …}\n\n',
    ),
}
MODEL_UNAVAILABLE = Problem(
    ModelUnavailable, "The model failed; the message is kept as `failed` and can be retried", MESSAGE
)
TOO_LONG = Problem(TooLarge, "`content` is too long")


class MessagePagination(Pagination):
    """Pages of messages, of which one can begin so that a message stands in its middle."""

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> Any:
        if (around := request.query_params.get("around")) is not None:
            before = find_offset(queryset, read_uuid(around)) - self.get_limit(request) // 2
            self.default_offset = max(before, 0)
        return super().paginate_queryset(queryset, request, view)

    def get_previous_link(self) -> str | None:
        link = super().get_previous_link()
        return link and remove_query_param(link, "around")  # without an offset it would be this page again


class MessagesView(AsyncAPIView, ListView):
    serializer_class = MessageSerializer
    pagination_class = MessagePagination
    rows = staticmethod(list_messages)

    @operation(
        "list_messages",
        scope=Scope.READ,
        parameters=[
            query(
                "around",
                "ID of a message: without an `offset`, the page begins so that it is in its middle.",
                {"type": "string", "format": "uuid"},
            )
        ],
    )
    async def get(self, request: Request, session_id: str) -> Response:  # type: ignore[override]
        """List the messages of a session. Oldest first, summaries of the conversation included."""
        return await in_database(self.list, request, session_id)

    @operation(
        "send_message",
        scope=Scope.WRITE,
        parameters=[IDEMPOTENCY_KEY],
        body=MessageRequest,
        answers=TURN_ANSWERS,
        problems=[Problem(Conflict, "The key was used for another message", MESSAGE), TOO_LONG, MODEL_UNAVAILABLE],
    )
    async def post(self, request: Request, session_id: str) -> HttpResponseBase:
        """Send a message.

        Starts a turn: the message is stored, what is remembered goes into the prompt, and the model replies.
        With `stream: true` the reply comes as server-sent events while it is written. A client that disconnects
        finds the complete reply in the session later. `paused_by` tells what pauses remembering, if anything does:
        then nothing is learned from the message, also later.
        """
        body = await _read_apart(MessageRequest, request)
        key = read_idempotency_key(request)
        session, user = read_uuid(session_id), get_user(request)
        try:
            return await _run_turn(
                partial(
                    open_message_turn,
                    user=user,
                    session_id=session,
                    content=body["content"],
                    idempotency_key=key,
                    attachments=body.get("attachments", ()),
                    now=timezone.now(),
                ),
                stream=body["stream"],
            )
        except AlreadySent:
            assert key is not None, "only a key can have been used before"
            earlier = await in_database(get_message_by_key, user, session, key)
            if earlier.content != body["content"]:
                fields = {"message_id": str(earlier.id)}
                raise Conflict("This Idempotency-Key was used for another message.", fields=fields) from None
            return await _answer_earlier(partial(_wait_for_outcome, user, earlier.id), stream=body["stream"])


class TurnsView(ListView):
    serializer_class = TurnFiguresSerializer
    rows = staticmethod(list_turn_figures)

    @operation("list_turns", scope=Scope.READ)
    def get(self, request: Request, session_id: str) -> Response:
        """List the turns of a session.

        How much each reply recalled and remembered, newest first. The turn itself has the rest.
        """
        return self.list(request)

    @operation(
        "record_messages",
        scope=Scope.WRITE,
        parameters=[IDEMPOTENCY_KEY],
        body=RecordingRequest,
        status=202,
        answers=RecordingReportSerializer,
        problems=[Problem(Conflict, "The key was used for other messages"), TOO_LONG],
    )
    def post(self, request: Request, session_id: str) -> Response:
        """Record a past conversation.

        Stores up to 1,000 messages, in chronological order, without a reply. Everything that happens after a
        turn happens with them in the background: memories are extracted, the profile and summaries follow. While
        remembering is paused, they are stored and nothing is learned from them.
        """
        body = read_body(RecordingRequest, request)
        user, key = get_user(request), read_uuid(session_id)
        stored = record_turns(
            user=user,
            session_id=key,
            messages=[RecordedMessage(**message) for message in body["messages"]],
            idempotency_key=read_idempotency_key(request),
            now=timezone.now(),
        )
        pause = find_pause(user, session=get_session(user, key))
        return Response({"stored": stored, "paused_by": pause or None}, status=status.HTTP_202_ACCEPTED)


class RetryView(AsyncAPIView):
    @operation(
        "retry_message",
        scope=Scope.WRITE,
        body=RetryRequest,
        answers=TURN_ANSWERS,
        problems=[Problem(Conflict, "The message has not failed", MESSAGE), MODEL_UNAVAILABLE],
    )
    async def post(self, request: Request, message_id: str) -> HttpResponseBase:
        """Retry a failed message. Asks the model again; nothing is stored twice."""
        return await _answer_again(RetryRequest, request, message_id, open_retry_turn)


class RegenerateView(AsyncAPIView):
    @operation(
        "regenerate_reply",
        scope=Scope.WRITE,
        body=RetryRequest,
        answers=TURN_ANSWERS,
        problems=[Problem(Conflict, "The message is not the newest one, or has no reply", MESSAGE), MODEL_UNAVAILABLE],
    )
    async def post(self, request: Request, message_id: str) -> HttpResponseBase:
        """Replace the newest reply.

        Asks the model again for the newest message of a session, named by its ID or by that of its reply. The
        present reply stands until the new one is stored; what was learned from the message stays.
        """
        return await _answer_again(RetryRequest, request, message_id, open_another_turn)


class EditView(AsyncAPIView):
    @operation(
        "edit_message",
        scope=Scope.WRITE,
        body=EditRequest,
        answers=TURN_ANSWERS,
        problems=[
            Problem(Conflict, "It is no message of the user, was edited already, or a reply is under way", MESSAGE),
            TOO_LONG,
            MODEL_UNAVAILABLE,
        ],
    )
    async def post(self, request: Request, message_id: str) -> HttpResponseBase:
        """Edit a message and send it again.

        The message and all that came after it give way to the new one and its reply, and what they alone taught
        is taken back. Nothing is deleted: the edit can be undone.
        """
        return await _answer_again(EditRequest, request, message_id, open_edited_turn)


class UndoEditView(APIView):
    @operation(
        "undo_edit",
        scope=Scope.WRITE,
        answers=RestoredSerializer,
        problems=[Problem(Conflict, "A reply is under way", MESSAGE)],
    )
    def post(self, request: Request, message_id: str) -> Response:
        """Undo an edit.

        Brings back the messages that gave way and what they had taught; what has been said since gives way
        instead.
        """
        restored = undo_edit(user=get_user(request), message_id=read_uuid(message_id), now=timezone.now())
        return Response(RestoredSerializer(restored).data)


class EditsView(ListView):
    serializer_class = EditSerializer
    rows = staticmethod(list_edits)

    @operation("list_edits", scope=Scope.READ)
    def get(self, request: Request, session_id: str) -> Response:
        """List the edits of a session. The edited messages whose edit can be undone, newest first."""
        return self.list(request)


class StopView(AsyncAPIView):
    @operation("stop_reply", scope=Scope.WRITE, answers=MessageSerializer)
    async def post(self, request: Request, message_id: str) -> Response:
        """Stop the reply to a message.

        Ends the reply that is being written to a user's message; what has come of it is stored and marked as
        `stopped`. Without a single word the message is `failed`, with the reason `cancelled`. Without a reply
        under way nothing happens.
        """
        message = await in_database(get_message, get_user(request), read_uuid(message_id), to_change=True)
        await stop_turn(message.id)
        return Response(MessageSerializer(message).data)


class FormsView(AsyncAPIView):
    @operation(
        "submit_form",
        scope=Scope.WRITE,
        body=FormRequest,
        status=201,
        answers=FormReplySerializer,
        problems=[
            Problem(TooLarge, "The form does not fit into working memory"),
            Problem(ModelUnavailable, "The model failed; the form is kept"),
        ],
    )
    async def post(self, request: Request, session_id: str) -> Response:
        """Submit a form.

        Keeps the fields in working memory as `hitl_<title>` while the session lives, and has the model
        continue. The same title again replaces the form.
        """
        body = await _read_apart(FormRequest, request)
        user, session = get_user(request), read_uuid(session_id)
        run = start_turn(partial(open_form_turn, user=user, session_id=session, now=timezone.now(), **body))
        await run.opened()
        result = await run.result()
        kept = {name: result[name] for name in ("working_memory", "paused_by", "assistant_message")}
        return Response({"key": f"hitl_{body['title']}", **kept}, status=status.HTTP_201_CREATED)


class MessageView(APIView):
    @operation("update_message", scope=Scope.WRITE, body=MessageChangeRequest, answers=MessageSerializer)
    def patch(self, request: Request, message_id: str) -> Response:
        """Add a message to the favourites. Or remove it, with `is_collected: false`."""
        body = read_body(MessageChangeRequest, request)
        message = set_collected(user=get_user(request), message_id=read_uuid(message_id), **body)
        return Response(MessageSerializer(message).data)


class TurnView(APIView):
    @operation("get_turn", scope=Scope.READ, answers=TurnSerializer)
    def get(self, request: Request, message_id: str) -> Response:
        """Get the turn of a message.

        Of a user's message or of its reply: what was used and learned, as when the turn was answered.
        """
        return Response(get_stored_turn(get_user(request), read_uuid(message_id), now=timezone.now()))


class CandidateView(APIView):
    @operation("forget_candidate", scope=Scope.WRITE, answers=TurnSerializer)
    def post(self, request: Request, message_id: str, candidate_id: str) -> Response:
        """Forget a memory that a message may have meant.

        `candidate_id` is one of the memories in `commands[].unclear` of the turn. Can be undone like any change.
        """
        user, message = get_user(request), read_uuid(message_id)
        forget_candidate(user=user, message_id=message, memory_id=read_uuid(candidate_id), now=timezone.now())
        return Response(get_stored_turn(user, message, now=timezone.now()))


# Helpers of the above


async def _read_apart(serializer: type[BaseSerializer[Any]], request: Request) -> dict[str, Any]:
    """As `read_body`, not in the event loop where there is much to be read."""
    return await run_in_thread_if_large(partial(read_body, serializer, request), size=read_size(request))


async def _answer_again(
    serializer: type[BaseSerializer[Any]], request: Request, message_id: str, open_turn: Callable[..., OpenTurn]
) -> HttpResponseBase:
    """Answer with a turn of a stored message, opened with what the request's body says."""
    body = await _read_apart(serializer, request)
    stream = body.pop("stream")
    user, message = get_user(request), read_uuid(message_id)
    return await _run_turn(partial(open_turn, user=user, message_id=message, now=timezone.now(), **body), stream=stream)


async def _run_turn(open_turn: Callable[[], OpenTurn], *, stream: bool) -> HttpResponseBase:
    """Start a turn and answer with it; what refuses it before it started is an ordinary error, streamed or not."""
    run = start_turn(open_turn)
    await run.opened()
    if stream:
        return stream_events(_encode(run))
    return Response(await run.result(), status=status.HTTP_201_CREATED)


async def _encode(run: TurnRun) -> AsyncIterator[tuple[str, Any]]:
    async for happened in run.events():
        match happened:
            case Started(user_message):
                yield "start", {"user_message": user_message}
            case Delta(text):
                yield "delta", {"text": text}
            case Done(result):
                yield "done", result
            case Failed(error):
                yield "error", error_body(error.code, error.message, error.fields)


async def _wait_for_outcome(user: User, message_id: uuid.UUID) -> dict[str, Any]:
    """Return the outcome of a message that was sent before, waiting while it is under way."""
    while True:
        await in_database(fail_left_turns)  # its process may have been killed
        message = await in_database(get_message, user, message_id)
        outcome = await in_database(get_outcome, user, message, now=timezone.now())
        if outcome is not None:
            return outcome
        await asyncio.sleep(OUTCOME_POLL_SECONDS)


async def _answer_earlier(outcome: Callable[[], Any], *, stream: bool) -> HttpResponseBase:
    if not stream:
        return Response(await outcome(), status=status.HTTP_201_CREATED)

    async def replay() -> AsyncIterator[tuple[str, Any]]:
        try:
            result = await outcome()
        except Exception as error:
            # The status was sent already: whatever happens now, a lost database too, is reported as an event.
            answer = handle_exception(error, {})
            yield "error", answer.data if answer else error_body("internal_error", "Something went wrong on our side.")
            return
        yield "start", {"user_message": result["user_message"]}
        yield "delta", {"text": result["assistant_message"]["content"]}
        yield "done", result

    return stream_events(replay())
