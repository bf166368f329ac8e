"""What a list of long-term memories can be narrowed and ordered by (SPEC, API)."""

from __future__ import annotations

import django_filters  # type: ignore[import-untyped]
from django.db.models import QuerySet

from apps.core.filtering import StableOrderingFilter
from apps.core.parsing import refuse_forbidden
from apps.memory.listing import StatusListFilter
from apps.memory.long_term.selectors import search_text
from apps.memory.models import Category, LongTermMemory, Source

ORDERINGS = ("created_at", "updated_at", "last_accessed", "access_count", "confidence", "key")


class LongTermMemoryFilter(django_filters.FilterSet):
    """`category`, `source`, `status` (active by default; a comma list or `all`), `muted`, `search`, `ordering`."""

    category = django_filters.ChoiceFilter(choices=Category.choices)
    source = django_filters.ChoiceFilter(choices=Source.choices)
    status = StatusListFilter(lookup_expr="in", label="Comma-separated statuses, or all; active by default.")
    muted = django_filters.BooleanFilter()
    search = django_filters.CharFilter(method="filter_search", label="Search memories")
    ordering = StableOrderingFilter(fields=ORDERINGS)

    class Meta:
        model = LongTermMemory
        fields = ("category", "source", "status", "muted", "search", "ordering")

    def filter_search(self, queryset: QuerySet[LongTermMemory], name: str, value: str) -> QuerySet[LongTermMemory]:
        refuse_forbidden(value)
        return search_text(queryset, value) if value.strip() else queryset
