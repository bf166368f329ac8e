"""Carrying out verdicts on a person's atomic memories, as they were given (A3). The caller holds `lock_memories`."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from apps.core.text.grounding import is_grounded
from apps.core.text.sentences import cut_at_sentence
from apps.memory.atomic.held_verdicts import HeldVerdict, Target, name_targets
from apps.memory.atomic.selectors import DERIVED_FIELDS
from apps.memory.atomic.writing import MemoryWriter
from apps.memory.judging.exact import normalize_content
from apps.memory.judging.types import (
    JudgedOperation,
    JudgedStatement,
    KnownMemory,
    Operation,
    Reason,
    Relation,
    Said,
    Verdict,
)
from apps.memory.models import AtomicMemory, Status
from apps.memory.types import MemoryKind


class AtomicRecorder:
    """Takes judged statements into what is there, one after the other; `writer.save` writes it all."""

    def __init__(
        self, writer: MemoryWriter, *, targets: Sequence[Target], contents: Sequence[str], user_id: int, max_length: int
    ) -> None:
        """`targets`: all that the verdicts name; `contents`: of all statements. Two queries."""
        self._writer, self._max_length = writer, max_length
        mine = AtomicMemory.objects.filter(user=user_id, status=Status.ACTIVE).defer(*DERIVED_FIELDS)
        shown = {target.memory_id: target.text for target in targets if target.kind is MemoryKind.ATOMIC}
        # What was edited since the judge saw it is not what the verdict is about.
        self._rows = {row.id: row for row in mine.filter(id__in=shown) if row.content == shown[row.id]} if shown else {}
        forms = {normalize_content(content) for content in contents}
        same = mine.filter(normalized_content__in=forms).order_by("-create_time") if forms else []
        self._same = {normalize_content(row.content): self._rows.get(row.id, row) for row in same}
        self._made: dict[int, AtomicMemory] = {}

    def record(self, statement: JudgedStatement, *, targets: Sequence[Target], operation: UUID) -> None:
        """Carry out the verdict on a statement (see `Relation`): what it does not name stays as it is.

        What it says in the place of earlier statements of the same answer ends those.
        """
        self._writer.cause(statement.source.message_id)
        verdict = statement.verdict
        rows = self._find(targets)
        same = self._same.get(normalize_content(statement.content))
        if verdict.relation is Relation.CONTRADICTS and rows:
            self._replace(statement, rows, same=same, operation=operation)
        elif same is not None:
            self._refresh(same, statement, operation=operation)
        elif verdict.relation is Relation.SAME and targets:
            if rows:
                self._writer.refresh(rows[0], tags=statement.tags, operation=operation)
        elif verdict.relation is Relation.REFINES and rows and (content := self._join(rows[0], statement)):
            self._writer.merge(rows[0], statement, content=content, operation=operation)
            self._same[normalize_content(content)] = rows[0]
            for row in rows[1:]:
                self._end(row, by=rows[0], operation=operation)
        else:
            self._create(statement, operation=operation)
        for number in statement.revises:
            earlier, by = self._made.get(number), self._made.get(statement.number)
            if earlier is not None and earlier is not by and earlier.status == Status.ACTIVE:
                self._end(earlier, by=by, operation=operation)

    def record_ended(self, statement: JudgedStatement, *, operation: UUID) -> None:
        """Keep as history what was true when it was said, and has ended since."""
        self._writer.cause(statement.source.message_id)
        self._writer.create(statement, status=Status.SUPERSEDED, operation=operation)

    def end(self, targets: Sequence[Target], *, operation: UUID, message_id: UUID | None) -> None:
        """End memories without anything in their place."""
        self._writer.cause(message_id)
        for row in self._find(targets):
            self._end(row, by=None, operation=operation)

    def hold(
        self,
        judged: JudgedStatement | JudgedOperation,
        reason: Reason,
        *,
        known: Sequence[KnownMemory],
        operation: UUID,
    ) -> AtomicMemory:
        """Let a statement or an operation wait for review, with what it would do."""
        self._writer.cause(judged.source.message_id)
        if isinstance(judged, JudgedStatement):
            proposal = HeldVerdict(
                reason=reason,
                relation=judged.verdict.relation,
                targets=name_targets(known),
                left=judged.verdict.left,
                merged=judged.verdict.merged,
            )
            statement = judged
        else:
            proposal = HeldVerdict(
                reason=reason,
                relation=Relation.NEW if judged.operation is Operation.ADD else Relation.CONTRADICTS,
                targets=name_targets(known),
                is_memory=judged.operation is not Operation.END,
            )
            content = judged.text or cut_at_sentence(judged.source.text.strip(), self._max_length)
            statement = JudgedStatement(content=content, source=judged.source, verdict=Verdict())
        return self._writer.create(statement, status=Status.PENDING, operation=operation, proposal=proposal)

    def accept(self, pending: AtomicMemory, proposal: HeldVerdict, *, operation: UUID) -> None:
        """Carry out what a pending memory proposes; it becomes the memory that its verdict speaks of."""
        self._writer.cause(pending.message_id)
        rows = self._find(proposal.targets)
        same = self._same.get(normalize_content(pending.content))
        if proposal.relation is Relation.REFINES and rows and proposal.merged:
            statement = _restate(pending)
            self._writer.merge(rows[0], statement, content=proposal.merged, operation=operation)
            self._writer.accept(pending, by=rows[0], operation=operation)
            return
        if proposal.relation is Relation.SAME and rows:
            same = rows[0]
        successor = same or pending
        self._writer.accept(pending, by=same, ended=not proposal.is_memory, operation=operation)
        if proposal.relation is Relation.CONTRADICTS:
            self._end_all(
                [row for row in rows if row.id != successor.id],
                by=successor if proposal.is_memory else None,
                left=proposal.left,
                operation=operation,
            )

    def find_ended(self, proposal: HeldVerdict) -> list[AtomicMemory]:
        """Return the atomic memories that accepting a proposal would end or rewrite now."""
        return [] if proposal.relation in (Relation.NEW, Relation.SAME) else self._find(proposal.targets)

    def find_same(self, content: str) -> AtomicMemory | None:
        """Return the active memory that says this already."""
        return self._same.get(normalize_content(content))

    def _replace(
        self, statement: JudgedStatement, rows: Sequence[AtomicMemory], *, same: AtomicMemory | None, operation: UUID
    ) -> None:
        """Put a statement in the place of what it ends; what was said after it is not ended by it but ends it."""
        older = [row for row in rows if row.timestamp <= statement.source.said_at and row is not same]
        newer = [row for row in rows if row.timestamp > statement.source.said_at]
        if newer and same is None:
            self._writer.create(statement, status=Status.SUPERSEDED, operation=operation, superseded_by=newer[0])
            successor = newer[0]
        elif same is not None:
            self._refresh(same, statement, operation=operation)
            successor = same
        else:
            successor = self._create(statement, operation=operation)
        self._end_all(older, by=successor, left=statement.verdict.left, operation=operation)

    def _end_all(
        self, rows: Sequence[AtomicMemory], *, by: AtomicMemory | None, left: str | None, operation: UUID
    ) -> None:
        for row in rows:
            self._end(row, by=by, operation=operation)
        if not left or len(left) > self._max_length:
            return
        form = normalize_content(left)
        whole = next((row for row in rows if is_grounded(left, said=row.content)), None)
        if whole is not None and form not in self._same and form != normalize_content(by.content if by else ""):
            self._same[form] = self._writer.keep_left(whole, left, operation=operation)

    def _refresh(self, same: AtomicMemory, statement: JudgedStatement, *, operation: UUID) -> None:
        """Note that a memory was said again; spelled otherwise, as 王泛森 for 王汎森, it takes the new spelling."""
        is_newer = statement.source.said_at >= same.timestamp
        content = statement.content if is_newer else None
        self._writer.refresh(same, tags=statement.tags, operation=operation, content=content)

    def _create(self, statement: JudgedStatement, *, operation: UUID) -> AtomicMemory:
        memory = self._writer.create(statement, status=Status.ACTIVE, operation=operation)
        self._made[statement.number] = memory
        self._same[normalize_content(statement.content)] = memory
        return memory

    def _end(self, row: AtomicMemory, *, by: AtomicMemory | None, operation: UUID) -> None:
        self._writer.end(row, by=by, operation=operation)
        self._rows.pop(row.id, None)
        self._same = {form: memory for form, memory in self._same.items() if memory.id != row.id}

    def _find(self, targets: Sequence[Target]) -> list[AtomicMemory]:
        return [self._rows[target.memory_id] for target in targets if target.memory_id in self._rows]

    def _join(self, row: AtomicMemory, statement: JudgedStatement) -> str | None:
        """The text that says both: the judge's, else one after the other; None where it is too long for one memory."""
        merged = statement.verdict.merged
        if merged and len(merged) <= self._max_length and is_grounded(merged, said=row.content):
            return merged
        first, second = row.content, statement.content
        if row.timestamp > statement.source.said_at:
            first, second = second, first
        if normalize_content(first) in normalize_content(second):
            return second
        gap = "" if first.endswith(("。", "！", "？", "\n")) else " "
        joined = f"{first}{gap}{second}"
        return joined if len(joined) <= self._max_length else None


def _restate(pending: AtomicMemory) -> JudgedStatement:
    source = Said(message_id=pending.message_id, session_id=pending.session_id, said_at=pending.timestamp, text="")
    return JudgedStatement(content=pending.content, source=source, tags=pending.tags)
