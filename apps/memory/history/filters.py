"""What a list of changes can be narrowed by."""

from __future__ import annotations

import django_filters  # type: ignore[import-untyped]

from apps.memory.models import Change


class ChangeFilter(django_filters.FilterSet):
    """`object_id`, `operation`, `message_id`, `kind`, `action`, `origin`."""

    object_id = django_filters.UUIDFilter()
    operation = django_filters.UUIDFilter()
    message_id = django_filters.UUIDFilter()
    kind = django_filters.ChoiceFilter(choices=Change.Kind.choices)
    action = django_filters.ChoiceFilter(choices=Change.Action.choices)
    origin = django_filters.ChoiceFilter(choices=Change.Origin.choices)

    class Meta:
        model = Change
        fields = ("object_id", "operation", "message_id", "kind", "action", "origin")
