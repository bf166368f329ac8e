"""Sessions and messages on the wire."""

from __future__ import annotations

from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.models import User
from apps.accounts.selectors import get_settings
from apps.accounts.types import Sensitive
from apps.conversations.models import Attachment, Message, MessageStatus, Pause, Role, Session
from apps.conversations.pausing import find_pause
from apps.conversations.sessions import get_shown_status
from apps.conversations.types import MAX_MODEL_CHARS, MAX_TITLE_CHARS
from apps.core.errors import NotFound
from apps.core.fields import KnownFieldsSerializer, StrictBooleanField, StrictCharField, StrictUUIDField
from apps.core.operations import Problem
from apps.core.text.secret_forms import SecretKind
from apps.core.text.secrets import list_secret_kinds

PAUSED_BY = serializers.ChoiceField(
    choices=Pause.choices,
    allow_null=True,
    help_text="What paused remembering when it was said: the setting `memory.paused`, the space, the session, or the "
    "request. Null if nothing did.",
)
NO_SESSION = Problem(NotFound, "There is no session with this ID")


class SessionSerializer(KnownFieldsSerializer, serializers.ModelSerializer[Session]):
    """A conversation with the assistant."""

    example: ClassVar[Any] = {
        "id": "8d1f2c1e-5a0b-4c57-9f0e-3a7b5b1d9c42",
        "title": "Dinner on Friday",
        "created_at": "2026-11-20T18:02:11.402913Z",
        "last_active_at": "2026-11-20T18:05:47.118204Z",
        "temporary": False,
        "paused": False,
        "paused_by": None,
        "space": None,
        "model": "",
        "pinned": False,
        "archived": False,
    }

    title = StrictCharField(required=False, allow_blank=True, max_length=MAX_TITLE_CHARS, default="")
    temporary = StrictBooleanField(
        required=False, default=False, help_text="Reads and writes no memory, and is deleted after it has been idle."
    )

    paused = StrictBooleanField(
        required=False, default=False, help_text="Nothing new is remembered from what is said in it."
    )
    paused_by = serializers.SerializerMethodField()

    model = StrictCharField(
        required=False,
        allow_blank=True,
        max_length=MAX_MODEL_CHARS,
        default="",
        help_text="Chat model that answers here, as `GET /chat/models` names it; empty for the default one.",
    )

    space = StrictUUIDField(
        source="space_id",
        required=False,
        allow_null=True,
        default=None,
        help_text="ID of the space it is in; null for none.",
    )

    class Meta:
        model = Session
        fields = (
            "id",
            "title",
            "created_at",
            "last_active_at",
            "temporary",
            "paused",
            "paused_by",
            "space",
            "pinned",
            "archived",
            "model",
        )
        read_only_fields = ("id", "created_at", "last_active_at", "pinned", "archived")
        extra_kwargs = {
            "pinned": {"help_text": "Its owner wants it at the top of lists."},
            "archived": {"help_text": "Its owner has put it away; it is still recalled and found."},
        }

    @extend_schema_field(
        serializers.ChoiceField(
            choices=Pause.choices,
            allow_null=True,
            help_text="What pauses remembering for what is said in it now, the widest first: the setting "
            "`memory.paused`, its space, or the session; null if nothing does.",
        )
    )
    def get_paused_by(self, session: Session) -> str | None:
        # Once for a whole list.
        context: dict[str, Any] = self.context  # type: ignore[assignment]  # a dict, whatever its stubs say
        settings, user = context.setdefault("paused", {}), User(pk=session.user_id)
        if user.pk not in settings:
            settings[user.pk] = get_settings(user).paused
        return find_pause(user, session=session, paused=settings[user.pk]) or None


