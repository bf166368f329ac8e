"""Who owns what is remembered: accounts, their API tokens, and the settings they changed."""

from __future__ import annotations

import copy
import uuid
from typing import ClassVar, Self

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _
from knox.models import AbstractAuthToken

from apps.accounts.types import ALL_SCOPES, Scope, Sight, read_setting_problems
from apps.core.json import ReadableJSONEncoder
from apps.core.same_owner import has_owner, share_owner


class User(AbstractUser):  # type: ignore[django-manager-missing]  # knox has no types
    """An account. Every object that holds remembered data belongs to exactly one.

    `service` and `external_id` mark an end user of a service account, made on first use (T4).
    `data_epoch` grows with every erasure: work begun under an older epoch must not write (R3). `session_epoch` grows
    when all sessions are ended: those that were begun under an older one count no more.

    `sight`: from where they look at what is remembered (P2). Not stored: whoever acts in a space takes `within`.
    """

    sight: ClassVar[Sight] = Sight(everything=True)

    service = models.ForeignKey(
        "self", verbose_name=_("service"), null=True, blank=True, on_delete=models.CASCADE, related_name="end_users"
    )
    external_id = models.CharField(_("external ID"), max_length=200, blank=True, default="")
    data_epoch = models.BigIntegerField(_("data epoch"), default=0, editable=False)
    session_epoch = models.BigIntegerField(_("session epoch"), default=0, editable=False)

    class Meta(AbstractUser.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["service", "external_id"],
                name="user_external_id_unique_in_service",
                condition=models.Q(service__isnull=False),
            )
        ]

    def within(self, space_id: uuid.UUID | None) -> Self:
        """Return the person as they look from a space, or from none: what all services go by (P2, P3)."""
        seen = copy.copy(self)
        seen.__dict__["sight"] = Sight(space_id)
        return seen

    def overseeing(self) -> Self:
        """Return the person as they look after all of their memories, wherever those are."""
        seen = copy.copy(self)
        seen.__dict__.pop("sight", None)
        return seen

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """What a session must hold to count: Django's, which depends on the password, and on the epoch once it grew."""
        digest: str = super()._get_session_auth_hash(secret=secret)  # type: ignore[misc]
        if not self.session_epoch:
            return digest
        salt = "apps.accounts.session_epoch"
        return salted_hmac(salt, f"{digest}:{self.session_epoch}", secret=secret, algorithm="sha256").hexdigest()


class EndUser(User):  # type: ignore[django-manager-missing]  # knox has no types
    """An account that a service made for one of the people it serves (T4): the same rows as a page of their own."""

    class Meta:
        proxy = True
        verbose_name = _("end user")
        verbose_name_plural = _("end users")


def all_scopes() -> list[str]:
    """What a token may do unless it was limited."""
    return [str(scope) for scope in ALL_SCOPES]


class Space(models.Model):
    """A project, an assistant or a character of one person, with memories that stay there (P1).

    `learns_to`: where what is learned in its conversations goes. `instructions` are in the prompt of its conversations.
    `paused`: nothing is learned in them (D5).
    """

    class Kind(models.TextChoices):
        PROJECT = "project", _("project")
        ASSISTANT = "assistant", _("assistant")
        CHARACTER = "character", _("character")

    class LearnsTo(models.TextChoices):
        SPACE = "space", _("this space")
        EVERYWHERE = "everywhere", _("everywhere")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, verbose_name=_("user"), on_delete=models.CASCADE, related_name="spaces")
    name = models.CharField(_("name"), max_length=100)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices, default=Kind.PROJECT)
    instructions = models.TextField(
        _("instructions"), blank=True, default="", help_text=_("What the assistant is told in its conversations.")
    )
    learns_to = models.CharField(
        _("what is learned goes to"), max_length=10, choices=LearnsTo.choices, default=LearnsTo.SPACE
    )
    archived = models.BooleanField(_("archived"), default=False)
    paused = models.BooleanField(
        _("remembering paused"),
        default=False,
        db_default=False,
        help_text=_("Nothing new is remembered from what is said here. What is remembered is still recalled."),
    )
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "space"
        verbose_name = _("space")
        verbose_name_plural = _("spaces")
        ordering = ["created_at", "id"]
        constraints = [
            has_owner("space"),
            models.UniqueConstraint("user", Lower("name"), name="space_name_unique"),
        ]

    def __str__(self) -> str:
        return str(self.id)  # a name may say anything, and a log holds no text (R3)


