"""What the audit record keeps of a shared context (L7): that it was made, with what, and that it was deleted.

Entries need no record: they are only ever appended, and each carries its author and time. Nothing is undone here: a
context that should not be is deleted, with what others have added to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.memory.history.kinds import TrackedKind
from apps.memory.history.types import ChangeDraft, Snapshot
from apps.memory.models import Change, SharedContext


def snapshot(context: SharedContext) -> Snapshot:
    """Return what a context was made with."""
    return {"title": context.title, "content": context.content}


def describe_creation(context: SharedContext) -> ChangeDraft:
    """Return the record of a new context."""
    return ChangeDraft(
        kind=Change.Kind.CONTEXT,
        action=Change.Action.CREATE,
        object_id=context.id,
        before=None,
        after=snapshot(context),
    )


def _lock(_user: User) -> None:
    """Nothing is restored, so nobody has to be kept out."""


def _read(user: User, ids: Collection[UUID]) -> Mapping[UUID, SharedContext]:
    return SharedContext.objects.filter(user=user).in_bulk(list(ids))


def _refuse(*, user: User, rows: Sequence[tuple[SharedContext, Snapshot | None]], now: datetime) -> None:
    raise Conflict("Changes to a shared context cannot be undone. Delete the context instead.")


KIND = TrackedKind(lock=_lock, read=_read, snapshot=snapshot, restore=_refuse)
