"""How many bytes of its room a shared context takes (X3)."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db.models import Func, IntegerField, Sum

from apps.memory.models import ContextEntry, SharedContext


def measure_contexts(ids: Collection[UUID]) -> dict[UUID, int]:
    """Return the bytes of content and entries of contexts, by ID; withdrawn entries take no room. Two queries."""
    if not ids:
        return {}
    sizes = dict(SharedContext.objects.filter(id__in=ids).order_by().values_list("id", byte_length("content")))
    entries = ContextEntry.objects.filter(context__in=ids, withdrawn=False).order_by().values("context")
    for row in entries.annotate(size=Sum(byte_length("text"))):
        sizes[row["context"]] += row["size"]
    return sizes


def byte_length(field: str) -> Func:
    """The bytes of a text in UTF-8, as PostgreSQL counts them."""
    return Func(field, function="octet_length", output_field=IntegerField())
