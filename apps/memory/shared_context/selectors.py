"""Reading shared contexts."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from itertools import groupby
from uuid import UUID

from django.db.models import Prefetch, QuerySet

from apps.accounts.models import User
from apps.core.db import fetch_prepared
from apps.core.errors import NotFound
from apps.memory.history.selectors import find_states_since
from apps.memory.models import ContextEntry, SharedContext
from apps.memory.shared_context.types import ContextEntrySnapshot, ContextSnapshot

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
