"""What the audit record keeps of a shared context (L7): that it was made, with what, and that it was deleted.

A context is not undone: one that should not be is deleted, with what others have added to it. That an entry was
appended needs no record, as each carries its author and time; that one was withdrawn, or is back, has one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.memory.history.kinds import TrackedKind
from apps.memory.history.types import ChangeDraft, Snapshot
from apps.memory.models import Change, ContextEntry, SharedContext
from apps.memory.shared_context.sizes import measure_contexts
from apps.memory.shared_context.types import MAX_CONTEXT_BYTES


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


def snapshot_entry(entry: ContextEntry) -> Snapshot:
    """Return what an entry says, of which context, and whether it is withdrawn."""
    return {
        "context": str(entry.context_id),
        "author": entry.author,
        "text": entry.text,
        "withdrawn": entry.withdrawn,
    }


def _lock_entries(_user: User) -> None:
    """Reading locks: writers of a context hold its row, so only those of the contexts in question have to wait."""


def _read_entries(user: User, ids: Collection[UUID]) -> Mapping[UUID, ContextEntry]:
    entries = ContextEntry.objects.filter(user=user, id__in=ids)
    contexts = SharedContext.objects.filter(user=user, id__in=entries.values("context_id")).order_by("id")
    held = list(contexts.select_for_update(no_key=True))
    return entries.filter(context__in=held).select_related("context").in_bulk()


def _restore_entries(*, user: User, rows: Sequence[tuple[ContextEntry, Snapshot | None]], now: datetime) -> None:
    """Withdraw entries or bring them back; the others of their contexts, and the order, stay as they are."""
    for entry, before in rows:
        entry.withdrawn = before is None or before["withdrawn"]
    entries = [entry for entry, _before in rows]
    ContextEntry.objects.bulk_update(entries, ["withdrawn"], batch_size=500)
    contexts = {entry.context_id for entry in entries}
    SharedContext.objects.filter(user=user, id__in=contexts).update(updated_at=now)
    returned = {entry.context_id for entry in entries if not entry.withdrawn}
    if any(size > MAX_CONTEXT_BYTES for size in measure_contexts(returned).values()):
        raise Conflict("The shared context no longer has room for what would come back.")


KIND = TrackedKind(lock=_lock, read=_read, snapshot=snapshot, restore=_refuse)
ENTRIES = TrackedKind(lock=_lock_entries, read=_read_entries, snapshot=snapshot_entry, restore=_restore_entries)
