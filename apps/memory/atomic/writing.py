"""The atomic memories that one recording makes and changes, written at once with their audit records (L7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from apps.accounts.models import User
from apps.core.text.clean import clean_text
from apps.core.text.fold import spell_value
from apps.memory.atomic.audit import describe_change, snapshot
from apps.memory.atomic.held_verdicts import HeldVerdict
from apps.memory.atomic.text import TEXT_FIELDS, set_content
from apps.memory.atomic.validation import MAX_TAG_CHARACTERS, MAX_TAGS, find_event_problem
from apps.memory.embeddings.memories import write_embeddings
from apps.memory.history.services import record_changes
from apps.memory.history.types import ChangeDraft, Snapshot
from apps.memory.judging.types import JudgedStatement
from apps.memory.models import AtomicMemory, Change, Status
from apps.memory.types import MemoryKind

_CHANGED_FIELDS = (
    "tags",
    "status",
    "superseded_by",
    "proposal",
    "updated_at",
    "timestamp",
    "event_start",
    "event_end",
    "message",
    "session",
)


class MemoryWriter:
    """Changes a person's memories in Python until `save`. `operation`: what a change is part of, undone as one."""

    def __init__(self, user: User, *, now: datetime) -> None:
        self._user, self._now = user, now
        self._new: list[AtomicMemory] = []
        self._changes: dict[tuple[UUID, UUID], ChangeDraft] = {}
        self._touched: dict[UUID, AtomicMemory] = {}
        self._rewritten: dict[UUID, AtomicMemory] = {}
        self._message: UUID | None = None

    def cause(self, message_id: UUID | None) -> None:
        """Name the message that causes the changes from here on."""
        self._message = message_id

    def create(
        self,
        statement: JudgedStatement,
        *,
        status: Status,
        operation: UUID,
        superseded_by: AtomicMemory | None = None,
        proposal: HeldVerdict | None = None,
    ) -> AtomicMemory:
        """Make a memory of a statement."""
        is_event = find_event_problem(statement.event_start, statement.event_end) is None
        memory = AtomicMemory(
            superseded_by=superseded_by,
            user=self._user,
            session_id=statement.source.session_id,
            message_id=statement.source.message_id,
            tags=_clean_tags(statement.tags),
            timestamp=statement.source.said_at,
            event_start=statement.event_start if is_event else None,
            event_end=statement.event_end if is_event else None,
            proposal=proposal.to_json() if proposal else None,
        )
        return self._insert(memory, statement.content, status=status, operation=operation)

    def keep_left(self, row: AtomicMemory, left: str, *, operation: UUID) -> AtomicMemory:
        """Make an active memory of what of an ended one still holds; it was said where and when that was."""
        memory = AtomicMemory(
            user=self._user,
            session_id=row.session_id,
            message_id=row.message_id,
            tags=list(row.tags),
            timestamp=row.timestamp,
            left_of=row,
        )
        return self._insert(memory, left, status=Status.ACTIVE, operation=operation)

    def refresh(self, row: AtomicMemory, *, tags: Sequence[str], operation: UUID, content: str | None = None) -> None:
        """Take note that a memory was said again: it gets the new tags, and the new `content` if there is one."""
        respelled = content is not None and spell_value(content) != spell_value(row.content)
        with self._change(row, Change.Action.EDIT if respelled else Change.Action.REFRESH, operation=operation):
            row.tags = _join_tags(row, tags)
            if content is not None and respelled:
                set_content(row, content)
                self._rewritten[row.id] = row

    def merge(self, row: AtomicMemory, statement: JudgedStatement, *, content: str, operation: UUID) -> None:
        """Give a memory the `content` that says both; of the two it keeps when and where the later was said."""
        with self._change(row, Change.Action.MERGE, operation=operation):
            set_content(row, content)
            row.tags = _join_tags(row, statement.tags)
            if statement.event_start and find_event_problem(statement.event_start, statement.event_end) is None:
                row.event_start, row.event_end = statement.event_start, statement.event_end
            if statement.source.said_at >= row.timestamp:
                source = statement.source
                row.timestamp, row.message_id, row.session_id = source.said_at, source.message_id, source.session_id
        self._rewritten[row.id] = row

    def end(self, row: AtomicMemory, *, by: AtomicMemory | None, operation: UUID) -> None:
        """End a memory. `by`: what takes its place, if anything does."""
        with self._change(row, Change.Action.SUPERSEDE, operation=operation):
            row.status, row.superseded_by = Status.SUPERSEDED, by

    def end_part(self, row: AtomicMemory, *, left: str, operation: UUID) -> None:
        """Leave of a memory only the sentences that still hold; without any it ends."""
        if not left:
            self.end(row, by=None, operation=operation)
            return
        with self._change(row, Change.Action.EDIT, operation=operation):
            set_content(row, left)
        self._rewritten[row.id] = row

    def accept(
        self, row: AtomicMemory, *, by: AtomicMemory | None = None, ended: bool = False, operation: UUID
    ) -> None:
        """Make a pending memory active; superseded where another one says it (`by`) or it is none itself (`ended`)."""
        with self._change(row, Change.Action.ACCEPT, operation=operation):
            row.status = Status.SUPERSEDED if by or ended else Status.ACTIVE
            row.superseded_by = by

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

    def _insert(self, memory: AtomicMemory, content: str, *, status: Status, operation: UUID) -> AtomicMemory:
        memory.status, memory.create_time, memory.updated_at = status, self._now, self._now
        set_content(memory, content)
        self._new.append(memory)
        self._rewritten[memory.id] = memory
        self._note(memory, Change.Action.CREATE, before=None, operation=operation)
        return memory

    @contextmanager
    def _change(self, row: AtomicMemory, action: Change.Action, *, operation: UUID) -> Iterator[None]:
        before = snapshot(row)
        yield
        row.updated_at = self._now
        self._note(row, action, before=before, operation=operation)

    def _note(self, row: AtomicMemory, action: Change.Action, *, before: Snapshot | None, operation: UUID) -> None:
        """Note a change that was made to a row: what one operation does to it in several steps is one change."""
        first = self._changes.get((row.id, operation))
        if first is not None:
            before = first.before
            action = Change.Action.CREATE if first.action == Change.Action.CREATE else action
        self._touched[row.id] = row
        change = describe_change(row, action=action, before=before)
        self._changes[row.id, operation] = replace(change, operation=operation, message_id=self._message)


def _clean_tags(tags: Sequence[str]) -> list[str]:
    cleaned = (" ".join(clean_text(tag).split())[:MAX_TAG_CHARACTERS] for tag in tags)
    return [tag for tag in dict.fromkeys(cleaned) if tag][:MAX_TAGS]


def _join_tags(row: AtomicMemory, tags: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*row.tags, *_clean_tags(tags)]))[:MAX_TAGS]
