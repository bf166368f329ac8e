"""REST and SSE of conversations and turns (SPEC, API: /chat)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, cast, get_args

from django.http import HttpResponseBase
from django.utils import timezone
from rest_framework import generics, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from apps.accounts.models import User
from apps.accounts.selectors import get_settings, get_user
from apps.chat.filters import SessionFilter
from apps.chat.models import Edit, Turn
from apps.chat.search import MAX_FOUND, MAX_SEARCH_CHARS, Mode, find_conversations
from apps.chat.selectors import list_models, list_turn_figures
from apps.chat.serializers import (
    AttachmentRequest,
    EditRequest,
    EditSerializer,
    FormRequest,
    FoundConversationsSerializer,
    MessageRequest,
    ModelChoiceSerializer,
    PromptSerializer,
    RecordingRequest,
    RestoredSerializer,
    RetryRequest,
    TurnFiguresSerializer,
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
    preview_context,
    undo_edit,
)
from apps.chat.turn.process import fail_left_turns, stop_turn
from apps.chat.turn.run import TurnRun, start_turn
from apps.chat.turn.types import Delta, Done, Failed, OpenTurn, Started
from apps.conversations.attachments import add_attachment, list_attachments, remove_attachment
from apps.conversations.export import ExportFormat, answer_export
from apps.conversations.models import Attachment, Message, Session
from apps.conversations.recordings import record_turns
from apps.conversations.rounds import AlreadySent
from apps.conversations.serializers import (
    AttachmentSerializer,
    MessageChangeRequest,
    MessageSerializer,
    SessionChangeRequest,
    SessionSerializer,
)
from apps.conversations.sessions import (
    create_session,
    delete_session,
    get_message,
    get_message_by_key,
    get_session,
    list_messages,
    list_sessions,
    set_collected,
    update_session,
)
from apps.conversations.types import MAX_ATTACHMENT_BYTES, MAX_CONTENT_CHARS, RecordedMessage
from apps.core.apart import read_apart
from apps.core.db import in_database, release_connections
from apps.core.errors import Conflict, InvalidInput, TooLarge
from apps.core.http import AsyncAPIView, error_body, handle_exception, read_int, read_size, read_uuid
from apps.core.parsing import refuse_forbidden
from apps.core.sse import stream_events

OUTCOME_POLL_SECONDS = 0.1
MAX_KEY_CHARS = 255


# Sessions


class ModelsView(APIView):
    """The chat models that a session can be set to."""

    def get(self, request: Request) -> Response:
        return Response({"results": ModelChoiceSerializer(list_models(), many=True).data})


class SessionsView(generics.ListCreateAPIView[Session]):
    """The user's sessions, most recently active first."""

    queryset = Session.objects.none()
    serializer_class = SessionSerializer
    filterset_class = SessionFilter

    def get_queryset(self) -> Any:
        return list_sessions(get_user(self.request))

    def perform_create(self, serializer: BaseSerializer[Session]) -> None:
        _check_model(serializer.validated_data.get("model", ""))
        serializer.instance = create_session(user=get_user(self.request), **serializer.validated_data)


class SessionView(APIView):
    """One session."""

    def get(self, request: Request, session_id: str) -> Response:
        return Response(SessionSerializer(get_session(get_user(request), read_uuid(session_id))).data)

    def patch(self, request: Request, session_id: str) -> Response:
        body = SessionChangeRequest(data=request.data)
        body.is_valid(raise_exception=True)
        _check_model(body.validated_data.get("model", ""))
        session = update_session(user=get_user(request), session_id=read_uuid(session_id), changes=body.validated_data)
        return Response(SessionSerializer(session).data)

    def delete(self, request: Request, session_id: str) -> Response:
        """Delete the session with its messages and working memory; long-term memories are kept (W4)."""
        return Response({"deleted": delete_session(user=get_user(request), session_id=read_uuid(session_id))})


def _check_model(name: str) -> None:
    if name and all(choice.name != name for choice in list_models()):
        raise InvalidInput("This model is not connected.", fields={"model": ["This model is not connected."]})


class SearchView(APIView):
    """Conversations in which something was said."""

    def get(self, request: Request) -> Response:
        """By words, and by meaning where the embedder answers in time."""
        mode = request.query_params.get("mode", "all")
        if mode not in get_args(Mode):
            reason = f"Must be one of {', '.join(get_args(Mode))}."
            raise InvalidInput(f"mode: {reason}", fields={"mode": [reason]})
        found = find_conversations(
            user=get_user(request),
            query=_read_search(request),
            limit=read_int(request, "limit", default=20, minimum=1, maximum=MAX_FOUND),
            mode=cast(Mode, mode),
        )
        return Response(FoundConversationsSerializer({"results": found}).data)


