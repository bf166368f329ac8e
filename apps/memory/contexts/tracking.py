"""What the audit record keeps of a shared context (L7), and copies of deleted memories in contexts (L6).

A context is not undone: one that should not be is deleted, with what others have added to it. That an entry was
appended needs no record, as each carries its author and time; that one was withdrawn, or is back, has one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.core.text.grounding import Traces
from apps.memory.changes.records import TrackedKind, empty_history, forget_history, list_recorded
from apps.memory.changes.types import ChangeDraft, Snapshot
from apps.memory.contexts.reading import measure_contexts
from apps.memory.contexts.types import MAX_CONTEXT_BYTES
from apps.memory.copies import CopyHolder, MemoryCopy
from apps.memory.models import Change, ContextEntry, SharedContext


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


def _read_contexts(user: User, ids: Collection[UUID]) -> Mapping[UUID, SharedContext]:
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


KIND = TrackedKind(lock=_lock, read=_read_contexts, snapshot=snapshot, restore=_refuse)
ENTRIES = TrackedKind(lock=_lock_entries, read=_read_entries, snapshot=snapshot_entry, restore=_restore_entries)


REMOVED = "…"
"""What stands where nothing is left: a title, a content and an entry are never blank."""


def _find(*, user: User, traces: Traces) -> Iterator[MemoryCopy]:
    contexts = SharedContext.objects.filter(user=user).order_by("-created_at", "-id")
    for context in contexts:
        for field in ("title", "content"):
            for text in traces.cut_from(getattr(context, field)).removed:
                yield MemoryCopy(kind="context", id=context.id, field=field, text=text)
    entries = ContextEntry.objects.filter(user=user).order_by("context", "position")
    for context_id, entry in entries.values_list("context", "text"):
        for text in traces.cut_from(entry).removed:
            yield MemoryCopy(kind="context", id=context_id, field="entry", text=text)


def _remove(*, user: User, traces: Traces, now: datetime) -> None:
    changed = set()
    contexts = SharedContext.objects.filter(user=user).order_by("id").select_for_update(no_key=True)
    for context in contexts:
        title, content = traces.cut_from(context.title), traces.cut_from(context.content)
        if title.removed or content.removed:
            context.title, context.content = title.text or REMOVED, content.text or REMOVED
            context.updated_at = now
            context.save(update_fields=["title", "content", "updated_at"])
            changed.add(context.id)
    for entry in ContextEntry.objects.filter(user=user).order_by("context", "position"):
        cut = traces.cut_from(entry.text)
        if cut.removed:
            entry.text = cut.text or REMOVED
            entry.save(update_fields=["text"])
            changed.add(entry.context_id)
    recorded = list_recorded(user=user, kind=Change.Kind.ENTRY, where=traces.stand_in)
    empty_history(user=user, kind=Change.Kind.ENTRY, object_ids=recorded)
    changed |= list_recorded(user=user, kind=Change.Kind.CONTEXT, where=traces.stand_in)
    forget_history(user=user, kind=Change.Kind.CONTEXT, object_ids=changed, now=now)


HOLDER = CopyHolder(find=_find, remove=_remove)
