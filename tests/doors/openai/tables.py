"""What the database holds, for tests that nothing was stored."""

from __future__ import annotations

from django.apps import apps


def count_rows() -> dict[str, int]:
    """The number of rows of every table."""
    return {model._meta.label: model._default_manager.count() for model in apps.get_models()}
