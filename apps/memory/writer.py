"""Writing memories of both kinds: changed in Python, then stored at once with their vectors and records (L7)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from apps.accounts.models import User
from apps.core.db import insert_rows
from apps.core.errors import InvalidInput
from apps.memory.changes.records import ChangeDraft, Snapshot, follow_moves, record_changes
from apps.memory.kinds import CURRENT, KINDS, MemoryKind
from apps.memory.models import Change, Status
from apps.memory.validation import find_secret_problems
from apps.memory.vectors.memories import write_vectors


class Writer:
    """Takes changes of one person's memories until `save`. The caller is in a transaction and holds `lock_memories`.

    Every change belongs to an operation, which is undone as one; what one operation does to a memory in several steps
    is one change.
    """

    def __init__(
        self, user: User, *, now: datetime, operation: UUID | None = None, message_id: UUID | None = None
    ) -> None:
        self._user, self._now = user, now
        self.operation, self._message, self._reason = operation or uuid4(), message_id, ""
        self._touched: dict[UUID, tuple[MemoryKind, Any]] = {}
        self._stored: dict[UUID, Mapping[str, Any]] = {}  # of rows that were there: their columns before
        self._rewritten: set[UUID] = set()
        self._changes: dict[tuple[UUID, UUID], ChangeDraft] = {}

    def begin(self, operation: UUID, *, message_id: UUID | None = None, reason: str = "") -> None:
        """Name the operation that the changes from here on are part of, the message that causes them, and why."""
        self.operation, self._message, self._reason = operation, message_id, reason

    def create(self, kind: MemoryKind, memory: Any, *, at: datetime | None = None, beside: Any = None) -> Any:
        """Take in a new memory whose fields are set. `at`: when it is stored, if not now.

        It is made in the space that the person looks from, or in that of the memory `beside` which it is made (P3).
        """
        memory.user = self._user
        memory.space_id = beside.space_id if beside is not None else self._user.sight.space
        setattr(memory, kind.made_at, at or self._now)
        memory.updated_at = self._now
        _refuse_secret(kind.get_text(memory))
        self._touched[memory.id] = kind, memory
        self._rewritten.add(memory.id)
        self._note(kind, memory, Change.Action.CREATE, before=None)
        return memory

    @contextmanager
    def change(self, kind: MemoryKind, memory: Any, action: Change.Action) -> Iterator[None]:
        """Note what is done to a memory within the block."""
        before, text = kind.snapshot(memory), kind.get_text(memory)
        said = json.dumps(text)
        if memory.id not in self._touched:
            self._stored[memory.id] = _read_columns(kind, memory)
        yield
        memory.updated_at = self._now
        self._touched[memory.id] = kind, memory
        if json.dumps(kind.get_text(memory)) != said:  # as JSON: 1 is not true
            self._rewritten.add(memory.id)
            if not find_secret_problems(text):  # what held one before there was this rule may lose a part of it
                _refuse_secret(kind.get_text(memory))
        self._note(kind, memory, action, before=before)

    def supersede(
        self, kind: MemoryKind, memory: Any, *, by: Any = None, action: Change.Action = Change.Action.SUPERSEDE
    ) -> None:
        """End a memory: nothing else does. `by`: what takes its place, if anything; `action`: what ended it."""
        with self.change(kind, memory, action):
            memory.status, memory.superseded_by = Status.SUPERSEDED, by

    def rewrite(self, kind: MemoryKind, memory: Any, values: Mapping[str, Any] | None) -> None:
        """Leave of a memory only what still holds; None ends it."""
        if values is None:
            self.supersede(kind, memory)
            return
        with self.change(kind, memory, Change.Action.EDIT):
            kind.assign(memory, values)

    def save(self) -> list[Any]:
        """Write everything: for each kind what makes way, what is new, what is active again; then vectors and records.

        Returns the memories that were made or changed.
        """
        for kind in KINDS:
            mine = [memory for of, memory in self._touched.values() if of is kind]
            if mine:
                there = [memory for memory in mine if memory.id in self._stored]
                # The old active memory of a key makes way before the new one comes.
                self._update(kind, [memory for memory in there if memory.status != Status.ACTIVE])
                insert_rows([memory for memory in mine if memory.id not in self._stored])
                self._update(kind, [memory for memory in there if memory.status == Status.ACTIVE])
                write_vectors(self._user, kind, filter(self._needs_vector, mine))
        changes = list(self._changes.values())
        record_changes(user=self._user, changes=changes, now=self._now)
        follow_moves(self._user, [change for change in changes if change.action == Change.Action.MOVE])
        return [memory for _kind, memory in self._touched.values()]

    def _needs_vector(self, memory: Any) -> bool:
        """Whether its text is new, or search may find it again: vectors of what is history are not kept up."""
        stored = self._stored.get(memory.id)
        is_back = stored is not None and stored["status"] not in CURRENT and memory.status in CURRENT
        return is_back or memory.id in self._rewritten

    def _update(self, kind: MemoryKind, memories: Sequence[Any]) -> None:
        """Store the columns that changed, and texts with what is derived from them; two statements at most."""
        changed = {
            name
            for memory in memories
            for name, value in _read_columns(kind, memory).items()
            if value != self._stored[memory.id][name]
        }
        if changed:
            kind.model.objects.bulk_update(memories, sorted(changed), batch_size=500)
        if rewritten := [memory for memory in memories if memory.id in self._rewritten]:
            kind.model.objects.bulk_update(rewritten, kind.text_columns, batch_size=500)

    def _note(self, kind: MemoryKind, memory: Any, action: Change.Action, *, before: Snapshot | None) -> None:
        first = self._changes.get((memory.id, self.operation))
        if first is not None:
            before = first.before
            action = Change.Action.CREATE if first.action == Change.Action.CREATE else action
        self._changes[memory.id, self.operation] = kind.draft(
            memory,
            action=action,
            before=before,
            operation=self.operation,
            message_id=self._message,
            reason=self._reason,
        )


def _refuse_secret(text: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` for what must not be remembered (D4); what models propose is left out before this."""
    if problems := find_secret_problems(text):
        name, (reason,) = next(iter(problems.items()))
        raise InvalidInput(f"{name}: {reason}", fields=problems)


def _read_columns(kind: MemoryKind, memory: Any) -> dict[str, Any]:
    return {name: getattr(memory, kind.model._meta.get_field(name).attname) for name in kind.plain_columns}
