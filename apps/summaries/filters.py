"""What a list of session summaries can be ordered by (SPEC, API)."""

from __future__ import annotations

import django_filters  # type: ignore[import-untyped]

from apps.core.filtering import StableOrderingFilter
from apps.summaries.models import SessionSummary


class SessionSummaryFilter(django_filters.FilterSet):
    """`ordering`."""

    ordering = StableOrderingFilter(fields=("created_at", "updated_at"))

    class Meta:
        model = SessionSummary
        fields = ("ordering",)
