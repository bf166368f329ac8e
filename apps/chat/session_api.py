"""REST of sessions: their models, search, files and export, and a preview of the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast, get_args

import django_filters  # type: ignore[import-untyped]
from django.db import transaction
from django.http import HttpResponseBase
from django.utils import timezone
from rest_framework import serializers, status
from rest_framework.mixins import CreateModelMixin
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from apps.accounts.selectors import get_settings, get_user
from apps.accounts.spaces import NO_SPACE, SPACE, SpaceFilter, enter_space, read_sight
from apps.accounts.types import Scope
from apps.chat.search import MAX_FOUND, MAX_SEARCH_CHARS, Mode, find_conversations
from apps.chat.selectors import list_models
from apps.chat.turn.open import preview_context
from apps.conversations.attachments import add_attachment, list_attachments, remove_attachment
from apps.conversations.export import ExportFormat, answer_export
from apps.conversations.models import Role, Session
from apps.conversations.serializers import (
    AttachmentSerializer,
    MessageSerializer,
    SessionChangeRequest,
    SessionSerializer,
)
from apps.conversations.sessions import create_session, delete_session, get_session, list_sessions, update_session
from apps.conversations.types import MAX_ATTACHMENT_BYTES, MAX_CONTENT_CHARS
from apps.core.db import release_connections
from apps.core.errors import Conflict, InvalidInput, TooLarge
from apps.core.fields import KnownFieldsSerializer, read_body, read_idempotency_key, refuse_forbidden, results_of
from apps.core.http import ListView, read_uuid
from apps.core.operations import IDEMPOTENCY_KEY, NOT_BLANK, Answer, Problem, describe, query
from apps.core.pagination import read_int
from apps.core.times import TimeRange
from apps.memory.api.lists import SINCE, UNTIL, TimeFilter, read_time
from apps.memory.spaces import move_session

operation = partial(describe, tag="Conversations")
FORMATS = {"type": "string", "enum": [form.value for form in ExportFormat]}
MODES = {"type": "string", "enum": list(get_args(Mode))}
RANGE_HELP = "Pairs of start and end, counted in characters (Unicode code points), apart from each other and in order."


class SessionFilter(django_filters.FilterSet):
    """Narrow the list of sessions; without a filter it has all."""

    pinned = django_filters.BooleanFilter(label="Only pinned sessions, or only others.")
    archived = django_filters.BooleanFilter(label="Only archived sessions, or only others.")
    space = SpaceFilter()


class ModelChoiceSerializer(serializers.Serializer[Any]):
    """A chat model that a session can be set to."""

    example = {"name": "deepseek-chat", "server": "DeepSeek", "default": True}

    name = serializers.CharField(help_text="What a session's `model` is set to.")
    server = serializers.CharField(help_text="Where it is connected; empty for the model of the environment.")
    default = serializers.BooleanField(help_text="Whether it answers where no model is chosen.")


class AttachmentRequest(KnownFieldsSerializer):
    """A text or PDF file, as `multipart/form-data`."""

    example = {"file": "@menu.pdf"}

    file = serializers.FileField(allow_empty_file=True, help_text="At most 10 MiB.")


def _ranges(about: str) -> serializers.ListField:
    pair = serializers.ListField(child=serializers.IntegerField(min_value=0), min_length=2, max_length=2)
    return serializers.ListField(child=pair, help_text=f"{about} {RANGE_HELP}")


class HitSerializer(serializers.Serializer[Any]):
    """A message that a search found."""

    id = serializers.UUIDField()
    role = serializers.ChoiceField(choices=[Role.USER.value, Role.ASSISTANT.value])
    create_time = serializers.DateTimeField()
    excerpt = serializers.CharField(help_text="What it says around the first match, on one line.")
    ranges = _ranges("Where the words are in the excerpt.")
    found_by = serializers.ChoiceField(choices=["words", "meaning"])
    similarity = serializers.FloatField(allow_null=True, help_text="The cosine; null if it was found by words.")


class FoundConversationSerializer(serializers.Serializer[Any]):
    """A session that a search found, with its best messages: at most three, none if only its title has the words."""

    session = SessionSerializer()
    title_ranges = _ranges("Where the words are in the title.")
    messages = HitSerializer(many=True)


class PromptLayerSerializer(serializers.Serializer[Any]):
    """A part of a prompt."""

    index = serializers.IntegerField(
        help_text="0 system and strategy, 1 profile, 2 working memory and shared context, 3 memories, 4 summaries of "
        "other sessions, 5 this conversation, 6 the message."
    )
    name = serializers.CharField()
    content = serializers.CharField()
    tokens = serializers.IntegerField(help_text="Estimated.")


class PromptSerializer(serializers.Serializer[Any]):
    """What the model is given with a message."""

    layers = PromptLayerSerializer(many=True)
    total_tokens = serializers.IntegerField()


class SessionExportSerializer(SessionSerializer):
    """A session with everything that was said in it, as a file to keep or to import."""

    example = None  # a session's would lack fields

    session = serializers.UUIDField(read_only=True, help_text="The same as `id`.")
    exported_at = serializers.DateTimeField(read_only=True)
    messages = MessageSerializer(many=True, read_only=True)
    replaced = MessageSerializer(
        many=True, read_only=True, help_text="Messages that were edited or answered anew; not part of the conversation."
    )

    class Meta(SessionSerializer.Meta):
        fields = (*SessionSerializer.Meta.fields, "session", "exported_at", "messages", "replaced")  # type: ignore[assignment]
        read_only_fields = fields  # type: ignore[assignment]


class ModelsView(APIView):
    @operation(
        "list_chat_models",
        scope=Scope.READ,
        answers=results_of("ModelChoices", ModelChoiceSerializer, "All models that a session can be set to."),
    )
    def get(self, request: Request) -> Response:
        """List the chat models.

        The models that a session can be set to: what administrators connected, and the model of the
        environment. The default one comes first; it answers in every session whose `model` is empty.
        """
        return Response({"results": ModelChoiceSerializer(list_models(), many=True).data})


class SessionsView(CreateModelMixin, ListView):
    serializer_class = SessionSerializer
    filterset_class = SessionFilter
    rows = staticmethod(list_sessions)

    @operation("list_sessions", scope=Scope.READ, problems=[NO_SPACE])
    def get(self, request: Request) -> Response:
        """List sessions. The session that was active last comes first. Filters narrow the list."""
        return self.list(request)

    @operation(
        "create_session",
        scope=Scope.WRITE,
        parameters=[IDEMPOTENCY_KEY],
        body=SessionSerializer,
        status=201,
        problems=[NO_SPACE],
    )
    def post(self, request: Request) -> Response:
        """Start a session.

        A `temporary` session reads and writes no memory, and is deleted after it has been idle. A `paused` one reads
        it and learns nothing new. A client that has
        names for its conversations sends them as `Idempotency-Key`, and finds the session of each again.
        """
        return self.create(request)

    def perform_create(self, serializer: BaseSerializer[Session]) -> None:
        _check_model(serializer.validated_data.get("model", ""))
        given = dict(serializer.validated_data)
        user = enter_space(get_user(self.request), given.pop("space_id", None))
        serializer.instance = create_session(user=user, name=read_idempotency_key(self.request), **given)


class SessionView(APIView):
    serializer_class = SessionSerializer

    @operation("get_session", scope=Scope.READ)
    def get(self, request: Request, session_id: str) -> Response:
        """Get a session."""
        return Response(SessionSerializer(get_session(get_user(request), read_uuid(session_id))).data)

    @operation("update_session", scope=Scope.WRITE, body=SessionChangeRequest, problems=[NO_SPACE])
    def patch(self, request: Request, session_id: str) -> Response:
        """Rename, pin, archive, pause or move a session.

        Or choose its model. What is not named stays. An archived session is still recalled and found. What is
        said in a `paused` one is not remembered, also after it was resumed; what was said before is. One that
        moves to a `space` takes along what was learned in it.
        """
        changes: Any = read_body(SessionChangeRequest, request)
        _check_model(changes.get("model", ""))
        user, key = get_user(request), read_uuid(session_id)
        with transaction.atomic():
            if "space" in changes:
                move_session(user=user, session_id=key, space_id=changes.pop("space"), now=timezone.now())
            session = update_session(user=user, session_id=key, changes=changes)
        return Response(SessionSerializer(session).data)

    @operation("delete_session", scope=Scope.WRITE)
    def delete(self, request: Request, session_id: str) -> Response:
        """Delete a session.

        Its messages and working memory are deleted with it. Long-term and atomic memories are kept, with
        `session_id` null.
        """
        return Response({"deleted": delete_session(user=get_user(request), session_id=read_uuid(session_id))})


def _check_model(name: str) -> None:
    if name and all(choice.name != name for choice in list_models()):
        raise InvalidInput("This model is not connected.", fields={"model": ["This model is not connected."]})


class SearchView(APIView):
    @operation(
        "search_sessions",
        tag="Search",
        scope=Scope.READ,
        parameters=[
            query(
                "q",
                f"What to search for, at most {MAX_SEARCH_CHARS:,} characters.",
                {"type": "string", "pattern": NOT_BLANK},
                required=True,
            ),
            query(
                "mode",
                "`words` waits for no embedder. `all` adds what is similar in meaning if the query can be embedded "
                "within 300 ms; `meaning` has nothing else.",
                {**MODES, "default": "all"},
            ),
            query(
                "limit",
                "How many sessions at most.",
                {"type": "integer", "minimum": 1, "maximum": MAX_FOUND, "default": 20},
            ),
            query("since", SINCE, TimeFilter.schema),
            query("until", UNTIL, TimeFilter.schema),
            SPACE,
        ],
        answers=results_of("FoundConversations", FoundConversationSerializer, "What a search found, the best first."),
        problems=[NO_SPACE, Problem(TooLarge, "`q` is too long")],
    )
    def get(self, request: Request) -> Response:
        """Search all conversations.

        Searches what the person and the assistant said, and titles. English words are found by their
        beginnings, Chinese anywhere, in simplified and traditional characters. A conversation whose title has
        all of the words comes first, then those whose messages have them, newest first, then what is similar in
        meaning. Archived sessions are searched too; temporary ones and replaced messages are not.
        """
        mode = _read_choice(request, "mode", among=get_args(Mode), default="all")
        text = _read_text(request, "q", longest=MAX_SEARCH_CHARS)
        if not text.strip():
            raise InvalidInput("q must not be blank.", fields={"q": ["Must not be blank."]})
        limit = read_int(request, "limit", default=20, minimum=1, maximum=MAX_FOUND)
        within = TimeRange(since=read_time(request, "since"), until=read_time(request, "until"))
        found = find_conversations(
            user=read_sight(request), query=text, limit=limit, mode=cast(Mode, mode), within=within
        )
        return Response({"results": FoundConversationSerializer(found, many=True).data})


class SessionExportView(APIView):
    @operation(
        "export_session",
        scope=Scope.READ,
        parameters=[query("format", "The format of the file.", {**FORMATS, "default": "markdown"})],
        answers={
            200: [
                Answer(SessionExportSerializer, "The session as JSON."),
                Answer({"type": "string"}, "The session as Markdown.", media_type="text/markdown"),
            ]
        },
    )
    def get(self, request: Request, session_id: str) -> HttpResponseBase:
        """Export a session.

        As an attachment. Markdown has what was said, with roles and times; JSON also has summaries, favourites
        and what was replaced, and can be imported again. Texts are unaltered in both, unless
        `memory.mask_secrets_in_exports` is on.
        """
        user = get_user(request)
        session = get_session(user, read_uuid(session_id))
        form = ExportFormat(_read_choice(request, "format", among=list(ExportFormat), default="markdown"))
        settings = get_settings(user)
        return answer_export(session, form, zone=settings.zone, masked=settings.mask_secrets_in_exports)


class ContextView(APIView):
    @operation(
        "preview_prompt",
        scope=Scope.READ,
        parameters=[
            query(
                "message", f"The message; at most {MAX_CONTENT_CHARS:,} characters.", {"type": "string", "default": ""}
            )
        ],
        answers=PromptSerializer,
        problems=[Problem(TooLarge, "`message` is too long")],
    )
    def get(self, request: Request, session_id: str) -> Response:
        """Preview the prompt of a message.

        The layers that a message would get if it were sent now. Nothing is stored or counted.
        """
        message = _read_text(request, "message", longest=MAX_CONTENT_CHARS)
        user, session = get_user(request), read_uuid(session_id)
        context = preview_context(user=user, session_id=session, message=message, now=timezone.now())
        return Response(PromptSerializer(context).data)


class AttachmentsView(ListView):
    parser_classes = (MultiPartParser,)
    serializer_class = AttachmentSerializer
    rows = staticmethod(list_attachments)

    @operation("list_attachments", scope=Scope.READ)
    def get(self, request: Request, session_id: str) -> Response:
        """List the files of a session. Oldest first, those included that were not sent yet."""
        return self.list(request)

    @operation(
        "attach_file",
        scope=Scope.WRITE,
        body=AttachmentRequest,
        status=201,
        problems=[
            Problem(InvalidInput, "The file has no text"),
            Problem(Conflict, "The session has too many files"),
            Problem(TooLarge, "The file is too large"),
        ],
    )
    def post(self, request: Request, session_id: str) -> Response:
        """Attach a file.

        A text file (UTF-8, UTF-16 or GB 18030) or a PDF with text. Its text is kept for a message that is sent
        with it; the file is not. The model reads it in this session, and nothing is learned from it alone.
        """
        file = read_body(AttachmentRequest, request)["file"]
        user, key = get_user(request), read_uuid(session_id)
        get_session(user, key)  # before the work on the file
        if file.size > MAX_ATTACHMENT_BYTES:
            raise TooLarge(f"The file is larger than {MAX_ATTACHMENT_BYTES // 1024**2} MiB.")
        data = file.read()
        release_connections()  # reading a PDF takes a while
        attachment = add_attachment(user=user, session_id=key, name=file.name, data=data, now=timezone.now())
        return Response(AttachmentSerializer(attachment).data, status=status.HTTP_201_CREATED)


class AttachmentView(APIView):
    @operation("delete_attachment", scope=Scope.WRITE)
    def delete(self, request: Request, attachment_id: str) -> Response:
        """Delete a file. The model does not get it from the next message on."""
        remove_attachment(user=get_user(request), attachment_id=read_uuid(attachment_id))
        return Response({"deleted": 1})


def _read_text(request: Request, name: str, *, longest: int) -> str:
    text: str = request.query_params.get(name, "")
    refuse_forbidden(text)
    if len(text) > longest:
        raise TooLarge(f"{name} has over {longest:,} characters.")
    return text


def _read_choice(request: Request, name: str, *, among: Sequence[str], default: str) -> str:
    asked: str = request.query_params.get(name, default)
    if asked not in among:
        reason = f"Must be one of {', '.join(among)}."
        raise InvalidInput(f"{name}: {reason}", fields={name: [reason]})
    return asked
