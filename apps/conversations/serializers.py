"""Sessions and messages on the wire."""

from __future__ import annotations

from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.conversations.models import Attachment, Message, MessageStatus, Role, Session
from apps.conversations.sessions import get_shown_status
from apps.conversations.types import MAX_MODEL_CHARS, MAX_TITLE_CHARS
from apps.core.errors import NotFound
from apps.core.fields import KnownFieldsSerializer, StrictBooleanField, StrictCharField, StrictUUIDField
from apps.core.operations import Problem
from apps.core.text.secret_forms import SecretKind
from apps.core.text.secrets import list_secret_kinds

NO_SESSION = Problem(NotFound, "There is no session with this ID")


class SessionSerializer(KnownFieldsSerializer, serializers.ModelSerializer[Session]):
    """A conversation with the assistant."""

    example: ClassVar[Any] = {
        "id": "8d1f2c1e-5a0b-4c57-9f0e-3a7b5b1d9c42",
        "title": "Dinner on Friday",
        "created_at": "2026-11-20T18:02:11.402913Z",
        "last_active_at": "2026-11-20T18:05:47.118204Z",
        "temporary": False,
        "space": None,
        "model": "",
        "pinned": False,
        "archived": False,
    }

    title = StrictCharField(required=False, allow_blank=True, max_length=MAX_TITLE_CHARS, default="")
    temporary = StrictBooleanField(
        required=False, default=False, help_text="Reads and writes no memory, and is deleted after it has been idle."
    )

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
        fields = ("id", "title", "created_at", "last_active_at", "temporary", "space", "pinned", "archived", "model")
        read_only_fields = ("id", "created_at", "last_active_at", "pinned", "archived")
        extra_kwargs = {
            "pinned": {"help_text": "Its owner wants it at the top of lists."},
            "archived": {"help_text": "Its owner has put it away; it is still recalled and found."},
        }


class SessionChangeRequest(KnownFieldsSerializer):
    """What to change of a session; at least one field."""

    example = {"title": "Dinner for Anna", "pinned": True}

    title = StrictCharField(required=False, allow_blank=True, max_length=MAX_TITLE_CHARS)
    pinned = StrictBooleanField(required=False, help_text="Whether it belongs at the top of lists.")
    archived = StrictBooleanField(required=False, help_text="Whether it is put away.")
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
                "Name at least one of title, pinned, archived, model and space.", code="required"
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
        "stopped": False,
        "secrets": [],
    }

    session_id = serializers.UUIDField(read_only=True)
    role = serializers.ChoiceField(choices=Role.choices, read_only=True)
    status = serializers.SerializerMethodField()
    secrets = serializers.SerializerMethodField()
    summarized_by = serializers.UUIDField(
        source="summarized_by_id", read_only=True, allow_null=True, help_text="ID of the summary that covers it."
    )

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
            "stopped",
            "secrets",
        )
        read_only_fields = fields
        extra_kwargs = {
            "is_collected": {"help_text": "Whether the person has added it to their favourites."},
            "emotion": {"help_text": "The emotion detected in a user's message."},
            "stopped": {"help_text": "Whether the person stopped this reply, so that it may end anywhere."},
        }

    @extend_schema_field(
        serializers.ChoiceField(choices=MessageStatus.choices, help_text="A `failed` message can be retried.")
    )
    def get_status(self, message: Message) -> str:
        return get_shown_status(message, now=timezone.now())

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
