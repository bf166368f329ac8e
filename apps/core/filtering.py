"""Order lists over REST."""

from __future__ import annotations

from typing import Any

import django_filters  # type: ignore[import-untyped]
from django.db.models import QuerySet


class StableOrderingFilter(django_filters.OrderingFilter):
    """Order equal rows by ID, so that pages neither repeat nor skip any."""

    def __init__(self, **options: Any) -> None:
        super().__init__(label="With a minus, descending.", **options)

    def filter(self, qs: QuerySet[Any], value: list[str] | None) -> QuerySet[Any]:
        return qs.order_by(*map(self.get_ordering_value, value), "-id") if value else qs


class TimesFilter(django_filters.FilterSet):
    """Order by when rows were made or last changed."""

    ordering = StableOrderingFilter(fields=("created_at", "updated_at"))
