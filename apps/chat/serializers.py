"""Bodies and answers of the chat API, checked and documented in one place."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from apps.chat.models import Edit, Turn
from apps.chat.selectors import list_influential
from apps.conversations.models import Role
from apps.conversations.serializers import MessageSerializer, SessionSerializer
from apps.conversations.types import MAX_ATTACHMENTS, MAX_CONTENT_CHARS
from apps.core.errors import TooLarge
from apps.core.fields import ShortListField, StrictBooleanField, StrictCharField, StrictDateTimeField
from apps.core.serializers import KnownFieldsSerializer
from apps.memory.working.serializers import WorkingMemorySerializer

MAX_FORM_TITLE_CHARS = 100
MAX_RECORDED_MESSAGES = 1000
CONTENT_HELP = f"At most {MAX_CONTENT_CHARS:,} characters."
STREAM_HELP = "Answer with server-sent events."
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
    """A new message."""

    content = StrictCharField(trim_whitespace=False, help_text=CONTENT_HELP)
    stream = StrictBooleanField(required=False, default=False, help_text=STREAM_HELP)
    attachments = ShortListField(
        child=serializers.UUIDField(),
        required=False,
        max_length=MAX_ATTACHMENTS,
        help_text="IDs of files that are sent with the message.",
    )

    def validate_content(self, content: str) -> str:
        return check_content(content)


class ModelChoiceSerializer(serializers.Serializer[Any]):
    """A chat model that a session can be set to."""

    name = serializers.CharField(help_text="What a session's `model` is set to.")
    server = serializers.CharField(help_text="Where it is connected; empty for the model of the environment.")
    default = serializers.BooleanField(help_text="Whether it answers where no model is chosen.")


class ModelChoicesSerializer(serializers.Serializer[Any]):
    """All models that a session can be set to."""

    results = ModelChoiceSerializer(many=True)


class RetryRequest(KnownFieldsSerializer):
    """How to answer."""

    stream = StrictBooleanField(required=False, default=False, help_text=STREAM_HELP)


class EditRequest(KnownFieldsSerializer):
    """What the message is to say instead."""

    content = StrictCharField(trim_whitespace=False, help_text=CONTENT_HELP)
    stream = StrictBooleanField(required=False, default=False, help_text=STREAM_HELP)

    def validate_content(self, content: str) -> str:
        return check_content(content)


class AttachmentRequest(KnownFieldsSerializer):
    """A text or PDF file, as `multipart/form-data`."""

    file = serializers.FileField(allow_empty_file=True, help_text="At most 10 MiB.")


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

    messages = RecordedMessageSerializer(
        many=True,
        allow_empty=False,
        max_length=MAX_RECORDED_MESSAGES,  # type: ignore[call-arg]  # the list's
        help_text=f"In chronological order; at most {MAX_RECORDED_MESSAGES:,}.",
    )


class RecordingReportSerializer(serializers.Serializer[Any]):
    """What was imported."""

    stored = serializers.IntegerField(help_text="How many messages were stored.")


class FormRequest(KnownFieldsSerializer):
    """A filled-in form."""

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
        help_text="Atomic memories only: the points, positive or negative, that add up to the score, by name. Missing "
        "in turns stored before parts existed.",
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


class MemoryCommandSerializer(serializers.Serializer[Any]):
    """What the message told the memory to do ("remember …", "forget …"), and what was done."""

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
    unclear = ForgetCandidateSerializer(many=True, help_text="Memories that may be meant; none of them was touched.")


class FoundMemorySerializer(serializers.Serializer[Any]):
    """A memory that a search of the model found."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=["long_term", "atomic"])
    text = serializers.CharField()


class SearchedTimesSerializer(serializers.Serializer[Any]):
    """From when to when the model searched: ISO 8601, as it wrote them."""

    since = serializers.CharField(allow_null=True)
    until = serializers.CharField(allow_null=True)


class ToolCallSerializer(serializers.Serializer[Any]):
    """A tool that the model called before it replied, and the outcome."""

    name = serializers.CharField(
        allow_null=True,
        help_text="`search_memories`, `createContext`, `fetchContext`, `updateContext`; null for no such tool.",
    )
    outcome = serializers.ChoiceField(
        choices=["ok", "invalid", "not_found", "too_large", "unknown_tool", "repeated", "too_many", "failed"]
    )
    keyword = serializers.CharField(
        allow_null=True, help_text="What was searched for; null unless it consists of words of the message."
    )
    time_range = SearchedTimesSerializer(allow_null=True)
    memories = FoundMemorySerializer(many=True, help_text="What a search gave the model, best first.")
    context_id = serializers.UUIDField(allow_null=True, help_text="The shared context that was read or written.")
    left_out = serializers.IntegerField(help_text="Found, but beyond what a result may take in the prompt.")
    duration_ms = serializers.FloatField()


class ReplyMetadataSerializer(serializers.Serializer[Any]):
    """What a page may show beside the reply."""

    remembered = serializers.ListField(child=serializers.CharField(), help_text="What was remembered, as text.")


class TurnSerializer(serializers.Serializer[Any]):
    """A message, its reply, and what was recalled and learned; also the data of a stream's `done` event."""

    user_message = MessageSerializer(allow_null=True, help_text="Null where a form was submitted.")
    assistant_message = MessageSerializer()
    emotion = EmotionSerializer(allow_null=True)
    strategy = StrategySerializer(allow_null=True)
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


RANGE_HELP = "Pairs of start and end, counted in characters (Unicode code points), apart from each other and in order."


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


class FoundConversationsSerializer(serializers.Serializer[Any]):
    """What a search found, the best first."""

    results = FoundConversationSerializer(many=True)


class FormReplySerializer(serializers.Serializer[Any]):
    """The reply to a submitted form."""

    key = serializers.CharField(help_text="The form's key among the context variables: `hitl_<title>`.")
    working_memory = WorkingMemorySerializer()
    assistant_message = MessageSerializer()


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

    session = serializers.UUIDField(read_only=True, help_text="The same as `id`.")
    exported_at = serializers.DateTimeField(read_only=True)
    messages = MessageSerializer(many=True, read_only=True)
    replaced = MessageSerializer(
        many=True, read_only=True, help_text="Messages that were edited or answered anew; not part of the conversation."
    )

    class Meta(SessionSerializer.Meta):
        fields = (  # type: ignore[assignment]
            *SessionSerializer.Meta.fields,
            "session",
            "exported_at",
            "messages",
            "replaced",
        )
        read_only_fields = fields  # type: ignore[assignment]
