"""The atomic memories that one recording makes and changes, written at once with their audit records (L7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from uuid import UUID

from apps.accounts.models import User
from apps.memory.atomic.audit import describe_change, snapshot
from apps.memory.atomic.text import TEXT_FIELDS, set_content
from apps.memory.atomic.types import ExtractedMemory
from apps.memory.atomic.validation import MAX_TAGS
from apps.memory.embeddings.memories import MemoryKind, write_embeddings
from apps.memory.history.services import record_changes
from apps.memory.history.types import ChangeDraft, Snapshot
from apps.memory.models import AtomicMemory, Change, Status

_CHANGED_FIELDS = (
    "tags",
    "status",
    "superseded_by",
    "updated_at",
    "timestamp",
    "event_start",
    "event_end",
    "message",
    "session",
)


class MemoryWriter:
    """Changes a person's memories in Python until `save`. `group`: the operation that a change is part of."""

    def __init__(self, user: User, *, now: datetime) -> None:
        self._user, self._now = user, now
        self._new: list[AtomicMemory] = []
        self._changes: dict[tuple[UUID, str], ChangeDraft] = {}
        self._touched: dict[UUID, AtomicMemory] = {}
        self._rewritten: dict[UUID, AtomicMemory] = {}

    def create(
        self, draft: ExtractedMemory, *, status: Status, group: str, superseded_by: AtomicMemory | None = None
    ) -> AtomicMemory:
        """Make a memory of a draft."""
        memory = AtomicMemory(
            superseded_by=superseded_by,
            user=self._user,
            session_id=draft.session_id,
            message_id=draft.message_id,
            tags=list(draft.tags),
            timestamp=draft.said_at,
            event_start=draft.event_start,
            event_end=draft.event_end,
        )
        return self._insert(memory, draft.content, status=status, group=group)

    def take_over(self, row: AtomicMemory, content: str, *, group: str) -> AtomicMemory:
        """Make an active memory of what of an ended one still holds: from where, and of when, that was."""
        memory = AtomicMemory(
            user=self._user,
            session_id=row.session_id,
            message_id=row.message_id,
            tags=list(row.tags),
            timestamp=row.timestamp,
        )
        return self._insert(memory, content, status=Status.ACTIVE, group=group)

    def refresh(self, row: AtomicMemory, draft: ExtractedMemory, *, group: str) -> None:
        """Take note that a memory was said again: it gets the draft's tags, too."""
        with self._change(row, Change.Action.REFRESH, group=group):
            row.tags = _join_tags(row, draft)

    def merge(self, row: AtomicMemory, draft: ExtractedMemory, *, content: str, group: str) -> None:
        """Make `content`, in which both are, that of a memory; of the two it is told when and where the later was."""
        with self._change(row, Change.Action.MERGE, group=group):
            set_content(row, content)
            row.tags = _join_tags(row, draft)
            if draft.event_start:
                row.event_start, row.event_end = draft.event_start, draft.event_end
            if draft.said_at >= row.timestamp:
                row.timestamp, row.message_id, row.session_id = draft.said_at, draft.message_id, draft.session_id
        self._rewritten[row.id] = row

    def supersede(self, row: AtomicMemory, *, by: AtomicMemory, group: str) -> None:
        """End a memory."""
        with self._change(row, Change.Action.SUPERSEDE, group=group):
            row.status, row.superseded_by = Status.SUPERSEDED, by

    def save(self) -> list[AtomicMemory]:
        """Write everything with one INSERT and one UPDATE, vectors and records besides; return what was touched."""
        AtomicMemory.objects.bulk_create(self._new)
        made = {row.id for row in self._new}
        changed = [row for row in self._touched.values() if row.id not in made]
        if changed:
            AtomicMemory.objects.bulk_update(changed, list(_CHANGED_FIELDS))
        if rewritten := [row for row in changed if row.id in self._rewritten]:
            AtomicMemory.objects.bulk_update(rewritten, list(TEXT_FIELDS))
        texts = {row.id: row.content for row in self._rewritten.values()}
        write_embeddings(user=self._user, kind=MemoryKind.ATOMIC, texts=texts)
        record_changes(user=self._user, changes=list(self._changes.values()), now=self._now)
        return list(self._touched.values())

    def _insert(self, memory: AtomicMemory, content: str, *, status: Status, group: str) -> AtomicMemory:
        memory.status, memory.create_time, memory.updated_at = status, self._now, self._now
        set_content(memory, content)
        self._new.append(memory)
        self._rewritten[memory.id] = memory
        self._note(memory, Change.Action.CREATE, before=None, group=group)
        return memory

    @contextmanager
    def _change(self, row: AtomicMemory, action: Change.Action, *, group: str) -> Iterator[None]:
        before = snapshot(row)
        yield
        row.updated_at = self._now
        self._note(row, action, before=before, group=group)

    def _note(self, row: AtomicMemory, action: Change.Action, *, before: Snapshot | None, group: str) -> None:
        """Note a change that was made to a row: what one operation does to it in several steps is one change."""
        first = self._changes.get((row.id, group))
        if first is not None:
            before = first.before
            action = Change.Action.CREATE if first.action == Change.Action.CREATE else action
        self._touched[row.id] = row
        self._changes[row.id, group] = describe_change(row, action=action, before=before, group=group)


def _join_tags(row: AtomicMemory, draft: ExtractedMemory) -> Sequence[str]:
    return list(dict.fromkeys([*row.tags, *draft.tags]))[:MAX_TAGS]
