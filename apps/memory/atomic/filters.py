"""What a list of atomic memories can be narrowed and ordered by (SPEC, API)."""

from __future__ import annotations

import django_filters  # type: ignore[import-untyped]
from django.db.models import QuerySet

from apps.core.filtering import StableOrderingFilter
from apps.core.parsing import refuse_forbidden
from apps.memory.atomic.selectors import search_content
from apps.memory.listing import StatusListFilter, TimeFilter
from apps.memory.models import AtomicMemory

ORDERINGS = {"create_time": "created_at", "updated_at": "updated_at", "timestamp": "timestamp"}


class AtomicMemoryFilter(django_filters.FilterSet):
    """`status` (active by default), `muted`, `search`, `since`, `until`, `tags`, `session_id`, `ordering`."""

    status = StatusListFilter(lookup_expr="in", label="Comma-separated statuses, or all; active by default.")
    muted = django_filters.BooleanFilter()
    search = django_filters.CharFilter(method="filter_search", label="Search memories")
    since = TimeFilter(field_name="timestamp", lookup_expr="gte", label="Mentioned at this time or later (ISO 8601).")
    until = TimeFilter(field_name="timestamp", lookup_expr="lte", label="Mentioned at this time or earlier (ISO 8601).")
    tags = django_filters.CharFilter(method="filter_tags", label="Comma-separated tags that a memory must all have.")
    session_id = django_filters.UUIDFilter()
    ordering = StableOrderingFilter(fields=ORDERINGS)

    class Meta:
        model = AtomicMemory
        fields = ("status", "muted", "search", "since", "until", "tags", "session_id", "ordering")

    def filter_search(self, queryset: QuerySet[AtomicMemory], name: str, value: str) -> QuerySet[AtomicMemory]:
        refuse_forbidden(value)
        return search_content(queryset, value) if value.strip() else queryset

    def filter_tags(self, queryset: QuerySet[AtomicMemory], name: str, value: str) -> QuerySet[AtomicMemory]:
        refuse_forbidden(value)
        return queryset.filter(tags__contains=[tag.strip() for tag in value.split(",") if tag.strip()])
