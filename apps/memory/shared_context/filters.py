"""What a list of shared contexts can be ordered by (SPEC, API)."""

from __future__ import annotations

import django_filters  # type: ignore[import-untyped]

from apps.core.filtering import StableOrderingFilter
from apps.memory.models import SharedContext


class SharedContextFilter(django_filters.FilterSet):
    """`ordering`."""

    ordering = StableOrderingFilter(fields=("created_at", "updated_at"))

    class Meta:
        model = SharedContext
        fields = ("ordering",)
