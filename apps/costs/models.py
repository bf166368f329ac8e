"""What models cost (Q1, Q2): the ledger of their calls, their prices, and how much a month may cost."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

MAX_MODEL_CHARS = 200
MAX_CURRENCY_CHARS = 12


class ModelCall(models.Model):
    """A call of a model, or the sum of several. Holds figures only, never a text.

    `calls` is 1, except in sums: of old calls, and those that an erasure leaves, which belong to nobody. There is one a
    day, person, service, job and model, dated at noon (UTC). `service`: whose end user it was for (T4). `estimated`:
    the server did not count. `ms`: how long it took; of a call for several people each has a share of the time and of
    the tokens.
    """

    class Job(models.TextChoices):
        REPLY = "reply", _("Replies")
        TOOL_ROUND = "tool_round", _("Tool calls")
        EXTRACTION = "extraction", _("Extraction")
        SUMMARY = "summary", _("Summaries")
        EMBEDDING = "embedding", _("Embeddings")
        TIDYING = "tidying", _("Tidying up")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        null=True,
        db_index=False,
        on_delete=models.SET_NULL,
        related_name="model_calls",
    )
    service = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("service"),
        null=True,
        db_index=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    job = models.CharField(_("job"), max_length=12, choices=Job.choices)
    model = models.CharField(_("model"), max_length=MAX_MODEL_CHARS)
    calls = models.PositiveIntegerField(_("calls"), default=1)
    tokens_in = models.PositiveBigIntegerField(_("tokens in"))
    tokens_out = models.PositiveBigIntegerField(_("tokens out"))
    tokens_cached = models.PositiveBigIntegerField(_("cached tokens"), default=0)
    estimated = models.BooleanField(_("estimated"), default=False)
    ms = models.PositiveBigIntegerField(_("milliseconds"))
    created_at = models.DateTimeField(_("created at"))

    class Meta:
        db_table = "model_call"
        verbose_name = _("model call")
        verbose_name_plural = _("model calls")
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["created_at"], name="model_call_created"),
            models.Index(fields=["user", "created_at"], name="model_call_user_created"),
            models.Index(
                fields=["service", "created_at"],
                name="model_call_service_created",
                condition=models.Q(service__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.job} {self.model}"


def _amount(name: Any, **options: Any) -> Any:
    return models.DecimalField(name, max_digits=14, decimal_places=6, validators=[MinValueValidator(0)], **options)


class ModelPrice(models.Model):
    """What a million tokens of a model cost, by the name that the ledger has of it. `cached`: None is as `input`."""

    model = models.CharField(_("model"), max_length=MAX_MODEL_CHARS, primary_key=True)
    input = _amount(_("input"))
    output = _amount(_("output"))
    cached = _amount(_("cached input"), null=True, blank=True)

    class Meta:
        db_table = "model_price"
        verbose_name = _("model price")
        verbose_name_plural = _("model prices")
        ordering = ["model"]

    def __str__(self) -> str:
        return self.model


class CostPlan(models.Model):
    """The one row of what holds for the installation: the currency of all amounts, and monthly budgets, None for none.

    `installation`: for everybody together; `person`: for each person who has no `Budget`.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    currency = models.CharField(_("currency"), max_length=MAX_CURRENCY_CHARS, blank=True, default="")
    installation = _amount(_("installation"), null=True, blank=True)
    person = _amount(_("each person"), null=True, blank=True)

    class Meta:
        db_table = "cost_plan"
        verbose_name = _("cost plan")
        verbose_name_plural = _("cost plans")
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="cost_plan_is_one")]

    def __str__(self) -> str:
        return self.currency


class Budget(models.Model):
    """How much an account may cost a month: a person, or a service with all its end users."""

    account = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        verbose_name=_("account"),
        primary_key=True,
        on_delete=models.CASCADE,
        related_name="budget",
    )
    amount = _amount(_("amount"))

    class Meta:
        db_table = "cost_budget"
        verbose_name = _("budget")
        verbose_name_plural = _("budgets")

    def __str__(self) -> str:
        return str(self.account_id)
