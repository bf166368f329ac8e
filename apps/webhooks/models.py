"""Webhooks, and the outbox of what is to be sent to them (docs/webhooks.md)."""

from __future__ import annotations

import uuid
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Space
from apps.core.json import ReadableJSONEncoder
from apps.core.same_owner import share_owner


class Event(models.TextChoices):
    MEMORY_CHANGED = "memory.changed", _("A memory changed")
    REVIEW_WAITING = "review.waiting", _("Something waits for review")
    PERSON_ERASED = "person.erased", _("A person was erased")


# Sent by hand, whatever events a hook asks for.
TEST = "webhook.test"


def check_url(url: str) -> None:
    """Refuse what is not the address of a program: the host may be any, as what may be reached is a setting."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.username is None and parts.port != 0
    except ValueError:
        fits = False
    if not fits or not url.isascii() or not url.isprintable() or " " in url:
        raise ValidationError(_("Must be an address that begins with http:// or https://."))


class Webhook(models.Model):
    """An address that receives events of `user` and, where that is a service, of its end users; None: of everybody.

    `space`: only of what is in it. `failing_since`: when deliveries began to fail, None while the last one succeeded;
    nothing is sent before `retry_at` then. `last_result`: as `apps.webhooks.sending.send` names it. The secret is shown
    once, when it is made.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="webhooks",
        help_text=_("A service receives the events of its end users. Empty: events of everybody."),
    )
    space = models.ForeignKey(
        Space,
        verbose_name=_("space"),
        null=True,
        blank=True,
        db_constraint=False,
        on_delete=models.CASCADE,
        related_name="+",
    )
    url = models.CharField(_("URL"), max_length=500, validators=[check_url])
    events = ArrayField(models.CharField(max_length=20, choices=Event.choices), verbose_name=_("events"))
    enabled = models.BooleanField(_("enabled"), default=True)
    encrypted_secret = models.TextField(editable=False)
    failing_since = models.DateTimeField(null=True, editable=False)
    retry_at = models.DateTimeField(null=True, editable=False)
    last_result = models.CharField(max_length=40, blank=True, default="", editable=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "webhook"
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        ordering = ["created_at", "id"]
        constraints = share_owner("webhook", "space")

    def __str__(self) -> str:
        return str(self.id)  # a URL may name somebody, and a log holds no text (R3)


class Delivery(models.Model):
    """An event for one hook, written in the transaction of the change. Its ID is the ``webhook-id`` of all attempts.

    `person`: whom it is about and with whom it is erased, None for an erasure and a test. `due_at`: when it is sent
    next, None once it was delivered or given up; `data` is empty then. The foreign key of `webhook` is not checked, so
    that deleting a hook never fails a change.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    webhook = models.ForeignKey(Webhook, db_constraint=False, on_delete=models.CASCADE, related_name="deliveries")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    event = models.CharField(max_length=20)
    data = models.JSONField(encoder=ReadableJSONEncoder, default=dict)
    attempts = models.PositiveSmallIntegerField(default=0)
    result = models.CharField(max_length=40, blank=True, default="")
    due_at = models.DateTimeField(null=True)
    delivered_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "webhook_delivery"
        verbose_name = _("webhook delivery")
        verbose_name_plural = _("webhook deliveries")
        indexes = [
            models.Index(fields=["webhook", "-created_at"], name="webhook_delivery_list"),
            models.Index(fields=["due_at"], name="webhook_delivery_due", condition=models.Q(due_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return str(self.id)
