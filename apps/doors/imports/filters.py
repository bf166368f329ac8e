"""What the items of an import can be narrowed by."""

from __future__ import annotations

import django_filters  # type: ignore[import-untyped]

from apps.doors.models import ImportItem


class ImportItemFilter(django_filters.FilterSet):
    """`state`."""

    state = django_filters.ChoiceFilter(choices=ImportItem.State.choices)

    class Meta:
        model = ImportItem
        fields = ("state",)
