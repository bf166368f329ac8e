"""What further doors keep besides the conversation itself.

Tokens of applications connected by OAuth are in the tables of django-oauth-toolkit.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.conversations.models import Message


class StoredResponse(models.Model):
    """A response of ``/v1/responses`` that a later request may continue (T3). Its reply is the message of the same ID.

    `message`: that of the user which it answers. `previous`: the response that it continues. `exchange`: chat messages
    between the user's message and the reply, as far as no earlier response of the same message holds them: the calls
    of the client's tools and their results.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="stored_responses"
    )
    message = models.ForeignKey(
        Message, verbose_name=_("message"), on_delete=models.CASCADE, related_name="stored_responses"
    )
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

    def __str__(self) -> str:
        return str(self.id)


class ConnectedApp(models.Model):
    """An application that may use a person's memory, from their consent until they or it revoke it."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="connected_apps"
    )
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
