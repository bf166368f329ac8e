"""The working memory of a session (W1)."""

from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import of_user
from apps.conversations.models import Session, of_session
from apps.core.json import ReadableJSONEncoder
from apps.core.same_owner import share_owner


class WorkingMemory(models.Model):
    """What a live session keeps in mind (W1). Gone after `memory.working_ttl_minutes` without a message (W4).

    `written` keeps, per context variable, when it was last written, in order of writing: jsonb does not keep the
    order of keys, and forms are shown in order of submission (H3) and eviction takes the least recently written (W5).
    `paused`: something was said since it began while remembering was paused, so that nothing of it is archived (D5).
    """

    session = models.OneToOneField(
        Session,
        verbose_name=_("session"),
        primary_key=True,
        db_constraint=False,
        on_delete=models.CASCADE,
        related_name="working_memory",
    )
    user = of_user("working_memories")
    current_topic = models.CharField(_("current topic"), max_length=200, null=True, blank=True)  # noqa: DJ001
    context_variables = models.JSONField(_("context variables"), encoder=ReadableJSONEncoder, default=dict, blank=True)
    written = models.JSONField(default=list, blank=True, editable=False)
    turn_count = models.PositiveIntegerField(_("turn count"), default=0)
    last_emotion = models.CharField(_("last emotion"), max_length=50, null=True, blank=True)  # noqa: DJ001
    revision = models.PositiveBigIntegerField(default=0, editable=False)
    paused = models.BooleanField(default=False, db_default=False, editable=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("updated at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "working_memory"
        verbose_name = _("working memory")
        verbose_name_plural = _("working memories")
        ordering = ["-updated_at"]
        constraints = share_owner("working_memory", "session")
        indexes = [models.Index(fields=["updated_at"], name="working_memory_idle")]

    def __str__(self) -> str:
        return str(self.session_id)


class WorkingMemoryRevision(models.Model):
    """Topic and variables from one revision of a working memory on, so that a turn can be looked into later (M6).

    Only what changes them leaves a row. `started_at` is the `created_at` of the working memory it is of: a session has
    one after the other. Like the messages it comes from, a row stays until its session is deleted; it goes earlier with
    a working memory that is deleted by hand, and what is removed as a copy of a memory is removed here too (L6).
    """

    session = of_session("working_memory_revisions")
    user = of_user("working_memory_revisions")
    started_at = models.DateTimeField(_("started at"))
    revision = models.PositiveBigIntegerField(_("revision"))
    current_topic = models.CharField(_("current topic"), max_length=200, null=True, blank=True)  # noqa: DJ001
    context_variables = models.JSONField(_("context variables"), encoder=ReadableJSONEncoder, default=dict, blank=True)
    written = models.JSONField(default=list, blank=True, editable=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "working_memory_revision"
        verbose_name = _("working memory revision")
        verbose_name_plural = _("working memory revisions")
        ordering = ["-id"]
        constraints = share_owner("working_memory_revision", "session")
        indexes = [models.Index(fields=["session", "started_at", "-revision"], name="working_memory_revision_find")]

    def __str__(self) -> str:
        return f"{self.session_id} {self.revision}"
