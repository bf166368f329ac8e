"""Sessions and the messages said in them. Nothing here knows about memory."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import MD5
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Space, in_space, of_user
from apps.conversations.types import MAX_MODEL_CHARS
from apps.core.same_owner import has_owner, share_owner


class Session(models.Model):
    """One conversation (C2). A `temporary` one reads and writes no memory and is deleted after idling (C7).

    `model`: the name of the chat model that its owner chose for it; "" leaves it to the default one.
    `space`: the one it is in, None for none (P1).
    `via`: the program that began it, such as ``token:<key>``, "" for a person at the page.
    `pinned` and `archived` say where its owner wants to see it in lists, and nothing else: an archived conversation is
    recalled, summarised and found like any other.
    `paused`: nothing is learned from what is said in it (D5); what holds for a message, `find_pause` says.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = of_user("chat_sessions")
    title = models.CharField(_("title"), max_length=200, blank=True, default="")
    temporary = models.BooleanField(_("temporary"), default=False)
    model = models.CharField(_("model"), max_length=MAX_MODEL_CHARS, blank=True, default="", db_default="")
    space = in_space()
    pinned = models.BooleanField(_("pinned"), default=False, db_default=False)
    archived = models.BooleanField(_("archived"), default=False, db_default=False)
    paused = models.BooleanField(_("remembering paused"), default=False, db_default=False)
    via = models.CharField(_("through"), max_length=60, blank=True, default="", db_default="", editable=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)
    last_active_at = models.DateTimeField(_("last active at"), default=timezone.now, editable=False)
    last_position = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        db_table = "chat_session"
        verbose_name = _("session")
        verbose_name_plural = _("sessions")
        ordering = ["-last_active_at", "-id"]
        constraints = [has_owner("chat_session"), *share_owner("chat_session", "space")]
        indexes = [
            models.Index(fields=["user", "-last_active_at", "-id"], name="session_user_active"),
            models.Index(fields=["user", "space"], name="session_space", condition=models.Q(space__isnull=False)),
            models.Index(fields=["last_active_at"], name="session_temporary", condition=models.Q(temporary=True)),
        ]

    def __str__(self) -> str:
        return str(self.id)  # the admin's log keeps this, and a log holds no text (R3)

    @property
    def learns_in(self) -> uuid.UUID | None:
        """The space that what is learned here goes to, None for everywhere (P3)."""
        return self.space_id if self.space and self.space.learns_to == Space.LearnsTo.SPACE else None


def of_session(related_name: str) -> models.ForeignKey[Session, Session]:
    """Return the column of the session that a row belongs to, and goes with."""
    return models.ForeignKey(
        Session, verbose_name=_("session"), db_constraint=False, on_delete=models.CASCADE, related_name=related_name
    )


def from_session(related_name: str) -> models.ForeignKey[Session | None, Session | None]:
    """Return the column of the session that a row comes from, as long as there is one."""
    return models.ForeignKey(
        Session,
        verbose_name=_("session"),
        null=True,
        blank=True,
        db_constraint=False,
        on_delete=models.SET_NULL,
        related_name=related_name,
    )


class Role(models.TextChoices):
    USER = "user", _("user")
    ASSISTANT = "assistant", _("assistant")
    SUMMARY = "summary", _("summary")


class MessageStatus(models.TextChoices):
    """`REPLACED`: edited, or answered again. Kept, and shown in the panel alone."""

    PENDING = "pending", _("pending")
    COMPLETE = "complete", _("complete")
    FAILED = "failed", _("failed")
    REPLACED = "replaced", _("replaced")


class Pause(models.TextChoices):
    """What pauses remembering (D5), the widest first: the person's setting, the space, the session, the request."""

    EVERYWHERE = "everywhere", _("everywhere")
    SPACE = "space", _("this space")
    SESSION = "session", _("this conversation")
    REQUEST = "request", _("this message")


