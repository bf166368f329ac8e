"""Figures beside accounts."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, QuerySet, Subquery
from django.db.models.functions import Coalesce


def count_per(rows: QuerySet[Any], *, by: str = "user") -> Coalesce:
    """An expression: how many of the rows there are that a condition of theirs, on the field `by`, ties to the outer
    row.
    """
    return Coalesce(Subquery(rows.order_by().values(by).annotate(n=Count("*")).values("n")), 0)
