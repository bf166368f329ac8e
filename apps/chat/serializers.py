"""Messages that are sent, and turns, on the wire."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.utils import timezone
from rest_framework import serializers

from apps.chat.emotions import NEUTRAL_STRATEGY
from apps.chat.models import Edit, Turn
from apps.chat.selectors import list_influential
from apps.conversations.models import Role
from apps.conversations.serializers import PAUSED_BY, MessageSerializer
from apps.conversations.types import MAX_ATTACHMENTS, MAX_CONTENT_CHARS
from apps.core.errors import TooLarge
from apps.core.fields import (
    KnownFieldsSerializer,
    ShortListField,
    StrictBooleanField,
    StrictCharField,
    StrictDateTimeField,
    StrictUUIDField,
)
from apps.memory.serializers import WorkingMemorySerializer

MAX_FORM_TITLE_CHARS = 100
MAX_RECORDED_MESSAGES = 1000
CONTENT_HELP = f"At most {MAX_CONTENT_CHARS:,} characters."
STREAM_HELP = "Answer with server-sent events."
# How far ahead of ours a client's clock may be.
CLOCK_SKEW = timedelta(minutes=5)


def check_content(content: str) -> str:
    """Return the content of a message; one that says nothing or too much is refused."""
    if not content.strip():
        raise serializers.ValidationError("Must not be blank.", code="blank")
    if len(content) > MAX_CONTENT_CHARS:
        raise TooLarge(f"content has {len(content)} characters; {MAX_CONTENT_CHARS} are allowed.")
    return content


class RetryRequest(KnownFieldsSerializer):
    """How to answer."""

    example = {"stream": False}

    stream = StrictBooleanField(required=False, default=False, help_text=STREAM_HELP)


class EditRequest(RetryRequest):
    """What the message is to say instead."""

    example = {"content": "What should I cook for Anna on Friday?", "stream": False}

    content = StrictCharField(trim_whitespace=False, help_text=CONTENT_HELP)

    def validate_content(self, content: str) -> str:
        return check_content(content)


class MessageRequest(EditRequest):
    """A new message."""

    attachments = ShortListField(
        child=StrictUUIDField(),
        required=False,
        max_length=MAX_ATTACHMENTS,
        help_text="IDs of files that are sent with the message.",
    )


class EditSerializer(serializers.ModelSerializer[Edit]):
    """An edited message, and how much undoing the edit brings back."""

    message_id = serializers.UUIDField(read_only=True, help_text="The message as it was sent after the edit.")
    messages = serializers.SerializerMethodField()
    memories = serializers.SerializerMethodField()

    class Meta:
        model = Edit
        fields = ("message_id", "messages", "memories", "created_at")
        read_only_fields = fields

    def get_messages(self, edit: Edit) -> int:
        return len(edit.replaced)

    def get_memories(self, edit: Edit) -> int:
        return len(edit.retractions)


class TurnFiguresSerializer(serializers.Serializer[Any]):
    """How much a turn recalled and remembered; all of it is in the turn itself."""

    message_id = serializers.UUIDField(source="assistant_message_id", help_text="The reply.")
    recalled = serializers.SerializerMethodField(
        help_text="Memories of the prompt that carried weight: the turn has all of them."
    )
    remembered = serializers.SerializerMethodField(help_text="Long-term memories that the turn created or changed.")

    def get_recalled(self, turn: Turn) -> int:
        return len(list_influential(turn.memories_used))

    def get_remembered(self, turn: Turn) -> int:
        return len(turn.memory_updates)


class RestoredSerializer(serializers.Serializer[Any]):
    """What undoing an edit brought back."""

    messages = serializers.IntegerField(help_text="Messages that stand in the conversation again.")
    memories = serializers.IntegerField(help_text="Changes of memories that are restored.")


class RecordedMessageSerializer(KnownFieldsSerializer):
    """A message of a past conversation."""

    role = serializers.ChoiceField(choices=[Role.USER.value, Role.ASSISTANT.value])
    content = StrictCharField(trim_whitespace=False, help_text=CONTENT_HELP)
    create_time = StrictDateTimeField(required=False, help_text="When it was said; now by default.")

    def validate_content(self, content: str) -> str:
        return check_content(content)

    def validate_create_time(self, create_time: datetime) -> datetime:
        if create_time > timezone.now() + CLOCK_SKEW:
            raise serializers.ValidationError("Must not lie in the future.", code="future")
        return create_time


class RecordingRequest(KnownFieldsSerializer):
    """Messages to import without a reply."""

    example = {
        "messages": [
            {"role": "user", "content": "我上周六搬到了成都。", "create_time": "2026-10-03T09:30:00+08:00"},
            {"role": "assistant", "content": "住得习惯吗？", "create_time": "2026-10-03T09:30:04+08:00"},
        ]
    }

    messages = RecordedMessageSerializer(
        many=True,
        allow_empty=False,
        max_length=MAX_RECORDED_MESSAGES,  # type: ignore[call-arg]  # the list's
        help_text=f"In chronological order; at most {MAX_RECORDED_MESSAGES:,}.",
    )


class RecordingReportSerializer(serializers.Serializer[Any]):
    """What was imported."""

    stored = serializers.IntegerField(help_text="How many messages were stored.")
    paused_by = PAUSED_BY


class FormRequest(KnownFieldsSerializer):
    """A filled-in form."""

    example = {"title": "行程安排", "fields": {"destination": "北京", "date": "周末"}}

    title = StrictCharField(max_length=MAX_FORM_TITLE_CHARS, help_text="Names the form in working memory.")
    fields = serializers.DictField(help_text="What was filled in, by name.")  # type: ignore[assignment]  # the contract's name; DRF takes declared fields away


class EmotionSerializer(serializers.Serializer[Any]):
    """The emotion detected in the user's message."""

    primary = serializers.CharField(help_text="Such as `happy`; `unknown` if the model named none of the table.")
    category = serializers.CharField(help_text="`neutral`, `positive`, `negative` or `seeking`.")
    confidence = serializers.FloatField(help_text="From 0 to 1.")
    indicators = serializers.ListField(child=serializers.CharField(), help_text="Words that show it.")


