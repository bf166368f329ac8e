"""The audit record of every change to what is remembered (L7)."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import in_space, of_user
from apps.conversations.models import Session, from_message
from apps.core.json import ReadableJSONEncoder
from apps.core.same_owner import share_owner


class Change(models.Model):
    """One change of one object: who, when, before and after (L7). Written by the service that made the change.

    `operation` groups what one operation changed, such as the memory that superseded another and the one superseded:
    they are undone together. `actor` is null when the assistant changed something by itself; `message` is what the
    person said that caused the change, as long as it exists. A deletion empties `before` and `after` of every record of
    its object; its own record keeps who, when and the ID only. `session`: the one that the object is deleted with, and
    its records too. `via`: the program whose request it was, such as ``token:<key>``; "" for a person at the page and
    for background work, of which the session says what began it. `space`: where the object was then (P4). `reason`: why
    tidying changed it, in a sentence for its owner (D2); a deletion empties it, too.
    """

    class Kind(models.TextChoices):
        LONG_TERM = "long_term", _("long-term memory")
        ATOMIC = "atomic", _("atomic memory")
        PROFILE = "profile", _("user profile")
        PROPOSAL = "proposal", _("profile proposal")
        SUMMARY = "summary", _("session summary")
        CONTEXT = "context", _("shared context")
        ENTRY = "entry", _("addition to a shared context")

    class Action(models.TextChoices):
        CREATE = "create", _("create")
        EDIT = "edit", _("edit")
        REFRESH = "refresh", _("refresh")
        ACCEPT = "accept", _("accept")
        REJECT = "reject", _("reject")
        SUPERSEDE = "supersede", _("supersede")
        MERGE = "merge", _("merge")
        IMPORT = "import", _("import")
        EVICT = "evict", _("evict")
        MUTE = "mute", _("mute")
        MOVE = "move", _("move")
        UNDO = "undo", _("undo")
        DELETE = "delete", _("delete")

    class Origin(models.TextChoices):
        TURN = "turn", _("turn")
        EXTRACTION = "extraction", _("extraction")
        API = "api", _("API")
        PANEL = "panel", _("panel")
        COMMAND = "command", _("command")
        LIFE_CYCLE = "life_cycle", _("lifecycle")
        TIDYING = "tidying", _("tidying")

    user = of_user("changes")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("changed by"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="changes_made",
    )
    origin = models.CharField(_("origin"), max_length=10, choices=Origin.choices)
    action = models.CharField(_("action"), max_length=10, choices=Action.choices)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    object_id = models.UUIDField(_("object ID"))
    before = models.JSONField(_("before"), encoder=ReadableJSONEncoder, null=True, blank=True)
    after = models.JSONField(_("after"), encoder=ReadableJSONEncoder, null=True, blank=True)
    operation = models.UUIDField(_("operation"), default=uuid.uuid4)
    undone_by = models.UUIDField(_("undone by"), null=True, blank=True)
    session = models.ForeignKey(
        Session,
        verbose_name=_("session"),
        null=True,
        blank=True,
        db_constraint=False,
        on_delete=models.CASCADE,
        related_name="changes",
    )
    message = from_message("changes")
    space = in_space()
    via = models.CharField(_("through"), max_length=60, blank=True, default="", db_default="", editable=False)
    reason = models.CharField(_("reason"), max_length=300, blank=True, default="", db_default="", editable=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now)

    class Meta:
        db_table = "memory_change"
        verbose_name = _("change")
        verbose_name_plural = _("changes")
        ordering = ["-id"]
        constraints = share_owner("memory_change", "session", "message", "space")
        indexes = [
            models.Index(fields=["user", "-id"], name="memory_change_user"),
            models.Index(fields=["object_id", "-id"], name="memory_change_object"),
            models.Index(fields=["operation"], name="memory_change_operation"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.object_id}"

    @property
    def can_be_undone(self) -> bool:
        """Whether undoing may be tried; it is refused still where the object has changed since.

        Deletions are final, and a shared context is only ever deleted.
        """
        is_final = self.action == self.Action.DELETE or self.kind == self.Kind.CONTEXT
        return not is_final and self.after is not None and self.undone_by is None