class SessionChangeRequest(KnownFieldsSerializer):
    """What to change of a session; at least one field."""

    example = {"title": "Dinner for Anna", "pinned": True}

    title = StrictCharField(required=False, allow_blank=True, max_length=MAX_TITLE_CHARS)
    pinned = StrictBooleanField(required=False, help_text="Whether it belongs at the top of lists.")
    archived = StrictBooleanField(required=False, help_text="Whether it is put away.")
    paused = StrictBooleanField(required=False, help_text="Whether nothing new is remembered from what is said in it.")
    model = StrictCharField(
        required=False,
        allow_blank=True,
        max_length=MAX_MODEL_CHARS,
        help_text="Chat model that answers here; empty for the default one.",
    )
    space = StrictUUIDField(
        required=False, allow_null=True, help_text="ID of the space that it goes to; null takes it out of all."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError(
                "Name at least one of title, pinned, archived, paused, model and space.", code="required"
            )
        return attrs


class MessageSerializer(serializers.ModelSerializer[Message]):
    """A message of a session. One with the role `summary` takes the place of older messages in the prompt."""

    example: ClassVar[dict[str, Any]] = {
        "id": "2f6a1f0a-7c7e-4a35-8b8e-0d5f3a9e6b11",
        "session_id": SessionSerializer.example["id"],
        "role": "user",
        "content": "周五我该给安娜做什么菜？",
        "create_time": "2026-11-20T18:05:44.730122Z",
        "is_collected": False,
        "emotion": "curious",
        "status": "complete",
        "summarized_by": None,
        "paused_by": None,
        "stopped": False,
        "not_remembered": [],
        "secrets": [],
    }

    session_id = serializers.UUIDField(read_only=True)
    role = serializers.ChoiceField(choices=Role.choices, read_only=True)
    status = serializers.SerializerMethodField()
    paused_by = serializers.SerializerMethodField()
    secrets = serializers.SerializerMethodField()
    summarized_by = serializers.UUIDField(
        source="summarized_by_id", read_only=True, allow_null=True, help_text="ID of the summary that covers it."
    )

    not_remembered = serializers.SerializerMethodField()

    class Meta:
        model = Message
        fields = (
            "id",
            "session_id",
            "role",
            "content",
            "create_time",
            "is_collected",
            "emotion",
            "status",
            "summarized_by",
            "paused_by",
            "stopped",
            "not_remembered",
            "secrets",
        )
        read_only_fields = fields
        extra_kwargs = {
            "is_collected": {"help_text": "Whether the person has added it to their favourites."},
            "emotion": {"help_text": "The emotion detected in a user's message."},
            "stopped": {"help_text": "Whether the person stopped this reply, so that it may end anywhere."},
        }

    @extend_schema_field(
        serializers.ListField(
            child=serializers.ChoiceField(choices=[one.value for one in Sensitive]),
            help_text="The excluded sensitive categories for which something that it says was not remembered.",
        )
    )
    def get_not_remembered(self, message: Message) -> list[str]:
        return list(message.not_remembered or ())

    @extend_schema_field(
        serializers.ChoiceField(choices=MessageStatus.choices, help_text="A `failed` message can be retried.")
    )
    def get_status(self, message: Message) -> str:
        return get_shown_status(message, now=timezone.now())

    @extend_schema_field(PAUSED_BY)
    def get_paused_by(self, message: Message) -> str | None:
        return message.paused_by or None

    @extend_schema_field(
        serializers.ListField(
            child=serializers.ChoiceField(choices=[kind.value for kind in SecretKind]),
            help_text="Kinds of secrets in a user's message: they stay in it, and are never remembered.",
        )
    )
    def get_secrets(self, message: Message) -> list[str]:
        return [kind.value for kind in list_secret_kinds(message.content)] if message.role == Role.USER else []


class AttachmentSerializer(serializers.ModelSerializer[Attachment]):
    """A file whose text the model reads. Nothing is learned from it by itself."""

    message_id = serializers.UUIDField(
        read_only=True, allow_null=True, help_text="The message it was sent with; null until then."
    )
    characters = serializers.SerializerMethodField(help_text="Of its text.")

    class Meta:
        model = Attachment
        fields = ("id", "name", "characters", "message_id", "created_at")
        read_only_fields = fields

    def get_characters(self, attachment: Attachment) -> int:
        return len(attachment.text)


class MessageChangeRequest(KnownFieldsSerializer):
    """What a person can change of a message."""

    example = {"is_collected": True}

    is_collected = StrictBooleanField(help_text="Whether it is one of the favourites.")