class SessionExportView(APIView):
    """One session as a file: Markdown to read, or JSON with everything that is stored of it."""

    def get(self, request: Request, session_id: str) -> HttpResponseBase:
        user = get_user(request)
        session = get_session(user, read_uuid(session_id))
        asked = request.query_params.get("format", ExportFormat.MARKDOWN)
        if asked not in list(ExportFormat):
            reason = f"Must be one of: {', '.join(ExportFormat)}."
            raise InvalidInput(f"format: {reason}", fields={"format": [reason]})
        return answer_export(session, ExportFormat(asked), zone=get_settings(user).zone)


class ContextView(APIView):
    """The prompt layers that a message would get now (C4); nothing is stored or counted."""

    def get(self, request: Request, session_id: str) -> Response:
        message = request.query_params.get("message", "")
        refuse_forbidden(message)
        if len(message) > MAX_CONTENT_CHARS:
            raise TooLarge(f"message has {len(message)} characters; {MAX_CONTENT_CHARS} are allowed.")
        context = preview_context(
            user=get_user(request), session_id=read_uuid(session_id), message=message, now=timezone.now()
        )
        return Response(PromptSerializer(context).data)


# Messages and turns


class MessagesView(AsyncAPIView, generics.ListAPIView[Message]):
    """The messages of a session, oldest first; posting a message starts a turn."""

    queryset = Message.objects.none()
    serializer_class = MessageSerializer

    def get_queryset(self) -> Any:
        return list_messages(get_user(self.request), read_uuid(self.kwargs["session_id"]))

    async def get(self, request: Request, session_id: str) -> Response:  # type: ignore[override]
        return await in_database(self.list, request, session_id)

    async def post(self, request: Request, session_id: str) -> HttpResponseBase:
        """Send a message. With ``stream``, the events are `start`, `delta`…, then `done` or `error`."""
        body = await _read_apart(MessageRequest, request)
        key = _read_idempotency_key(request)
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


class AttachmentsView(generics.ListAPIView[Attachment]):
    """The files of a session, oldest first; posting one keeps its text for a message that is to come."""

    parser_classes = (MultiPartParser,)
    queryset = Attachment.objects.none()
    serializer_class = AttachmentSerializer

    def get_queryset(self) -> Any:
        return list_attachments(get_user(self.request), read_uuid(self.kwargs["session_id"]))

    def post(self, request: Request, session_id: str) -> Response:
        """Attach a text or PDF file. Only its text is kept."""
        file = _read(AttachmentRequest, request)["file"]
        user, key = get_user(request), read_uuid(session_id)
        get_session(user, key)  # before the work on the file
        if file.size > MAX_ATTACHMENT_BYTES:
            raise TooLarge(f"The file is larger than {MAX_ATTACHMENT_BYTES // 1024**2} MiB.")
        data = file.read()
        release_connections()  # reading a PDF takes a while
        attachment = add_attachment(user=user, session_id=key, name=file.name, data=data, now=timezone.now())
        return Response(AttachmentSerializer(attachment).data, status=status.HTTP_201_CREATED)


class AttachmentView(APIView):
    """One file."""

    def delete(self, request: Request, attachment_id: str) -> Response:
        """Delete the file's text: the model does not get it from the next message on."""
        remove_attachment(user=get_user(request), attachment_id=read_uuid(attachment_id))
        return Response({"deleted": 1})


class TurnsView(generics.ListAPIView[Turn]):
    """The turns of a session, newest first; posting messages that were said elsewhere records them."""

    queryset = Turn.objects.none()
    serializer_class = TurnFiguresSerializer

    def get_queryset(self) -> Any:
        return list_turn_figures(get_user(self.request), read_uuid(self.kwargs["session_id"]))

    def post(self, request: Request, session_id: str) -> Response:
        """Import messages without a reply; memories are extracted in the background (C9)."""
        body = _read(RecordingRequest, request)
        stored = record_turns(
            user=get_user(request),
            session_id=read_uuid(session_id),
            messages=[RecordedMessage(**message) for message in body["messages"]],
            idempotency_key=_read_idempotency_key(request),
            now=timezone.now(),
        )
        return Response({"stored": stored}, status=status.HTTP_202_ACCEPTED)


class RetryView(AsyncAPIView):
    """Retry a failed message."""

    async def post(self, request: Request, message_id: str) -> HttpResponseBase:
        body = await _read_apart(RetryRequest, request)
        opening = partial(open_retry_turn, user=get_user(request), message_id=read_uuid(message_id), now=timezone.now())
        return await _run_turn(opening, stream=body["stream"])


class RegenerateView(AsyncAPIView):
    """Answer the newest message again."""

    async def post(self, request: Request, message_id: str) -> HttpResponseBase:
        body = await _read_apart(RetryRequest, request)
        opening = partial(
            open_another_turn, user=get_user(request), message_id=read_uuid(message_id), now=timezone.now()
        )
        return await _run_turn(opening, stream=body["stream"])


