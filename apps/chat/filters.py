"""What a list of sessions can be narrowed to."""

from __future__ import annotations

import django_filters  # type: ignore[import-untyped]

from apps.conversations.models import Session


class SessionFilter(django_filters.FilterSet):
    """`pinned` and `archived`; without them the list has all sessions (SPEC, API)."""

    pinned = django_filters.BooleanFilter(label="Only pinned sessions, or only others.")
    archived = django_filters.BooleanFilter(label="Only archived sessions, or only others.")

    class Meta:
        model = Session
        fields = ("pinned", "archived")
