"""The profile document of a person (U1), its versions, and the changes that the assistant proposes (U3)."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import of_user
from apps.conversations.models import from_message
from apps.core.json import ReadableJSONEncoder
from apps.core.same_owner import has_owner, share_owner


class UserProfile(models.Model):
    """The one profile document of a person (U1), and when each of its sections was written by whom (U3).

    `reply_style`, `language_habits` and `background` are sections too, under these names; `sections` holds the others.
    `edited_at` names the sections that were written (or emptied) by hand, each with the time as ISO 8601; `learned_at`
    has, for sections that the assistant wrote, the time of the newest message they are based on. Version 0 is an empty
    document; its row exists for locking and for `forgotten_at`: when the document, or a sentence of it as a copy of a
    deleted memory, was last deleted (L6).
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="profile"
    )
    reply_style = models.TextField(_("reply style"), blank=True, default="")
    language_habits = models.TextField(_("language habits"), blank=True, default="")
    background = models.TextField(_("background"), blank=True, default="")
    sections = models.JSONField(_("sections"), encoder=ReadableJSONEncoder, default=dict, blank=True)
    edited_at = models.JSONField(
        _("edited by hand"), encoder=ReadableJSONEncoder, default=dict, blank=True, editable=False
    )
    learned_at = models.JSONField(_("learned"), encoder=ReadableJSONEncoder, default=dict, blank=True, editable=False)
    forgotten_at = models.DateTimeField(_("deleted at"), null=True, blank=True, editable=False)
    version = models.PositiveIntegerField(_("version"), default=0, editable=False)
    updated_at = models.DateTimeField(_("updated at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "user_profile"
        verbose_name = _("user profile")
        verbose_name_plural = _("user profiles")
        ordering = ["-updated_at"]
        constraints = [has_owner("user_profile")]

    def __str__(self) -> str:
        return str(self.id)


class ProfileVersion(models.Model):
    """The document as it was in one version (U3), the newest included."""

    profile = models.ForeignKey(
        UserProfile,
        verbose_name=_("user profile"),
        db_constraint=False,
        on_delete=models.CASCADE,
        related_name="versions",
    )
    user = of_user("profile_versions")
    version = models.PositiveIntegerField(_("version"))
    document = models.JSONField(_("document"), encoder=ReadableJSONEncoder)
    by_hand = models.BooleanField(_("edited by hand"))
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "profile_version"
        verbose_name = _("profile version")
        verbose_name_plural = _("profile versions")
        ordering = ["-version"]
        constraints = [
            *share_owner("profile_version", "profile"),
            models.UniqueConstraint(fields=["profile", "version"], name="profile_version_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.profile_id} {self.version}"


class ProfileProposal(models.Model):
    """A change that the assistant proposes for a section edited by hand; the user decides (U3)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = of_user("profile_proposals")
    section = models.CharField(_("section"), max_length=100)
    text = models.TextField(_("text"))
    status = models.CharField(
        _("status"),
        max_length=10,
        choices=[("pending", _("pending")), ("accepted", _("accepted")), ("rejected", _("rejected"))],
        default="pending",
    )
    message = from_message("profile_proposals")
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "profile_proposal"
        verbose_name = _("profile proposal")
        verbose_name_plural = _("profile proposals")
        ordering = ["-created_at", "-id"]
        constraints = share_owner("profile_proposal", "message")
        indexes = [models.Index(fields=["user", "status"], name="profile_proposal_user")]

    def __str__(self) -> str:
        return str(self.id)