def of_user(related_name: str) -> models.ForeignKey[User, User]:
    """Return the column of whom a row is, and goes with."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name=related_name
    )


def in_space() -> models.ForeignKey[Space | None, Space | None]:
    """Return the column that says in which space something remembered is, null for everywhere (P1).

    No space goes while something is in it: `apps.memory.spaces.delete_space` moves or erases that first.
    """
    return models.ForeignKey(
        Space,
        verbose_name=_("space"),
        null=True,
        blank=True,
        db_constraint=False,
        on_delete=models.RESTRICT,
        related_name="+",
    )


class ApiToken(AbstractAuthToken):
    """A token for API clients; only its digest is stored. It has no expiry unless given one.

    A service token may act for the end users of its owner (T4). `scopes` holds those that were given and those that
    these include. `throttle` limits the requests of all its end users together (``60/min``; empty: no limit).
    `encrypted_jwt_secret` verifies whom a chat client names; it is written once and never shown, logged or exported.
    `space`: the one it is bound to, None for none: whoever it acts for looks from there (P5), an end user of a service
    from their own of that name.
    """

    name = models.CharField(_("name"), max_length=100, blank=True, default="")
    is_service = models.BooleanField(_("service token"), default=False)
    scopes = ArrayField(
        models.CharField(max_length=10, choices=[(str(scope), str(scope)) for scope in Scope]),
        verbose_name=_("scopes"),
        default=all_scopes,
    )
    last_used_at = models.DateTimeField(_("last used at"), null=True, blank=True, editable=False)
    throttle = models.CharField(_("request limit"), max_length=20, blank=True, default="")
    space = models.ForeignKey(
        Space,
        verbose_name=_("space"),
        null=True,
        blank=True,
        db_constraint=False,
        on_delete=models.CASCADE,
        related_name="+",
    )
    encrypted_jwt_secret = models.TextField(blank=True, default="", editable=False)

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        constraints = share_owner("accounts_apitoken", "space")

    def __str__(self) -> str:
        return f"{self.name or self.token_key} ({self.user})"


class Setting(models.Model):
    """One changed setting (G1): of a user, or of everybody where `user` is null. Defaults are not stored."""

    user = models.ForeignKey(
        User, verbose_name=_("user"), null=True, blank=True, on_delete=models.CASCADE, related_name="settings"
    )
    key = models.CharField(_("key"), max_length=100)
    value = models.JSONField(_("value"), encoder=ReadableJSONEncoder)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("setting")
        verbose_name_plural = _("settings")
        constraints = [
            models.UniqueConstraint(fields=["user", "key"], name="setting_unique_per_user", nulls_distinct=False)
        ]

    def __str__(self) -> str:
        return self.key

    def clean(self) -> None:
        """Refuse what no turn could read (the admin form calls this)."""
        if problems := read_setting_problems({self.key: self.value}):
            raise ValidationError({"value": [reason for reasons in problems.values() for reason in reasons]})


class LoginAttempt(models.Model):
    """Failed attempts to log in to an account from one address (`apps.accounts.services.login_lockout`).

    The name is what somebody entered, whether or not there is such an account. Nothing else of what was sent is kept.
    `ip_address`: as `get_client_network` returns it.
    """

    username = models.CharField(_("username"), max_length=255)
    ip_address = models.GenericIPAddressField(_("IP address"), null=True)
    failures_since_start = models.PositiveIntegerField(_("failures"))
    attempt_time = models.DateTimeField(_("last attempt"), db_index=True)

    class Meta:
        verbose_name = _("failed login")
        verbose_name_plural = _("failed logins")
        constraints = [
            models.UniqueConstraint(
                fields=["username", "ip_address"], name="login_attempt_unique", nulls_distinct=False
            )
        ]
        indexes = [models.Index(fields=["ip_address"], name="login_attempt_address")]

    def __str__(self) -> str:
        return f"{self.username} ({self.ip_address or '–'})"


class LoginSession(models.Model):
    """One login of a browser: what its owner recognises it by. Whether it still counts, Django's session knows.

    `network`: by which attempts from its address are counted (`get_client_network`).
    """

    user = models.ForeignKey(User, verbose_name=_("user"), on_delete=models.CASCADE, related_name="login_sessions")
    session_key = models.CharField(max_length=40, unique=True, editable=False)
    address = models.GenericIPAddressField(_("IP address"), null=True, blank=True)
    network = models.GenericIPAddressField(null=True, blank=True, editable=False)
    user_agent = models.CharField(_("browser"), max_length=300, blank=True, default="")
    created_at = models.DateTimeField(_("created at"))
    last_used_at = models.DateTimeField(_("last used at"))

    class Meta:
        verbose_name = _("login session")
        verbose_name_plural = _("login sessions")

    def __str__(self) -> str:
        return f"{self.user_id}: {self.created_at:%Y-%m-%d %H:%M}"


class ErasureRecord(models.Model):
    """That something was erased, so that it is erased again when an older backup is restored (R3).

    `subject` is a digest under the installation's key, `key` says under which (`apps.accounts.services.ledger`): who
    or what it was cannot be read from it. It refers to nobody, and outlives those whom it is about.
    """

    class Kind(models.TextChoices):
        PERSON = "person", _("what was remembered about a person")
        ACCOUNT = "account", _("account")
        SESSION = "session", _("conversation")
        SPACE = "space", _("space")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    subject = models.CharField(_("digest"), max_length=64)
    key = models.CharField(_("fingerprint of the key"), max_length=16)
    at = models.DateTimeField(_("erased at"))

    class Meta:
        db_table = "erasure_record"
        verbose_name = _("erasure record")
        verbose_name_plural = _("erasure records")

    def __str__(self) -> str:
        return f"{self.kind} {self.subject[:12]}"
