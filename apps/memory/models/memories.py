"""Long-term (L1) and atomic memories (A1), and the digests of what was deleted (L6)."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.accounts.models import in_space, of_user
from apps.conversations.models import from_message, from_session
from apps.core.json import ReadableJSONEncoder
from apps.core.same_owner import has_owner, share_owner
from apps.memory.keyed import Mode


class Category(models.TextChoices):
    PREFERENCE = "preference", _("preference")
    FACT = "fact", _("fact")
    PATTERN = "pattern", _("pattern")


class Source(models.TextChoices):
    USER_STATED = "user_stated", _("user stated")
    INFERRED = "inferred", _("inferred")
    SYSTEM = "system", _("system")


class AtomicSource(models.TextChoices):
    """Whose words an atomic memory tells: the person's, or the assistant's (A6)."""

    USER_STATED = Source.USER_STATED.value, Source.USER_STATED.label
    ASSISTANT = "assistant", _("assistant")


class Status(models.TextChoices):
    ACTIVE = "active", _("active")
    PENDING = "pending", _("pending")
    REJECTED = "rejected", _("rejected")
    SUPERSEDED = "superseded", _("superseded")
    EVICTED = "evicted", _("evicted")


# What only search reads of a memory; too large to be fetched with every row.
SEARCH_FIELDS = ("search_vector", "words")


class Memory(models.Model):
    """What memories of both kinds have in common. `apps.memory.kinds` declares the fields of each.

    `valid_until`: when it ceases to hold, if that is known (D3). `sensitive`: the categories that it is marked with
    (D4). `embedding_refusals`: when embedding models, such as
    "model_1", refused the text as it is.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.ACTIVE)
    muted = models.BooleanField(
        _("muted"), default=False, db_default=False, help_text=_("Kept and shown, but never recalled in a reply.")
    )
    superseded_by = models.ForeignKey(
        "self",
        verbose_name=_("superseded by"),
        null=True,
        blank=True,
        db_constraint=False,
        on_delete=models.SET_NULL,
        related_name="supersedes",
    )
    valid_until = models.DateTimeField(
        _("valid until"), null=True, blank=True, help_text=_("Kept and shown after that, but no longer recalled.")
    )
    sensitive = ArrayField(
        models.CharField(max_length=10),
        verbose_name=pgettext_lazy("memory", "sensitive"),
        default=list,
        db_default=[],
        blank=True,
    )
    updated_at = models.DateTimeField(_("updated at"), default=timezone.now, editable=False)
    embedding_refusals = models.JSONField(null=True, editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return str(self.id)  # goes into the admin's log, which must not outlive the text (R3)


class LongTermMemory(Memory):
    """One long-term memory (L1): a `key`, any JSON `value`, and how sure we are of it.

    `normalized_key` and `normalized_value` are the forms in which identity and sameness are decided (L3);
    `search_vector` holds the index terms of key and value (K3), `words` the words they are scored by (K4). Services
    fill all four, with `apps.memory.kinds.LONG_TERM.derive`.
    """

    user = of_user("long_term_memories")
    session = from_session("long_term_memories")
    message = from_message("long_term_memories")
    space = in_space()
    category = models.CharField(_("category"), max_length=10, choices=Category.choices)
    key = models.CharField(_("key"), max_length=200)
    value = models.JSONField(_("value"), encoder=ReadableJSONEncoder)
    confidence = models.FloatField(
        _("confidence"), default=1.0, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)]
    )
    source = models.CharField(_("source"), max_length=11, choices=Source.choices, default=Source.USER_STATED)
    mode = models.CharField(
        _("mode"),
        max_length=7,
        choices=[(Mode.REPLACE.value, _("replace")), (Mode.ADD.value, _("add")), (Mode.REMOVE.value, _("remove"))],
        default=Mode.REPLACE.value,
        help_text=_("How a pending memory, once accepted, changes the current value of its key."),
    )
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)
    last_accessed = models.DateTimeField(_("last accessed"), default=timezone.now, editable=False)
    access_count = models.PositiveIntegerField(_("access count"), default=0, editable=False)
    normalized_key = models.TextField(editable=False)
    normalized_value = models.TextField(editable=False)
    search_vector = SearchVectorField(editable=False)
    words = ArrayField(models.TextField(), editable=False)

    class Meta:
        db_table = "long_term_memory"
        verbose_name = _("long-term memory")
        verbose_name_plural = _("long-term memories")
        ordering = ["-created_at", "-id"]
        constraints = [
            has_owner("long_term_memory"),
            *share_owner("long_term_memory", "session", "message", "superseded_by", "space"),
            models.UniqueConstraint(
                fields=["user", "normalized_key", "space"],
                name="long_term_memory_one_active_per_key",
                nulls_distinct=False,
                condition=models.Q(status="active"),
            ),
            models.CheckConstraint(
                condition=models.Q(confidence__gte=0.0, confidence__lte=1.0), name="long_term_memory_confidence_range"
            ),
        ]
        indexes = [
            models.Index(fields=["user", "status", "-created_at", "-id"], name="long_term_memory_list"),
            models.Index(fields=["user", "normalized_key"], name="long_term_memory_key"),
            models.Index(
                fields=["user", "-created_at"], condition=models.Q(status="pending"), name="long_term_memory_pending"
            ),
            models.Index(fields=["user", "status", "category", "source"], name="long_term_memory_kinds"),
            models.Index(fields=["user"], condition=models.Q(muted=True), name="long_term_memory_muted"),
            models.Index(fields=["user"], condition=~models.Q(sensitive=[]), name="long_term_memory_sensitive"),
            # Without a list of what is to be entered later: it is everybody's, and each search reads all of it.
            GinIndex(fields=["search_vector"], name="long_term_memory_search", fastupdate=False),
        ]