class Message(models.Model):
    """One message (C1). A user's message is `pending` until its reply is stored, `failed` if none came (C6).

    `position` orders a session. A turn reserves two at once, so a reply stands right after what it answers even
    when turns overlap. `attempt` and `lease_until` say which run of the turn may store the reply, and until when.
    `recallable`: no later turn is shown it once something that was learned from it has been deleted (A5, L6).
    `paused_by`: what paused remembering when it was said, "" for nothing (D5): it is never learned from, whenever its
    work is done, and no other conversation is shown it. A reply, and a summary of such messages, have it too.
    `from_history`: it came with a client's history and was not said here (T3). `stopped`: the person stopped it while
    it was written, so it may end anywhere. `not_remembered`: the categories for which something that it says was left
    out of memory (D4); None where nothing was.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = of_session("messages")
    user = of_user("messages")
    role = models.CharField(_("role"), max_length=10, choices=Role.choices)
    content = models.TextField(_("content"))
    create_time = models.DateTimeField(_("create time"), default=timezone.now, editable=False)
    is_collected = models.BooleanField(_("favourite"), default=False)
    emotion = models.CharField(_("emotion"), max_length=50, null=True, blank=True)  # noqa: DJ001 (null is "not analysed")
    status = models.CharField(_("status"), max_length=10, choices=MessageStatus.choices, default=MessageStatus.COMPLETE)
    position = models.PositiveIntegerField(_("position"), editable=False)
    reply_to = models.ForeignKey(
        "self",
        verbose_name=_("reply to"),
        null=True,
        blank=True,
        db_constraint=False,
        on_delete=models.CASCADE,
        related_name="replies",
    )
    summarized_by = models.ForeignKey(
        "self",
        verbose_name=_("summarised by"),
        null=True,
        blank=True,
        db_constraint=False,
        on_delete=models.SET_NULL,
        related_name="covers",
    )
    idempotency_key = models.CharField(max_length=255, null=True, blank=True, editable=False)  # noqa: DJ001
    attempt = models.PositiveIntegerField(default=1, editable=False)
    lease_until = models.DateTimeField(null=True, editable=False)
    from_history = models.BooleanField(default=False, db_default=False, editable=False)
    recallable = models.BooleanField(default=True, db_default=True, editable=False)
    paused_by = models.CharField(
        _("remembering paused"),
        max_length=10,
        choices=Pause.choices,
        blank=True,
        default="",
        db_default="",
        editable=False,
    )
    stopped = models.BooleanField(_("stopped"), default=False, db_default=False, editable=False)
    not_remembered = ArrayField(models.CharField(max_length=10), null=True, editable=False)

    class Meta:
        db_table = "conversation"
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        ordering = ["session", "position"]
        constraints = [
            has_owner("conversation"),
            *share_owner("conversation", "session", "reply_to", "summarized_by"),
            models.UniqueConstraint(fields=["session", "position"], name="message_position_unique"),
            models.UniqueConstraint(
                fields=["session", "idempotency_key"],
                name="message_idempotency_unique",
                condition=models.Q(idempotency_key__isnull=False),
            ),
            models.UniqueConstraint(
                fields=["reply_to"], name="message_one_reply", condition=~models.Q(status="replaced")
            ),
        ]
        indexes = [
            models.Index(fields=["lease_until"], name="message_pending", condition=models.Q(status="pending")),
            models.Index("user", MD5("content"), name="message_same_text"),
            # Without a list of what is to be entered later: it is everybody's, and each search reads all of it.
            GinIndex(models.Func("user", "content", function="message_words"), name="message_words", fastupdate=False),
            models.Index(fields=["user", "-create_time", "-id"], name="message_newest"),
            models.Index(
                fields=["session", "position"],
                name="message_unsummarized",
                condition=models.Q(summarized_by__isnull=True, status="complete"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.id}"


def of_message(related_name: str) -> models.ForeignKey[Message, Message]:
    """Return the column of the message that a row belongs to, and goes with."""
    return models.ForeignKey(
        Message, verbose_name=_("message"), db_constraint=False, on_delete=models.CASCADE, related_name=related_name
    )


def from_message(related_name: str) -> models.ForeignKey[Message | None, Message | None]:
    """Return the column of the message that a row comes from, as long as there is one."""
    return models.ForeignKey(
        Message,
        verbose_name=_("message"),
        null=True,
        blank=True,
        db_constraint=False,
        on_delete=models.SET_NULL,
        related_name=related_name,
    )


class Attachment(models.Model):
    """The text of a file that was attached to a message; the file itself is not kept.

    `message`: None until it is sent. The model reads it; nothing is learned from it by itself.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = of_user("attachments")
    session = of_session("attachments")
    message = from_message("attachments")
    name = models.CharField(_("name"), max_length=200)
    text = models.TextField(_("text"))
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "attachment"
        verbose_name = _("attachment")
        verbose_name_plural = _("attachments")
        ordering = ["created_at", "id"]
        constraints = share_owner("attachment", "session", "message")

    def __str__(self) -> str:
        return str(self.id)  # a name may say anything, and a log holds no text (R3)