class EditView(AsyncAPIView):
    """Say a message differently."""

    async def post(self, request: Request, message_id: str) -> HttpResponseBase:
        body = await _read_apart(EditRequest, request)
        opening = partial(
            open_edited_turn,
            user=get_user(request),
            message_id=read_uuid(message_id),
            content=body["content"],
            now=timezone.now(),
        )
        return await _run_turn(opening, stream=body["stream"])


class UndoEditView(APIView):
    """Undo an edit."""

    def post(self, request: Request, message_id: str) -> Response:
        restored = undo_edit(user=get_user(request), message_id=read_uuid(message_id), now=timezone.now())
        return Response(RestoredSerializer(restored).data)


class EditsView(generics.ListAPIView[Edit]):
    """The edits of a session that can be undone."""

    queryset = Edit.objects.none()
    serializer_class = EditSerializer

    def get_queryset(self) -> Any:
        return list_edits(get_user(self.request), read_uuid(self.kwargs["session_id"]))


class StopView(AsyncAPIView):
    """Stop the reply to a message."""

    async def post(self, request: Request, message_id: str) -> Response:
        """What has come of the reply is kept. Without a reply under way nothing happens."""
        message = await in_database(get_message, get_user(request), read_uuid(message_id))
        await stop_turn(message.id)
        return Response(MessageSerializer(message).data)


class FormsView(AsyncAPIView):
    """Submit a form instead of a message (H1)."""

    async def post(self, request: Request, session_id: str) -> Response:
        body = await _read_apart(FormRequest, request)
        run = start_turn(
            partial(
                open_form_turn,
                user=get_user(request),
                session_id=read_uuid(session_id),
                title=body["title"],
                fields=body["fields"],
                now=timezone.now(),
            )
        )
        await run.opened()
        result = await run.result()
        reply = {
            "key": f"hitl_{body['title']}",
            "working_memory": result["working_memory"],
            "assistant_message": result["assistant_message"],
        }
        return Response(reply, status=status.HTTP_201_CREATED)


class MessageView(APIView):
    """One message."""

    def patch(self, request: Request, message_id: str) -> Response:
        """Add the message to the favourites, or remove it (C1)."""
        body = MessageChangeRequest(data=request.data)
        body.is_valid(raise_exception=True)
        message = set_collected(user=get_user(request), message_id=read_uuid(message_id), **body.validated_data)
        return Response(MessageSerializer(message).data)


class TurnView(APIView):
    """The turn of a message (either the user's message or the reply)."""

    def get(self, request: Request, message_id: str) -> Response:
        turn = get_stored_turn(get_user(request), read_uuid(message_id), now=timezone.now())
        return Response(turn)


class CandidateView(APIView):
    """A memory that a request to forget may have meant."""

    def post(self, request: Request, message_id: str, candidate_id: str) -> Response:
        """Forget one of the memories in `commands[].unclear`; returns the turn. Undone like any change (L9)."""
        user, message = get_user(request), read_uuid(message_id)
        forget_candidate(user=user, message_id=message, memory_id=read_uuid(candidate_id), now=timezone.now())
        return Response(get_stored_turn(user, message, now=timezone.now()))


# Helpers of the above


def _read(serializer: type[BaseSerializer[Any]], request: Request) -> dict[str, Any]:
    body = serializer(data=request.data)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)


async def _read_apart(serializer: type[BaseSerializer[Any]], request: Request) -> dict[str, Any]:
    """As `_read`, not in the event loop where there is much to be read."""
    return await read_apart(partial(_read, serializer, request), size=read_size(request))


def _read_search(request: Request) -> str:
    query = request.query_params.get("q", "")
    refuse_forbidden(query)
    if not query.strip():
        raise InvalidInput("q must not be blank.", fields={"q": ["Must not be blank."]})
    if len(query) > MAX_SEARCH_CHARS:
        raise TooLarge(f"q has over {MAX_SEARCH_CHARS:,} characters.")
    return query


def _read_idempotency_key(request: Request) -> str | None:
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    if not key.strip() or len(key) > MAX_KEY_CHARS:
        raise InvalidInput(f"Idempotency-Key must have 1 to {MAX_KEY_CHARS} characters.")
    refuse_forbidden(key)
    return key


async def _run_turn(open_turn: Callable[[], OpenTurn], *, stream: bool) -> HttpResponseBase:
    """Start a turn and answer with it; what refuses it before it started is an ordinary error, streamed or not."""
    run = start_turn(open_turn)
    await run.opened()
    if stream:
        return stream_events(_encode(run))
    return Response(await run.result(), status=status.HTTP_201_CREATED)


async def _encode(run: TurnRun) -> AsyncIterator[tuple[str, Any]]:
    async for event in run.events():
        match event:
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
