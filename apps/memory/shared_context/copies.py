"""Copies of a deleted memory in shared contexts (L6)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from apps.accounts.models import User
from apps.core.text.traces import Traces
from apps.memory.copies import CopyHolder, MemoryCopy
from apps.memory.history.selectors import list_recorded
from apps.memory.history.services import empty_history, forget_history
from apps.memory.models import Change, ContextEntry, SharedContext

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
