"""Reading shared contexts."""

from __future__ import annotations

from itertools import groupby
from uuid import UUID

from django.db.models import Prefetch, QuerySet

from apps.accounts.models import User
from apps.core.db import fetch_prepared
from apps.core.errors import NotFound
from apps.memory.models import ContextEntry, SharedContext
from apps.memory.shared_context.types import ContextEntrySnapshot, ContextSnapshot

_ENTRIES = Prefetch("entries", ContextEntry.objects.order_by("position"))

_OF_SESSION = """
SELECT context.id, title, content, author, text, entry.created_at
FROM (
    SELECT id, title, content, updated_at
    FROM shared_context
    WHERE user_id = %(user)s AND session_id = %(session)s
    ORDER BY updated_at DESC, id DESC
    LIMIT %(limit)s
) AS context LEFT JOIN context_entry AS entry ON context_id = context.id
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
