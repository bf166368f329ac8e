"""Whose figures the overview shows, and of which days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any

from django.db.models import Model, QuerySet

from apps.accounts.models import User

PERIODS = (30, 90)
"""Days that the charts over time can show."""


@dataclass(frozen=True, slots=True)
class Scope:
    """One person's figures, or everybody's where `user` is None; the last `days` days as `zone` counts them."""

    user: User | None
    zone: tzinfo
    today: date
    days: int

    def rows(self, model: type[Model]) -> QuerySet[Any]:
        """The rows of a table that count, in no order."""
        rows = model._default_manager.order_by()
        return rows if self.user is None else rows.filter(user=self.user)

    @property
    def since(self) -> datetime:
        """The beginning of the first day."""
        return datetime.combine(self.list_days()[0], time.min, tzinfo=self.zone)

    def list_days(self) -> list[date]:
        """Every day of the period, today last."""
        return [self.today - timedelta(days=ago) for ago in range(self.days - 1, -1, -1)]
