"""Reading shared contexts, and how many bytes of their room they take (X3)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from itertools import groupby
from uuid import UUID

from django.db.models import Func, IntegerField, Prefetch, QuerySet, Sum

from apps.accounts.models import User
from apps.core.db import fetch_prepared
from apps.core.errors import NotFound
from apps.memory.changes.records import find_states_since
from apps.memory.contexts.types import ContextEntrySnapshot, ContextSnapshot
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


_ENTRIES = Prefetch("entries", ContextEntry.objects.filter(withdrawn=False).order_by("position"))

_OF_SESSION = """
SELECT context.id, title, content, author, text, entry.created_at
FROM (
    SELECT id, title, content, updated_at
    FROM shared_context
    WHERE user_id = %(user)s AND session_id = %(session)s
    ORDER BY updated_at DESC, id DESC
    LIMIT %(limit)s
) AS context LEFT JOIN context_entry AS entry ON context_id = context.id AND NOT withdrawn
ORDER BY context.updated_at DESC, context.id DESC, position
"""


def list_contexts(user: User) -> QuerySet[SharedContext]:
    """Return the person's contexts with their entries, newest first."""
    return SharedContext.objects.filter(user=user).prefetch_related(_ENTRIES).order_by("-created_at", "-id")


def get_context(user: User, context_id: UUID) -> SharedContext:
    """Return the context with its entries, or raise `NotFound` for none and for another person's."""
    context = list_contexts(user).filter(id=context_id).first()
    if context is None:
        raise NotFound("This context does not exist.")
    return context


def list_entries_at(user: User, context_ids: Collection[UUID], *, at: datetime) -> dict[UUID, list[ContextEntry]]:
    """Return the entries of contexts, by context and in order, that were not withdrawn at a time; two queries.

    Those that were added later are among them: they come last.
    """
    found: dict[UUID, list[ContextEntry]] = {context_id: [] for context_id in context_ids}
    entries = list(ContextEntry.objects.filter(user=user, context__in=context_ids).order_by("context", "position"))
    states = find_states_since(user=user, object_ids=[entry.id for entry in entries], since=at)
    for entry in entries:
        state = states.get(entry.id)
        if not (entry.withdrawn if state is None else state["withdrawn"]):
            found[entry.context_id].append(entry)
    return found


def list_session_contexts(user: User, session_id: UUID, *, limit: int = 3) -> list[ContextSnapshot]:
    """Return the contexts of a session that were written last, newest first, at most `limit`; one query."""
    rows = fetch_prepared(_OF_SESSION, {"user": user.pk, "session": session_id, "limit": limit})
    return [
        ContextSnapshot(
            id=context_id,
            title=title,
            content=content,
            entries=[
                ContextEntrySnapshot(author=author, text=text, created_at=created_at)
                for *_context, author, text, created_at in group
                if text is not None
            ],
        )
        for (context_id, title, content), group in groupby(rows, key=lambda row: row[:3])
    ]
