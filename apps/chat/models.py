"""The strategy table (E2) and the record of each turn, kept as references so that nothing deleted lives on in it."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import of_user
from apps.chat.emotions import UNKNOWN
from apps.conversations.models import Message, of_session
from apps.core.json import ReadableJSONEncoder
from apps.core.same_owner import share_owner

# Of a model's name; some servers name a whole path, whose end goes unrecorded.
MAX_MODEL_CHARS = 200


class EmotionCategory(models.TextChoices):
    NEUTRAL = "neutral", _("neutral")
    POSITIVE = "positive", _("positive")
    NEGATIVE = "negative", _("negative")
    SEEKING = "seeking", _("seeking")


class Formality(models.TextChoices):
    CASUAL = "casual", _("casual")
    FORMAL = "formal", _("formal")


class Strategy(models.Model):
    """How to reply after an emotion (E2). Administrators change rows and add emotions; no model is involved."""

    emotion = models.SlugField(_("emotion"), max_length=50, primary_key=True)
    category = models.CharField(_("category"), max_length=10, choices=EmotionCategory.choices)
    tone = models.CharField(_("tone"), max_length=50)
    max_length = models.PositiveIntegerField(
        _("maximum length"),
        validators=[MinValueValidator(1)],
        help_text=_("In characters. A guideline for the model; longer replies are not cut."),
    )
    use_memory = models.BooleanField(
        _("use memory"), default=True, help_text=_("When off, the model gets no long-term memories.")
    )
    proactive_question = models.BooleanField(
        _("follow-up question"), default=False, help_text=_("The reply may end with a follow-up question.")
    )
    formality = models.CharField(_("formality"), max_length=10, choices=Formality.choices, default=Formality.CASUAL)
    emoji_allowed = models.BooleanField(_("emoji allowed"), default=False)

    class Meta:
        db_table = "reply_strategy"
        verbose_name = _("reply strategy")
        verbose_name_plural = _("reply strategies")
        ordering = ["category", "emotion"]

    def __str__(self) -> str:
        return self.emotion

    def clean(self) -> None:
        """Keep the name as answers are looked up by it, and leave `unknown` to what is in no row (E4)."""
        self.emotion = self.emotion.casefold()
        if self.emotion == UNKNOWN:
            raise ValidationError({"emotion": _("Used for every emotion without a strategy of its own.")})


class Edit(models.Model):
    """A message that its person said differently (`message`), in place of one that stood there with all that followed.

    `replaced`: the IDs of these messages, which are kept; `retractions`: the operations that took back what they had
    taught. Undoing brings both back.
    """

    message = models.OneToOneField(
        Message,
        verbose_name=_("message"),
        primary_key=True,
        db_constraint=False,
        on_delete=models.CASCADE,
        related_name="edit",
    )
    session = of_session("edits")
    user = of_user("edits")
    replaced = ArrayField(models.UUIDField(), verbose_name=_("replaced messages"))
    retractions = ArrayField(models.UUIDField(), verbose_name=_("retractions"), default=list)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "message_edit"
        verbose_name = _("edit")
        verbose_name_plural = _("edits")
        ordering = ["-created_at"]
        constraints = share_owner("message_edit", "message", "session")

    def __str__(self) -> str:
        return str(self.message_id)


class Turn(models.Model):
    """What happened in one turn: one row per reply, written with it.

    Holds references and figures, never remembered text; the indicators of `emotion` are words of the message it goes
    with, and are deleted with it. `memories_used`: ``[{id, kind, score, ...components}]``;
    `memory_updates`: ``[{id, action}]``; `commands`: what the message told the memory to do, and the outcome
    (`apps.chat.turn.commands`); `tool_calls`: what the model called, and the outcome
    (`apps.chat.turn.record`), whose memories are in `memories_used`, too, marked `by` tool; `layers`:
    ``[{index, name, tokens, refs, digest}]``; `timings`: milliseconds by phase; `sources`: the revisions of what the
    layers show, and what they were made under (`apps.chat.turn.record`), empty for turns from before it was kept.
    """

    assistant_message = models.OneToOneField(
        Message,
        verbose_name=_("reply"),
        primary_key=True,
        db_constraint=False,
        on_delete=models.CASCADE,
        related_name="turn",
    )
    user_message = models.OneToOneField(
        Message,
        verbose_name=_("message"),
        null=True,
        blank=True,
        db_constraint=False,
        on_delete=models.CASCADE,
        related_name="answered_in",
    )
    session = of_session("turns")
    user = of_user("turns")
    model = models.CharField(_("model"), max_length=MAX_MODEL_CHARS)
    emotion = models.JSONField(_("emotion"), encoder=ReadableJSONEncoder, null=True, blank=True)
    strategy = models.JSONField(_("strategy"), encoder=ReadableJSONEncoder, null=True, blank=True)
    memories_used = models.JSONField(_("memories used"), encoder=ReadableJSONEncoder, default=list, blank=True)
    memory_updates = models.JSONField(_("memory updates"), encoder=ReadableJSONEncoder, default=list, blank=True)
    commands = models.JSONField(_("commands"), encoder=ReadableJSONEncoder, default=list, blank=True, db_default=[])
    tool_calls = models.JSONField(_("tool calls"), encoder=ReadableJSONEncoder, default=list, blank=True, db_default=[])
    layers = models.JSONField(_("layers"), encoder=ReadableJSONEncoder, default=list, blank=True)
    sources = models.JSONField(_("sources"), encoder=ReadableJSONEncoder, default=dict, blank=True, db_default={})
    timings = models.JSONField(_("timings"), encoder=ReadableJSONEncoder, default=dict, blank=True)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "turn"
        verbose_name = _("turn")
        verbose_name_plural = _("turns")
        ordering = ["-created_at"]
        constraints = share_owner("turn", "assistant_message", "user_message", "session")
        indexes = [
            models.Index(fields=["user", "-created_at", "-assistant_message"], name="turn_newest"),
            # Which turns used a memory: memories_used @> [{"id": …}].
            GinIndex(fields=["memories_used"], opclasses=["jsonb_path_ops"], name="turn_memories_used"),
        ]

    def __str__(self) -> str:
        return str(self.assistant_message_id)
