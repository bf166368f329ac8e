"""Runs that tidy up a person's memories (D1), and the outcome of each (D2)."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Tidying(models.Model):
    """One run, asked for by its person (`by_hand`) or by the schedule. Holds no remembered text: changes have it.

    A worker holds it by `claim` until `lease_until`; everything that it does is written in the transaction that marks
    it done, so that there is either a whole letter or none. `operations`: what it changed, each undone by itself;
    `proposals`: what it proposed for the profile. `shown`: how many memories the model saw. `covered`: the newest
    change record that it knew; `left`: memories that were new and did not fit into its budget, for the next run.
    `error`: a name, never text (R3). `seen_at`: when its person opened the letter, or said that they need not see it.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="tidyings"
    )
    by_hand = models.BooleanField(_("asked for by hand"), default=False)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.WAITING)
    operations = ArrayField(models.UUIDField(), verbose_name=_("operations"), default=list, blank=True)
    proposals = ArrayField(models.UUIDField(), verbose_name=_("profile proposals"), default=list, blank=True)
    shown = models.PositiveIntegerField(_("memories read"), default=0)
    covered = models.BigIntegerField(default=0, editable=False)
    left = ArrayField(models.UUIDField(), default=list, editable=False)
    read_at = models.DateTimeField(null=True, editable=False)
    error = models.CharField(_("error"), max_length=100, blank=True, default="", editable=False)
    claim = models.CharField(max_length=64, null=True, blank=True, editable=False)  # noqa: DJ001 (null is "nobody's")
    lease_until = models.DateTimeField(null=True, editable=False)
    attempts = models.PositiveSmallIntegerField(default=0, editable=False)
    due_at = models.DateTimeField(default=timezone.now, editable=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True, editable=False)
    seen_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        db_table = "tidying"
        verbose_name = _("tidying run")
        verbose_name_plural = _("tidying runs")
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["user"], condition=models.Q(state="waiting"), name="tidying_one_waiting"),
        ]
        indexes = [
            models.Index(fields=["user", "-created_at", "-id"], name="tidying_list"),
            models.Index(fields=["due_at"], condition=models.Q(state="waiting"), name="tidying_due"),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def change_count(self) -> int:
        """How much it changed and proposed."""
        return len(self.operations) + len(self.proposals)

    @property
    def is_letter(self) -> bool:
        """Whether it did something, or its person asked for it: only that is worth telling."""
        return self.by_hand or self.change_count > 0
