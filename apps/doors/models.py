"""What further doors keep besides the conversation itself, and what is being imported (docs/import.md).

Tokens of applications connected by OAuth are in the tables of django-oauth-toolkit.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Space, User, of_user
from apps.conversations.models import from_session, of_message
from apps.core.json import ReadableJSONEncoder
from apps.core.same_owner import has_owner, share_owner

PART_BYTES = 1024 * 1024


class StoredResponse(models.Model):
    """A response of ``/v1/responses`` that a later request may continue (T3). Its reply is the message of the same ID.

    `message`: that of the user which it answers. `previous`: the response that it continues. `exchange`: chat messages
    between the user's message and the reply, as far as no earlier response of the same message holds them: the calls
    of the client's tools and their results.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = of_user("stored_responses")
    message = of_message("stored_responses")
    previous = models.UUIDField(null=True, editable=False)
    exchange = models.JSONField(default=list, editable=False)
    model = models.CharField(_("model"), max_length=200, blank=True, default="")
    metadata = models.JSONField(default=dict, editable=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "stored_response"
        verbose_name = _("stored response")
        verbose_name_plural = _("stored responses")
        ordering = ["created_at", "id"]
        constraints = share_owner("stored_response", "message")

    def __str__(self) -> str:
        return str(self.id)


class ConnectedApp(models.Model):
    """An application that may use a person's memory, from their consent until they or it revoke it."""

    user = of_user("connected_apps")
    application = models.ForeignKey(
        settings.OAUTH2_PROVIDER_APPLICATION_MODEL,
        verbose_name=_("application"),
        on_delete=models.CASCADE,
        related_name="connections",
    )
    scopes = ArrayField(models.CharField(max_length=10), verbose_name=_("scopes"))
    created_at = models.DateTimeField(_("connected at"), default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(_("last used at"), null=True, blank=True, editable=False)

    class Meta:
        db_table = "connected_app"
        verbose_name = _("connected app")
        verbose_name_plural = _("connected apps")
        ordering = ["-created_at", "-id"]
        constraints = [models.UniqueConstraint(fields=["user", "application"], name="connected_app_once")]

    def __str__(self) -> str:
        return str(self.application)


class PastImport(models.Model):
    """One file that a person brings (`apps.doors.imports`). Its state is all that a worker needs to continue it.

    `claim` names the run that is at it, until `lease_until`; `attempts` counts the runs that died at it. `total` and
    `done` count items, once the file is read. `counts`: what the report says (`apps.doors.imports.running`).
    `operation`: under which its memories are undone together. `undo_before`: how far an undo has come. `space`: where
    all that it brings goes, None for everywhere; the report goes with the space.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        READING = "reading", _("reading the file")
        RUNNING = "running", _("importing")
        DONE = "done", _("done")
        CANCELLED = "cancelled", _("cancelled")
        FAILED = "failed", _("failed")
        UNDOING = "undoing", _("undoing")
        UNDONE = "undone", _("undone")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = of_user("past_imports")
    space = models.ForeignKey(
        Space,
        verbose_name=_("space"),
        null=True,
        blank=True,
        db_constraint=False,
        on_delete=models.CASCADE,
        related_name="+",
    )
    format = models.CharField(_("format"), max_length=20)  # a `Format`; no choices, so that one more needs no migration
    file_name = models.CharField(_("file name"), max_length=200, blank=True, default="")
    size = models.BigIntegerField(_("size"))
    digest = models.BinaryField(max_length=32, editable=False)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.QUEUED)
    problem = models.CharField(_("problem"), max_length=300, blank=True, default="")
    total = models.PositiveIntegerField(_("items"), default=0)
    done = models.PositiveIntegerField(_("items done"), default=0)
    counts = models.JSONField(_("counts"), encoder=ReadableJSONEncoder, default=dict, blank=True)
    operation = models.UUIDField(_("operation"), default=uuid.uuid4, editable=False)
    undo_before = models.BigIntegerField(null=True, editable=False)
    claim = models.CharField(max_length=64, null=True, blank=True, editable=False)  # noqa: DJ001 (null is "nobody's")
    lease_until = models.DateTimeField(null=True, editable=False)
    attempts = models.PositiveSmallIntegerField(default=0, editable=False)
    served_at = models.DateTimeField(default=timezone.now, editable=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("updated at"), default=timezone.now, editable=False)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True, editable=False)

    class Meta:
        db_table = "past_import"
        verbose_name = _("import")
        verbose_name_plural = _("imports")
        ordering = ["-created_at", "-id"]
        constraints = [has_owner("past_import"), *share_owner("past_import", "space")]
        indexes = [
            models.Index(fields=["user", "-created_at", "-id"], name="past_import_list"),
            models.Index(
                fields=["served_at"],
                name="past_import_due",
                condition=models.Q(state__in=["queued", "reading", "running", "undoing"]),
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def owner(self) -> User:
        """The person, as they look from where it goes."""
        person: User = self.user
        return person if self.space_id is None else person.within(self.space_id)


class ImportPart(models.Model):
    """A piece of the file of an import, kept until it has been read."""

    past_import = models.ForeignKey(PastImport, db_constraint=False, on_delete=models.CASCADE, related_name="parts")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="import_parts")
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        db_table = "past_import_part"
        verbose_name = _("part of an imported file")
        verbose_name_plural = _("parts of imported files")
        constraints = [
            *share_owner("past_import_part", "past_import"),
            models.UniqueConstraint(fields=["past_import", "number"], name="past_import_part_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.past_import_id} {self.number}"


class ImportItem(models.Model):
    """A conversation, a memory, or something that is left out, and its outcome.

    `payload` holds it until it is imported. `count`: of a conversation its messages that were imported, of what is left
    out how many there are. `session`: the one that a conversation became; `made_session` where it was not there before.
    """

    class Kind(models.TextChoices):
        CONVERSATION = "conversation", _("conversation")
        MEMORY = "memory", _("memory")
        OTHER = "other", _("other")

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        IMPORTED = "imported", _("imported")
        SKIPPED = "skipped", _("skipped")
        FAILED = "failed", _("failed")

    past_import = models.ForeignKey(
        PastImport, verbose_name=_("import"), db_constraint=False, on_delete=models.CASCADE, related_name="items"
    )
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="import_items")
    number = models.PositiveIntegerField(_("number"))
    kind = models.CharField(_("kind"), max_length=12, choices=Kind.choices)
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.WAITING)
    label = models.CharField(_("label"), max_length=200, blank=True, default="")
    reason = models.CharField(_("reason"), max_length=20, blank=True, default="")
    detail = models.CharField(_("detail"), max_length=300, blank=True, default="")
    count = models.PositiveIntegerField(_("count"), default=0)
    payload = models.JSONField(encoder=ReadableJSONEncoder, null=True, editable=False)
    session = from_session("+")
    made_session = models.BooleanField(default=False, editable=False)
    memory_id = models.UUIDField(_("memory"), null=True, blank=True, editable=False)

    class Meta:
        db_table = "past_import_item"
        verbose_name = _("imported item")
        verbose_name_plural = _("imported items")
        ordering = ["past_import", "number"]
        constraints = [
            *share_owner("past_import_item", "past_import", "session"),
            models.UniqueConstraint(fields=["past_import", "number"], name="past_import_item_unique"),
        ]
        indexes = [
            models.Index(
                fields=["past_import", "number"], name="past_import_item_waiting", condition=models.Q(state="waiting")
            )
        ]

    def __str__(self) -> str:
        return f"{self.past_import_id} {self.number}"