class StrategySerializer(serializers.Serializer[Any]):
    """How the reply was to be written. It follows from the emotion of the turn before."""

    emotion = serializers.CharField(help_text="The emotion that chose this strategy.")
    tone = serializers.CharField()
    max_length = serializers.IntegerField(
        help_text="In characters. A guideline for the model; longer replies are not cut."
    )
    use_memory = serializers.BooleanField(help_text="Whether memories were recalled.")
    proactive_question = serializers.BooleanField(help_text="Whether the reply asks a follow-up question.")
    formality = serializers.ChoiceField(choices=["casual", "formal"])
    emoji_allowed = serializers.BooleanField()


class MemoryUsedSerializer(serializers.Serializer[Any]):
    """A memory or past message that was in the prompt, with its score, comparable within one turn and kind only."""

    id = serializers.UUIDField(help_text="Of a past message, the ID of what the user said.")
    kind = serializers.ChoiceField(choices=["long_term", "atomic", "message"])
    text = serializers.CharField()
    score = serializers.FloatField()
    keyword_score = serializers.FloatField(help_text="By keywords; of an atomic memory BM25, which has no upper limit.")
    message_id = serializers.UUIDField(required=False, help_text="Past messages only, like the next three fields.")
    session_id = serializers.UUIDField(required=False)
    role = serializers.ChoiceField(choices=["user", "assistant"], required=False)
    created_at = serializers.DateTimeField(required=False)
    semantic_score = serializers.FloatField(help_text="By meaning: cosine similarity; 0 if unknown.")
    parts = serializers.DictField(
        child=serializers.FloatField(),
        required=False,
        help_text="Atomic memories only: the points, positive or negative, that add up to the score, by name.",
    )
    category_boost = serializers.FloatField(
        required=False, help_text="Long-term memories only, like all following fields."
    )
    recency_score = serializers.FloatField(required=False)
    frequency_score = serializers.FloatField(required=False)
    confidence = serializers.FloatField(required=False)
    topic_boost = serializers.FloatField(required=False)


class MemoryUpdateSerializer(serializers.Serializer[Any]):
    """A long-term memory that the turn created or changed."""

    id = serializers.UUIDField()
    action = serializers.ChoiceField(
        choices=["created", "superseded", "refreshed", "pending"],
        help_text="`superseded`: took the place of another value. `refreshed`: had this value. `pending`: for review.",
    )
    category = serializers.CharField(allow_null=True)
    key = serializers.CharField()
    value = serializers.JSONField(help_text="Any JSON value.")


