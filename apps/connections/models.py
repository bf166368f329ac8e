"""Model servers that administrators connected in the panel, and the models that are used of them."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.connections.types import MAX_MODEL_CHARS, MAX_NAME_CHARS, MAX_SERVER_CHARS, MAX_URL_CHARS


class ModelServer(models.Model):
    """An OpenAI-compatible server. `encrypted_key` is written, and never shown, logged or exported."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(_("name"), max_length=MAX_SERVER_CHARS, unique=True)
    base_url = models.CharField(_("URL"), max_length=MAX_URL_CHARS)
    encrypted_key = models.TextField(blank=True, default="", editable=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "model_server"
        verbose_name = _("model server")
        verbose_name_plural = _("model servers")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ModelKind(models.TextChoices):
    CHAT = "chat", _("chat")
    EMBEDDING = "embedding", _("embedding")


class ConnectedModel(models.Model):
    """A model of a server. `name` is what it is called here, `model` what its server calls it.

    The default one of its kind answers wherever no other is named; without one that of the environment does.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    server = models.ForeignKey(
        ModelServer, verbose_name=_("model server"), on_delete=models.CASCADE, related_name="models"
    )
    kind = models.CharField(_("kind"), max_length=10, choices=ModelKind.choices)
    name = models.CharField(_("name"), max_length=MAX_NAME_CHARS)
    model = models.CharField(_("model"), max_length=MAX_MODEL_CHARS)
    is_default = models.BooleanField(_("default"), default=False)

    class Meta:
        db_table = "connected_model"
        verbose_name = _("connected model")
        verbose_name_plural = _("connected models")
        ordering = ["kind", "name"]
        constraints = [
            models.UniqueConstraint(fields=["kind", "name"], name="connected_model_name"),
            models.UniqueConstraint(
                fields=["kind"], condition=models.Q(is_default=True), name="connected_model_one_default"
            ),
        ]

    def __str__(self) -> str:
        return self.name
