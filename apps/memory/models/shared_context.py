"""Key information of a case that several agents share (X1)."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import in_space, of_user
from apps.conversations.models import from_message, from_session
from apps.core.same_owner import has_owner, share_owner


class SharedContext(models.Model):
    """The background of a case, made once and added to by whoever works on it (X1, X3)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = of_user("shared_contexts")
    session = from_session("shared_contexts")
    message = from_message("shared_contexts")
    space = in_space()
    title = models.CharField(_("title"), max_length=200)
    content = models.TextField(_("content"))
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("updated at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "shared_context"
        verbose_name = _("shared context")
        verbose_name_plural = _("shared contexts")
        ordering = ["-created_at", "-id"]
        constraints = [
            has_owner("shared_context"),
            *share_owner("shared_context", "session", "message", "space"),
        ]
        indexes = [
            models.Index(fields=["user", "-created_at", "-id"], name="shared_context_list"),
            models.Index(fields=["session"], name="shared_context_session"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class ContextEntry(models.Model):
    """One addition to a shared context; entries are only ever appended (X3).

    `withdrawn`: its owner undid what it came from. It keeps its position and is shown to nobody, until that is undone.
    `via`: the program that added it, as in `Change`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    context = models.ForeignKey(
        SharedContext,
        verbose_name=_("shared context"),
        db_constraint=False,
        on_delete=models.CASCADE,
        related_name="entries",
    )
    user = of_user("context_entries")
    author = models.CharField(_("author"), max_length=100, blank=True, default="")
    text = models.TextField(_("text"))
    message = from_message("context_entries")
    position = models.PositiveIntegerField(_("position"))
    withdrawn = models.BooleanField(_("withdrawn"), default=False, db_default=False)
    via = models.CharField(_("through"), max_length=60, blank=True, default="", db_default="", editable=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "context_entry"
        verbose_name = _("context entry")
        verbose_name_plural = _("context entries")
        ordering = ["context", "position"]
        constraints = [
            *share_owner("context_entry", "context", "message"),
            models.UniqueConstraint(fields=["context", "position"], name="context_entry_position_unique"),
        ]

    def __str__(self) -> str:
        return str(self.id)