class AtomicMemory(Memory):
    """One atomic memory (A1). `timestamp`: when its turn was; `event_start`, `event_end`: when it happened, if said.

    `normalized_content` is the form in which sameness is decided (A3). `terms` are its index terms in order, repeats
    kept, and `term_count` their number: what BM25 needs. Services fill all three: `apps.memory.kinds.ATOMIC.derive`.
    `left_of`: the ended memory of which this one is the part that still holds. `proposal`: what accepting a pending one
    does (`apps.memory.judge.types.PendingVerdict`).
    """

    user = of_user("atomic_memories")
    session = from_session("atomic_memories")
    message = from_message("atomic_memories")
    space = in_space()
    content = models.TextField(_("content"))
    source = models.CharField(
        _("source"), max_length=11, choices=AtomicSource.choices, default=AtomicSource.USER_STATED, editable=False
    )
    tags = ArrayField(models.CharField(max_length=50), verbose_name=_("tags"), default=list, blank=True)
    timestamp = models.DateTimeField(_("timestamp"), default=timezone.now)
    event_start = models.DateTimeField(_("event start"), null=True, blank=True)
    event_end = models.DateTimeField(_("event end"), null=True, blank=True)
    left_of = models.ForeignKey(
        "self",
        verbose_name=_("remaining part of"),
        null=True,
        blank=True,
        db_constraint=False,
        on_delete=models.SET_NULL,
        related_name="remainders",
        editable=False,
    )
    proposal = models.JSONField(null=True, editable=False)
    create_time = models.DateTimeField(_("create time"), default=timezone.now, editable=False)
    normalized_content = models.TextField(editable=False)
    terms = ArrayField(models.TextField(), editable=False)
    term_count = models.PositiveIntegerField(editable=False)

    class Meta:
        db_table = "atomic_memory"
        verbose_name = _("atomic memory")
        verbose_name_plural = _("atomic memories")
        ordering = ["-create_time", "-id"]
        constraints = [
            has_owner("atomic_memory"),
            *share_owner("atomic_memory", "session", "message", "superseded_by", "left_of", "space"),
        ]
        indexes = [
            models.Index(fields=["user", "status", "-create_time", "-id"], name="atomic_memory_list"),
            models.Index(fields=["user", "status", "source"], name="atomic_memory_kinds"),
            models.Index(
                fields=["user"],
                include=["term_count", "muted", "valid_until", "space"],
                condition=models.Q(status="active"),
                name="atomic_memory_lengths",
            ),
            models.Index(
                fields=["user", "-create_time"], condition=models.Q(status="pending"), name="atomic_memory_pending"
            ),
            models.Index(fields=["user"], condition=models.Q(muted=True), name="atomic_memory_muted"),
            models.Index(fields=["user"], condition=~models.Q(sensitive=[]), name="atomic_memory_sensitive"),
            # As with long-term memories.
            GinIndex(fields=["terms"], name="atomic_memory_terms", fastupdate=False),
        ]


class ForgottenKey(models.Model):
    """A key or a value its owner deleted, as a keyed digest: nothing said before `forgotten_at` brings it back (L6).

    Only the digest is kept (HMAC-SHA-256 under the installation's key), so the deleted text cannot be read from it.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="forgotten_keys")
    digest = models.CharField(_("digest"), max_length=64)
    forgotten_at = models.DateTimeField(_("deleted at"))

    class Meta:
        db_table = "forgotten_key"
        verbose_name = _("do-not-relearn entry")
        verbose_name_plural = _("do-not-relearn list")
        constraints = [models.UniqueConstraint(fields=["user", "digest"], name="forgotten_key_unique")]

    def __str__(self) -> str:
        return self.digest[:12]
