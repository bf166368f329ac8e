"""Reading the audit record (L7)."""

from __future__ import annotations

from django.db.models import QuerySet

from apps.accounts.models import User
from apps.memory.models import Change


def list_changes(user: User) -> QuerySet[Change]:
    """Return the changes of what is remembered of a person, newest first."""
    return Change.objects.filter(user=user).select_related("actor").order_by("-id")