class ForgetCandidateSerializer(serializers.Serializer[Any]):
    """A memory that a request to forget may mean."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=["long_term", "atomic"])
    text = serializers.CharField()


class FoundMemorySerializer(ForgetCandidateSerializer):
    """A memory that a search of the model found."""


class MemoryCommandSerializer(serializers.Serializer[Any]):
    """What the message told the memory to do ("remember …", "forget …"), and what was done."""

    kind = serializers.ChoiceField(choices=["remember", "forget"])
    status = serializers.ChoiceField(
        choices=["stored", "known", "waiting", "left_out", "forgotten", "not_found", "undone", "paused", "secret"],
        help_text="`waiting`: for review. `left_out`: the same was deleted after this message. `undone`: by its owner. "
        "`paused`: not stored, as remembering is paused. `secret`: it holds one, and is not stored.",
    )
    texts = serializers.ListField(
        child=serializers.CharField(),
        help_text="What was stored or forgotten; for `not_found`, `paused` and `secret`, the message's words, masked.",
    )
    operation = serializers.UUIDField(allow_null=True, help_text="For `/memory/changes/{operation}/undo`.")
    memory_ids = serializers.ListField(child=serializers.UUIDField(), help_text="Atomic memories that hold it.")
    unclear = ForgetCandidateSerializer(many=True, help_text="Memories that may be meant; none of them was touched.")


class SearchedTimesSerializer(serializers.Serializer[Any]):
    """From when to when the model searched: ISO 8601, as it wrote them."""

    since = serializers.CharField(allow_null=True)
    until = serializers.CharField(allow_null=True)


class ToolCallSerializer(serializers.Serializer[Any]):
    """A tool that the model called before it replied, and the outcome."""

    name = serializers.CharField(
        allow_null=True,
        help_text="`search_memories`, `search_conversations`, `read_conversation`, `createContext`, `fetchContext`, "
        "`updateContext`; null for no such tool.",
    )
    outcome = serializers.ChoiceField(
        choices=["ok", "invalid", "not_found", "too_large", "unknown_tool", "repeated", "too_many", "failed"]
    )
    keyword = serializers.CharField(
        allow_null=True, help_text="What was searched for; null unless it consists of words of the message."
    )
    time_range = SearchedTimesSerializer(allow_null=True)
    memories = FoundMemorySerializer(many=True, help_text="What a search gave the model, best first.")
    message_ids = serializers.ListField(
        child=serializers.UUIDField(), help_text="Messages of past conversations that the model was given."
    )
    context_id = serializers.UUIDField(allow_null=True, help_text="The shared context that was read or written.")
    left_out = serializers.IntegerField(help_text="Found, but beyond what a result may take in the prompt.")
    duration_ms = serializers.FloatField()


class ReplyMetadataSerializer(serializers.Serializer[Any]):
    """What a page may show beside the reply."""

    remembered = serializers.ListField(child=serializers.CharField(), help_text="What was remembered, as text.")


class TurnSerializer(serializers.Serializer[Any]):
    """A message, its reply, and what was recalled and learned; also the data of a stream's `done` event."""

    example: ClassVar[dict[str, Any]] = {
        "user_message": MessageSerializer.example,
        "assistant_message": {
            **MessageSerializer.example,
            "id": "c9b3d7e4-1f52-4d0c-a6a1-7e2b8f4c5d90",
            "role": "assistant",
            "content": "蘑菇烩饭：安娜吃素，而且里面没有花生。",
            "emotion": None,
        },
        "emotion": {"primary": "curious", "category": "positive", "confidence": 0.8, "indicators": ["该给安娜做什么"]},
        "strategy": NEUTRAL_STRATEGY.to_wire(),
        "paused_by": None,
        "memories_used": [
            {
                "id": "5e0c8a52-9d3b-4f6e-b1c7-2a4d6f8e0b13",
                "kind": "long_term",
                "text": "allergies: peanuts",
                "score": 0.71,
                "keyword_score": 0.42,
                "semantic_score": 0.58,
                "category_boost": 1.2,
                "recency_score": 0.82,
                "frequency_score": 0.5,
                "confidence": 1.0,
                "topic_boost": 1.3,
            },
        ],
        "memory_updates": [
            {
                "id": "0d9f4e7b-63c2-4b18-8f2a-91c5d7e3a604",
                "action": "created",
                "category": "fact",
                "key": "周五的安排",
                "value": "给安娜做饭",
            }
        ],
        "commands": [],
        "tool_calls": [],
        "working_memory": WorkingMemorySerializer.example,
    }

    user_message = MessageSerializer(allow_null=True, help_text="Null where a form was submitted.")
    assistant_message = MessageSerializer()
    emotion = EmotionSerializer(allow_null=True)
    strategy = StrategySerializer(allow_null=True)
    paused_by = PAUSED_BY
    memories_used = MemoryUsedSerializer(many=True, help_text="The memories in the prompt, best first.")
    memory_updates = MemoryUpdateSerializer(many=True, help_text="What was learned before the reply was complete.")
    commands = MemoryCommandSerializer(many=True, help_text="What the message told the memory to do.")
    tool_calls = ToolCallSerializer(
        many=True, help_text="What the model called before it replied, if `memory.enable_agentic_search` is on."
    )
    working_memory = WorkingMemorySerializer(allow_null=True)
    metadata = ReplyMetadataSerializer(
        required=False, help_text="Only if `memory.remembered_feedback` is on: what was remembered."
    )


class FormReplySerializer(serializers.Serializer[Any]):
    """The reply to a submitted form."""

    key = serializers.CharField(help_text="The form's key among the context variables: `hitl_<title>`.")
    working_memory = WorkingMemorySerializer()
    paused_by = PAUSED_BY
    assistant_message = MessageSerializer()
