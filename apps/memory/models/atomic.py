"""Atomic memories: what was learned from single turns, in a few self-contained sentences each (A1)."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.conversations.models import Message, Session
from apps.core.same_owner import has_owner, share_owner
from apps.memory.models.long_term import Status


class AtomicMemory(models.Model):
    """One atomic memory (A1). `timestamp`: when its turn was; `event_start`, `event_end`: when it happened, if said.

    `normalized_content` is the form in which sameness is decided (A3). `terms` are its index terms in order, repeats
    kept, and `term_count` their number: what BM25 needs. `apps.memory.atomic` fills all three. `embedding_refusals`:
    when embedding models, such as "model_1", refused the content as it is. `left_of`: the ended memory of which this
    one is the part that still holds. `proposal`: what accepting a pending one does
    (`apps.memory.atomic.held_verdicts`).
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="atomic_memories"
    )
    session = models.ForeignKey(
        Session,
        verbose_name=_("session"),
        null=True,
        blank=True,
        db_constraint=False,
        on_delete=models.SET_NULL,
        related_name="atomic_memories",
    )
    message = models.ForeignKey(
        Message,
        verbose_name=_("message"),
        null=True,
        blank=True,
        db_constraint=False,
        on_delete=models.SET_NULL,
        related_name="atomic_memories",
    )
    content = models.TextField(_("content"))
    tags = ArrayField(models.CharField(max_length=50), verbose_name=_("tags"), default=list, blank=True)
    timestamp = models.DateTimeField(_("timestamp"), default=timezone.now)
    event_start = models.DateTimeField(_("event start"), null=True, blank=True)
    event_end = models.DateTimeField(_("event end"), null=True, blank=True)
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
    updated_at = models.DateTimeField(_("updated at"), default=timezone.now, editable=False)
    normalized_content = models.TextField(editable=False)
    terms = ArrayField(models.TextField(), editable=False)
    term_count = models.PositiveIntegerField(editable=False)
    embedding_refusals = models.JSONField(null=True, editable=False)

    class Meta:
        db_table = "atomic_memory"
        verbose_name = _("atomic memory")
        verbose_name_plural = _("atomic memories")
        ordering = ["-create_time", "-id"]
        constraints = [
            has_owner("atomic_memory"),
            *share_owner("atomic_memory", "session", "message", "superseded_by", "left_of"),
        ]
        indexes = [
            models.Index(fields=["user", "status", "-create_time", "-id"], name="atomic_memory_list"),
            models.Index(
                fields=["user"],
                include=["term_count", "muted"],
                condition=models.Q(status="active"),
                name="atomic_memory_lengths",
            ),
            models.Index(
                fields=["user", "-create_time"], condition=models.Q(status="pending"), name="atomic_memory_pending"
            ),
            GinIndex(fields=["terms"], name="atomic_memory_terms"),
        ]

    def __str__(self) -> str:
        return str(self.id)  # goes into the admin's log, which must not outlive the text (R3)
