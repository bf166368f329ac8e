"""Taking what was extracted from messages into atomic memory, so that it stays clean over years (A2, A3)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import uuid4

from django.db import transaction

from apps.accounts.models import User
from apps.core.text.instructions import is_instruction
from apps.memory.atomic.compare import Relation
from apps.memory.atomic.facts import find_left
from apps.memory.atomic.lasting import join_lasting
from apps.memory.atomic.relating import KnownMemories, Related
from apps.memory.atomic.sifting import clean_drafts, drop_known
from apps.memory.atomic.text import normalize_content
from apps.memory.atomic.types import ExtractedMemory
from apps.memory.atomic.vectors import make_statement
from apps.memory.atomic.writing import MemoryWriter
from apps.memory.locking import lock_memories
from apps.memory.models import AtomicMemory, Status


def record_memories(
    *,
    user: User,
    drafts: Sequence[ExtractedMemory],
    max_length: int,
    auto_accept_confidence: float,
    now: datetime,
) -> list[AtomicMemory]:
    """Take drafts into a person's atomic memories, the earliest said first; returns the rows made or changed.

    The same again refreshes the row that is there, more of the same is merged into it, a contradiction supersedes it
    (A3); what was said before a memory never supersedes it but is kept as its history. Text that reads as an
    instruction, and what the model is less sure of than `auto_accept_confidence`, waits as pending. Left out: what was
    deleted after it was said (L6), what was rejected, what this very message has left already, and an aside that ends
    nothing.
    `max_length`: of a content in characters; longer ones are cut where a sentence ends.
    """
    drafts = clean_drafts(drafts, max_length=max_length)
    if not drafts:
        return []
    with transaction.atomic(savepoint=False):
        lock_memories(user)
        drafts = drop_known(user, drafts)
        if not drafts:
            return []
        unsure = {id(draft) for draft in drafts if _is_unsure(draft, auto_accept_confidence=auto_accept_confidence)}
        sure = [draft for draft in drafts if id(draft) not in unsure]
        doubted = {draft.message_id for draft in drafts if id(draft) in unsure}
        writer = MemoryWriter(user, now=now)
        recorder = _Recorder(user, KnownMemories(user, sure, doubted=doubted), writer, max_length=max_length)
        for draft in sorted(drafts, key=lambda draft: draft.said_at):
            if id(draft) in unsure and draft.is_aside:
                continue
            if id(draft) in unsure:
                writer.create(draft, status=Status.PENDING, group=str(uuid4()))
            else:
                recorder.record(draft)
        return writer.save()


def _is_unsure(draft: ExtractedMemory, *, auto_accept_confidence: float) -> bool:
    """Whether a draft has to wait until its owner decides: nothing ends by it."""
    return draft.confidence < auto_accept_confidence or is_instruction(draft.content)


class _Recorder:
    """Takes drafts that are believed into what is known, one after the other."""

    def __init__(self, user: User, known: KnownMemories, writer: MemoryWriter, *, max_length: int) -> None:
        self._user, self._known, self._writer, self._max_length = user, known, writer, max_length

    def record(self, draft: ExtractedMemory) -> None:
        group = str(uuid4())
        related = self._known.relate(draft)
        ended = [row for row, relation in related if relation is Relation.CONTRADICTS]
        if draft.is_aside and not ended and all(relation is not Relation.PARTLY for _row, relation in related):
            return
        newer = [row for row in ended if row.timestamp > draft.said_at]
        if newer:
            self._keep_as_history(draft, newer, group=group)
            return
        successor = self._take_in(draft, related, group=group)
        for row in ended:
            self._known.drop(row)
            self._writer.supersede(row, by=successor, group=group)
            self._keep_left(row, self._known.find_left(row, draft), group=group)

    def _keep_as_history(self, draft: ExtractedMemory, newer: Sequence[AtomicMemory], *, group: str) -> None:
        """Keep a draft that newer memories have ended before it came, and as active what of it still holds."""
        memory = self._writer.create(draft, status=Status.SUPERSEDED, group=group, superseded_by=newer[0])
        since = make_statement(newer[0].content)
        self._keep_left(memory, find_left(draft.content, since, taken=[row.content for row in newer]), group=group)

    def _take_in(self, draft: ExtractedMemory, related: Sequence[Related], *, group: str) -> AtomicMemory:
        """Return the active memory that holds what the draft says: one that said so before, or a new one."""
        row, how = self._known.find_repeated(draft, related) or (None, Relation.NEW)
        if row is not None and how is Relation.SAME:
            self._writer.refresh(row, draft, group=group)
            return row
        if row is not None and (joined := _join_contents(row, draft, max_length=self._max_length)):
            self._writer.merge(row, draft, content=joined, group=group)
            self._known.read_anew(row)
            return row
        memory = self._writer.create(draft, status=Status.ACTIVE, group=group)
        self._known.add(memory)
        return memory

    def _keep_left(self, row: AtomicMemory, left: Sequence[str], *, group: str) -> None:
        content = join_lasting(self._user, row, left=left, known=self._known)
        if content and len(content) <= self._max_length:
            self._known.add(self._writer.take_over(row, content, group=group))


def _join_contents(row: AtomicMemory, draft: ExtractedMemory, *, max_length: int) -> str | None:
    """Both contents as one text, the earlier said first; None where they are too long for one memory."""
    first, second = row.content, draft.content
    if row.timestamp > draft.said_at:
        first, second = second, first
    if normalize_content(first) in normalize_content(second):
        return second
    gap = "" if first.endswith(("。", "！", "？", "\n")) else " "
    joined = f"{first}{gap}{second}"
    return joined if len(joined) <= max_length else None
