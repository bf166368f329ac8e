"""Applications that somebody has connected by OAuth; their tokens are in the tables of django-oauth-toolkit."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


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
