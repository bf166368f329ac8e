"""Carrying out verdicts on a person's atomic memories, as they were given (A3). The caller holds `lock_memories`."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from apps.accounts.models import User
from apps.core.text.clean import clean_text
from apps.core.text.fold import normalize_value, spell_value
from apps.core.text.grounding import is_grounded
from apps.core.text.sentences import cut_at_sentence
from apps.memory.judge.types import (
    JudgedOperation,
    JudgedStatement,
    KnownMemory,
    Operation,
    PendingVerdict,
    Reason,
    Relation,
    Said,
    Target,
    name_targets,
)
from apps.memory.kinds import ATOMIC
from apps.memory.models import AtomicMemory, Change, Status
from apps.memory.types import KindName
from apps.memory.validation import MAX_TAG_CHARACTERS, MAX_TAGS, find_event_problem
from apps.memory.writer import Writer


class AtomicRecorder:
    """Takes judged statements into what is there, one after the other; `writer.save` writes it all."""

    def __init__(
        self, writer: Writer, user: User, *, targets: Sequence[Target], contents: Sequence[str], max_length: int
    ) -> None:
        """`targets`: all that the verdicts name; `contents`: of all statements. Two queries."""
        self._writer, self._max_length = writer, max_length
        shown = {target.memory_id: target.text for target in targets if target.kind is KindName.ATOMIC}
        forms = {normalize_value(content) for content in contents}
        mine = ATOMIC.active(user)
        # What was edited since the judge saw it is not what the verdict is about.
        self._rows = {row.id: row for row in mine.filter(id__in=shown) if row.content == shown[row.id]} if shown else {}
        same = mine.filter(normalized_content__in=forms).order_by("-create_time") if forms else []
        self._same = {normalize_value(row.content): self._rows.get(row.id, row) for row in same}
        self._made: dict[int, AtomicMemory] = {}

    def record(self, statement: JudgedStatement, *, targets: Sequence[Target], operation: UUID) -> None:
        """Carry out the verdict on a statement (see `Relation`): what it does not name stays as it is.

        What it says in the place of earlier statements of the same answer ends those.
        """
        self._writer.set_source_message(statement.source.message_id)
        verdict = statement.verdict
        rows = self._find(targets)
        same = self._same.get(normalize_value(statement.content))
        if verdict.relation is Relation.CONTRADICTS and rows:
            self._replace(statement, rows, same=same, operation=operation)
        elif same is not None:
            self._refresh(same, statement, operation=operation)
        elif verdict.relation is Relation.SAME and targets:
            if rows:
                self._note_again(rows[0], statement.tags, content=None, operation=operation)
        elif verdict.relation is Relation.REFINES and rows and (content := self._join(rows[0], statement)):
            self._merge(rows[0], statement, content=content, operation=operation)
            self._same[normalize_value(content)] = rows[0]
            for row in rows[1:]:
                self._end(row, by=rows[0], operation=operation)
        else:
            self._create(statement, operation=operation)
        for number in statement.revises:
            earlier, by = self._made.get(number), self._made.get(statement.number)
            if earlier is not None and earlier is not by and earlier.status == Status.ACTIVE:
                self._end(earlier, by=by, operation=operation)

    def record_ended(
        self, statement: JudgedStatement, *, operation: UUID, superseded_by: AtomicMemory | None = None
    ) -> None:
        """Keep as history what was true when it was said, and has ended since."""
        self._writer.set_source_message(statement.source.message_id)
        self._insert(statement, status=Status.SUPERSEDED, superseded_by=superseded_by, operation=operation)

    def end(self, targets: Sequence[Target], *, operation: UUID, message_id: UUID | None) -> None:
        """End memories without anything in their place."""
        self._writer.set_source_message(message_id)
        for row in self._find(targets):
            self._end(row, by=None, operation=operation)

    def hold(
        self,
        judged: JudgedStatement | JudgedOperation,
        reason: Reason,
        *,
        known: Sequence[KnownMemory],
        operation: UUID,
    ) -> None:
        """Let a statement or an operation wait for review, with what it would do."""
        self._writer.set_source_message(judged.source.message_id)
        if isinstance(judged, JudgedStatement):
            verdict, statement = judged.verdict, judged
            proposal = PendingVerdict(
                reason, verdict.relation, name_targets(known), left=verdict.left, merged=verdict.merged
            )
        else:
            relation = Relation.NEW if judged.operation is Operation.ADD else Relation.CONTRADICTS
            is_memory = judged.operation is not Operation.END
            proposal = PendingVerdict(reason, relation, name_targets(known), is_memory=is_memory)
            content = judged.text or cut_at_sentence(judged.source.text.strip(), self._max_length)
            statement = JudgedStatement(content=content, source=judged.source)
        self._insert(statement, status=Status.PENDING, proposal=proposal, operation=operation)

    def accept(self, pending: AtomicMemory, proposal: PendingVerdict, *, operation: UUID) -> None:
        """Carry out what a pending memory proposes; it becomes the memory that its verdict speaks of."""
        self._writer.set_source_message(pending.message_id)
        rows = self._find(proposal.targets)
        same = self._same.get(normalize_value(pending.content))
        if proposal.relation is Relation.REFINES and rows and proposal.merged:
            source = Said(pending.message_id, pending.session_id, pending.timestamp, "")
            restated = JudgedStatement(content=pending.content, source=source, tags=pending.tags)
            self._merge(rows[0], restated, content=proposal.merged, operation=operation)
            self._end_pending(pending, by=rows[0], operation=operation)
            return
        if proposal.relation is Relation.SAME and rows:
            same = rows[0]
        if same is not None or not proposal.is_memory:
            self._end_pending(pending, by=same, operation=operation)
        else:
            with self._writer.change(ATOMIC, pending, Change.Action.ACCEPT, operation=operation):
                pending.status, pending.superseded_by = Status.ACTIVE, None
        if proposal.relation is Relation.CONTRADICTS:
            successor = same or pending
            self._end_all(
                [row for row in rows if row.id != successor.id],
                by=successor if proposal.is_memory else None,
                left=proposal.left,
                operation=operation,
            )

    def find_ended(self, proposal: PendingVerdict) -> list[AtomicMemory]:
        """Return the atomic memories that accepting a proposal would end or rewrite now."""
        return [] if proposal.relation in (Relation.NEW, Relation.SAME) else self._find(proposal.targets)

    def find_same(self, content: str) -> AtomicMemory | None:
        """Return the active memory that says this already."""
        return self._same.get(normalize_value(content))

    def _replace(
        self, statement: JudgedStatement, rows: Sequence[AtomicMemory], *, same: AtomicMemory | None, operation: UUID
    ) -> None:
        """Put a statement in the place of what it ends; what was said after it is not ended by it but ends it."""
        older = [row for row in rows if row.timestamp <= statement.source.said_at and row is not same]
        newer = [row for row in rows if row.timestamp > statement.source.said_at]
        if newer and same is None:
            self.record_ended(statement, operation=operation, superseded_by=newer[0])
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
        form = normalize_value(left)
        whole = next((row for row in rows if is_grounded(left, said=row.content)), None)
        if whole is not None and form not in self._same and form != normalize_value(by.content if by else ""):
            self._same[form] = self._create_remainder(whole, left, operation=operation)

    def _create_remainder(self, row: AtomicMemory, left: str, *, operation: UUID) -> AtomicMemory:
        """Make an active memory of what of an ended one still holds; it was said where and when that was."""
        memory = AtomicMemory(
            session_id=row.session_id,
            message_id=row.message_id,
            tags=list(row.tags),
            timestamp=row.timestamp,
            left_of=row,
        )
        ATOMIC.assign(memory, {"content": left})
        self._writer.create(ATOMIC, memory, operation=operation)
        return memory

    def _refresh(self, same: AtomicMemory, statement: JudgedStatement, *, operation: UUID) -> None:
        """Note that a memory was said again; spelled otherwise, as 王泛森 for 王汎森, it takes the new spelling."""
        is_newer = statement.source.said_at >= same.timestamp
        self._note_again(same, statement.tags, content=statement.content if is_newer else None, operation=operation)

    def _note_again(self, row: AtomicMemory, tags: Sequence[str], *, content: str | None, operation: UUID) -> None:
        respelled = content is not None and spell_value(content) != spell_value(row.content)
        action = Change.Action.EDIT if respelled else Change.Action.REFRESH
        with self._writer.change(ATOMIC, row, action, operation=operation):
            row.tags = _join_tags(row, tags)
            if respelled:
                ATOMIC.assign(row, {"content": content})

    def _merge(self, row: AtomicMemory, statement: JudgedStatement, *, content: str, operation: UUID) -> None:
        """Give a memory the `content` that says both; of the two it keeps when and where the later was said."""
        with self._writer.change(ATOMIC, row, Change.Action.MERGE, operation=operation):
            ATOMIC.assign(row, {"content": content})
            row.tags = _join_tags(row, statement.tags)
            if statement.event_start and find_event_problem(statement.event_start, statement.event_end) is None:
                row.event_start, row.event_end = statement.event_start, statement.event_end
            if statement.source.said_at >= row.timestamp:
                source = statement.source
                row.timestamp, row.message_id, row.session_id = source.said_at, source.message_id, source.session_id

    def _create(self, statement: JudgedStatement, *, operation: UUID) -> AtomicMemory:
        memory = self._insert(statement, status=Status.ACTIVE, operation=operation)
        self._made[statement.number] = memory
        self._same[normalize_value(statement.content)] = memory
        return memory

    def _insert(
        self,
        statement: JudgedStatement,
        *,
        status: Status,
        operation: UUID,
        superseded_by: AtomicMemory | None = None,
        proposal: PendingVerdict | None = None,
    ) -> AtomicMemory:
        is_event = find_event_problem(statement.event_start, statement.event_end) is None
        memory = AtomicMemory(
            session_id=statement.source.session_id,
            message_id=statement.source.message_id,
            tags=_clean_tags(statement.tags),
            timestamp=statement.source.said_at,
            event_start=statement.event_start if is_event else None,
            event_end=statement.event_end if is_event else None,
            status=status,
            superseded_by=superseded_by,
            proposal=proposal.to_json() if proposal else None,
        )
        ATOMIC.assign(memory, {"content": statement.content})
        self._writer.create(ATOMIC, memory, operation=operation)
        return memory

    def _end(self, row: AtomicMemory, *, by: AtomicMemory | None, operation: UUID) -> None:
        self._writer.supersede(ATOMIC, row, by=by, operation=operation)
        self._rows.pop(row.id, None)
        self._same = {form: memory for form, memory in self._same.items() if memory.id != row.id}

    def _end_pending(self, row: AtomicMemory, *, by: AtomicMemory | None, operation: UUID) -> None:
        self._writer.supersede(ATOMIC, row, by=by, operation=operation, action=Change.Action.ACCEPT)

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
        if normalize_value(first) in normalize_value(second):
            return second
        gap = "" if first.endswith(("。", "！", "？", "\n")) else " "
        joined = f"{first}{gap}{second}"
        return joined if len(joined) <= self._max_length else None


def _clean_tags(tags: Sequence[str]) -> list[str]:
    cleaned = (" ".join(clean_text(tag).split())[:MAX_TAG_CHARACTERS] for tag in tags)
    return [tag for tag in dict.fromkeys(cleaned) if tag][:MAX_TAGS]


def _join_tags(row: AtomicMemory, tags: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*row.tags, *_clean_tags(tags)]))[:MAX_TAGS]
