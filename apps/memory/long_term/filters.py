"""What a list of long-term memories can be narrowed and ordered by (SPEC, API)."""

from __future__ import annotations

from typing import Any

import django_filters  # type: ignore[import-untyped]
from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from apps.core.parsing import refuse_forbidden
from apps.memory.long_term.selectors import search_text
from apps.memory.models import Category, LongTermMemory, Source, Status

ALL = "all"
ORDERINGS = ("created_at", "updated_at", "last_accessed", "access_count", "confidence", "key")


class StatusListField(forms.CharField):
    """A comma list of statuses, or `all`."""

    def clean(self, value: Any) -> list[str]:
        names = (value or Status.ACTIVE).split(",")
        if names == [ALL]:
            return list(Status.values)
        if unknown := [name for name in names if name not in Status.values]:
            raise ValidationError(f"{unknown[0]} is none of: {', '.join([*Status.values, ALL])}.")
        return names


class StatusListFilter(django_filters.Filter):
    field_class = StatusListField


class StableOrderingFilter(django_filters.OrderingFilter):
    """Orders equal rows by ID, so that pages neither repeat nor skip any."""

    def filter(self, qs: QuerySet[LongTermMemory], value: list[str] | None) -> QuerySet[LongTermMemory]:
        return qs.order_by(*value, "-id") if value else qs


class LongTermMemoryFilter(django_filters.FilterSet):
    """`category`, `source`, `status` (active by default; a comma list or `all`), `search`, `ordering`."""

    category = django_filters.ChoiceFilter(choices=Category.choices)
    source = django_filters.ChoiceFilter(choices=Source.choices)
    status = StatusListFilter(lookup_expr="in", label="A comma list of statuses, or all; active by default.")
    search = django_filters.CharFilter(method="filter_search", label="Words of key or value, Chinese too.")
    ordering = StableOrderingFilter(fields=ORDERINGS)

    class Meta:
        model = LongTermMemory
        fields = ("category", "source", "status", "search", "ordering")

    def filter_search(self, queryset: QuerySet[LongTermMemory], name: str, value: str) -> QuerySet[LongTermMemory]:
        refuse_forbidden(value)
        return search_text(queryset, value) if value.strip() else queryset