class Work(models.Model):
    """What is still to be done for a message after its reply: written with the message, deleted with its result.

    PostgreSQL is the queue; the broker only wakes workers. A row is claimed by a run (`claim`, until `lease_until`) and
    whoever finishes it deletes it in the transaction of the result, so that nothing is lost or done twice. `worker`
    names the worker of the run that claimed it last, if it was in one. `attempts` counts the claims that may have come
    to nothing because of this very row, `postponements` all those after which it was put off; after too many the row
    stays as `failed` with its `error`, to be looked at and replayed: names and status codes, never text (R3).

    `trace` is the span that left it (W3C's traceparent), "" where nothing is traced.

    The lowest `place` comes first: 0 is what people say in turns; what was imported is numbered, each person's rows on
    from where the queue is when they arrive, so that several imports take turns.
    """

    class Kind(models.TextChoices):
        EMBED = "embed", _("embed")
        EXTRACT = "extract", _("extract")
        SUMMARIZE = "summarize", _("summarise")

    class State(models.TextChoices):
        DUE = "due", _("queued")
        FAILED = "failed", _("failed")

    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        on_delete=models.CASCADE,
        related_name="work",
        db_index=False,  # `work_place` begins with it
    )
    session = of_session("work")
    message = of_message("work")
    recorded = models.BooleanField(
        _("recorded only"),
        default=False,
        help_text=_(
            "This message was recorded without a reply, so background extraction also creates its long-term "
            "memories (C9)."
        ),
    )
    place = models.BigIntegerField(default=0, db_default=0, editable=False)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.DUE)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    postponements = models.PositiveSmallIntegerField(_("postponements"), default=0, db_default=0)
    due_at = models.DateTimeField(_("run at"), default=timezone.now)
    claim = models.CharField(max_length=64, null=True, blank=True, editable=False)  # noqa: DJ001 (null is "nobody's")
    lease_until = models.DateTimeField(null=True, editable=False)
    worker = models.TextField(blank=True, default="", db_default="", editable=False)
    error = models.CharField(_("error"), max_length=200, blank=True, default="")
    trace = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "work"
        verbose_name = _("background work")
        verbose_name_plural = _("background work")
        ordering = ["id"]
        constraints = [
            *share_owner("work", "session", "message"),
            models.UniqueConstraint(fields=["kind", "message"], name="work_once"),
        ]
        indexes = [
            models.Index(
                fields=["kind", "place", "due_at", "id"],
                name="work_due",
                condition=models.Q(state="due"),
            ),
            models.Index(fields=["user", "kind", "place"], name="work_place"),
            models.Index(fields=["kind", "session"], name="work_held", condition=models.Q(lease_until__isnull=False)),
            models.Index(fields=["session", "kind", "id"], name="work_session"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.message_id}"


class Recording(models.Model):
    """An idempotency key under which messages were recorded in a session (C9), and what was recorded under it."""

    session = of_session("recordings")
    user = of_user("recordings")
    idempotency_key = models.CharField(max_length=255, editable=False)
    digest = models.BinaryField(max_length=32, editable=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "recording"
        verbose_name = _("import record")
        verbose_name_plural = _("import records")
        constraints = [
            *share_owner("recording", "session"),
            models.UniqueConstraint(fields=["session", "idempotency_key"], name="recording_once"),
        ]

    def __str__(self) -> str:
        return str(self.pk)
