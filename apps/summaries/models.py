"""Summaries of sessions (S1). The summary of a conversation is a message of it, with the role `summary` (S4)."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import of_user
from apps.conversations.models import Session
from apps.core.same_owner import share_owner


class SessionSummary(models.Model):
    """What a session was about, for the sessions after it (S1, S2).

    `covered_until` is the position of the newest message it has taken in: a refresh reads only what came after.
    `edited`: the user edited it; it is not generated again. `deleted`: its text is gone and is
    not written again from what was said up to `covered_until`; nobody sees the row.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = of_user("session_summaries")
    session = models.OneToOneField(
        Session, verbose_name=_("session"), db_constraint=False, on_delete=models.CASCADE, related_name="summary"
    )
    title = models.CharField(_("title"), max_length=200)
    snippet = models.TextField(_("snippet"))
    covered_until = models.PositiveIntegerField(default=0, editable=False)
    edited = models.BooleanField(_("edited by hand"), default=False)
    deleted = models.BooleanField(default=False, editable=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("updated at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "session_summary"
        verbose_name = _("session summary")
        verbose_name_plural = _("session summaries")
        ordering = ["-created_at", "-id"]
        constraints = share_owner("session_summary", "session")
        indexes = [models.Index(fields=["user", "-created_at", "-id"], name="session_summary_newest")]

    def __str__(self) -> str:
        return str(self.id)
