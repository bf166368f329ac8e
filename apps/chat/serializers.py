"""Bodies and answers of the chat API, checked and documented in one place."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from apps.conversations.models import Role
from apps.conversations.serializers import MessageSerializer
from apps.conversations.types import MAX_CONTENT_CHARS
from apps.core.errors import TooLarge
from apps.core.fields import StrictBooleanField, StrictCharField, StrictDateTimeField
from apps.core.serializers import KnownFieldsSerializer
from apps.memory.working.serializers import WorkingMemorySerializer

MAX_FORM_TITLE_CHARS = 100
MAX_RECORDED_MESSAGES = 1000
CLOCK_SKEW = timedelta(minutes=5)
"""How far ahead of ours a client's clock may be."""


def check_content(content: str) -> str:
    """Return the content of a message; one that says nothing or too much is refused."""
    if not content.strip():
        raise serializers.ValidationError("Must not be blank.", code="blank")
    if len(content) > MAX_CONTENT_CHARS:
        raise TooLarge(f"content has {len(content)} characters; {MAX_CONTENT_CHARS} are allowed.")
    return content


class MessageRequest(KnownFieldsSerializer):
    """A new message. `stream`: answer as ``text/event-stream``."""

    content = StrictCharField(trim_whitespace=False)
    stream = StrictBooleanField(required=False, default=False)

    def validate_content(self, content: str) -> str:
        return check_content(content)


class RetryRequest(KnownFieldsSerializer):
    stream = StrictBooleanField(required=False, default=False)


class RecordedMessageSerializer(KnownFieldsSerializer):
    """A message of a past conversation; `create_time` defaults to now."""

    role = serializers.ChoiceField(choices=[Role.USER.value, Role.ASSISTANT.value])
    content = StrictCharField(trim_whitespace=False)
    create_time = StrictDateTimeField(required=False)

    def validate_content(self, content: str) -> str:
        return check_content(content)

    def validate_create_time(self, create_time: datetime) -> datetime:
        if create_time > timezone.now() + CLOCK_SKEW:
            raise serializers.ValidationError("Must not lie in the future.", code="future")
        return create_time


class RecordingRequest(KnownFieldsSerializer):
    """Messages to import without a reply, in chronological order (C9)."""

    messages = RecordedMessageSerializer(
        many=True,
        allow_empty=False,
        max_length=MAX_RECORDED_MESSAGES,  # type: ignore[call-arg]  # the list's
    )


class RecordingSerializer(serializers.Serializer[Any]):
    stored = serializers.IntegerField()


class FormRequest(KnownFieldsSerializer):
    """A filled-in form (H1)."""

    title = StrictCharField(max_length=MAX_FORM_TITLE_CHARS)
    fields = serializers.DictField()  # type: ignore[assignment]  # the contract's name; DRF takes declared fields away


class EmotionSerializer(serializers.Serializer[Any]):
    primary = serializers.CharField()
    category = serializers.CharField()
    confidence = serializers.FloatField()
    indicators = serializers.ListField(child=serializers.CharField())


class StrategySerializer(serializers.Serializer[Any]):
    emotion = serializers.CharField()
    tone = serializers.CharField()
    max_length = serializers.IntegerField(
        help_text="In characters. A guideline for the model; longer replies are not cut."
    )
    use_memory = serializers.BooleanField()
    proactive_question = serializers.BooleanField()
    formality = serializers.ChoiceField(choices=["casual", "formal"])
    emoji_allowed = serializers.BooleanField()


class MemoryUsedSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=["long_term", "atomic"])
    text = serializers.CharField()
    score = serializers.FloatField()
    keyword_score = serializers.FloatField()
    semantic_score = serializers.FloatField()
    category_boost = serializers.FloatField(
        required=False, help_text="Long-term memories only, like all following fields."
    )
    recency_score = serializers.FloatField(required=False)
    frequency_score = serializers.FloatField(required=False)
    confidence = serializers.FloatField(required=False)
    topic_boost = serializers.FloatField(required=False)


class MemoryUpdateSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    action = serializers.ChoiceField(choices=["created", "superseded", "refreshed", "pending"])
    category = serializers.CharField(allow_null=True)
    key = serializers.CharField()
    value = serializers.JSONField()


class CandidateSerializer(serializers.Serializer[Any]):
    """A memory that a request to forget may mean."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=["long_term", "atomic"])
    text = serializers.CharField()


class CommandSerializer(serializers.Serializer[Any]):
    """What the message told the memory to do ("remember …", "forget …"), and what was done (L9)."""

    kind = serializers.ChoiceField(choices=["remember", "forget"])
    status = serializers.ChoiceField(
        choices=["stored", "known", "waiting", "left_out", "forgotten", "not_found", "undone"],
        help_text="`waiting`: for review. `left_out`: the same was deleted after this message. `undone`: by its owner.",
    )
    texts = serializers.ListField(
        child=serializers.CharField(), help_text="What was stored or forgotten; for `not_found`, the message's words."
    )
    operation = serializers.UUIDField(allow_null=True, help_text="For `/memory/changes/{operation}/undo`.")
    memory_ids = serializers.ListField(child=serializers.UUIDField(), help_text="Atomic memories that hold it.")
    unclear = CandidateSerializer(many=True, help_text="Memories that may be meant; none of them was touched.")


class ReplyMetadataSerializer(serializers.Serializer[Any]):
    remembered = serializers.ListField(child=serializers.CharField())


class TurnSerializer(serializers.Serializer[Any]):
    """One turn; also the data of the stream's ``done`` event."""

    user_message = MessageSerializer(allow_null=True)
    assistant_message = MessageSerializer()
    emotion = EmotionSerializer(allow_null=True)
    strategy = StrategySerializer(allow_null=True)
    memories_used = MemoryUsedSerializer(many=True)
    memory_updates = MemoryUpdateSerializer(many=True)
    commands = CommandSerializer(many=True)
    working_memory = WorkingMemorySerializer(allow_null=True)
    metadata = ReplyMetadataSerializer(
        required=False, help_text="Only if `memory.remembered_feedback` is on: what was remembered."
    )


class FormReplySerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    working_memory = WorkingMemorySerializer()
    assistant_message = MessageSerializer()


class LayerSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    name = serializers.CharField()
    content = serializers.CharField()
    tokens = serializers.IntegerField()


class ContextSerializer(serializers.Serializer[Any]):
    layers = LayerSerializer(many=True)
    total_tokens = serializers.IntegerField()
