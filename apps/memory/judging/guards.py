"""What a verdict may not do by itself: it waits for review instead (SPEC A3). Pure.

The guards never decide what is true. They hold back what a person would want to look at first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from apps.core.text.instructions import is_instruction
from apps.memory.judging.types import JudgedOperation, JudgedStatement, KnownMemory, Operation, Reason, Relation

MAX_ENDS = 5
"""Memories that one message may end, replace or rewrite by itself: "more than a handful" is looked at first."""


class Guards:
    """Holds back statements and operations of one extraction answer."""

    def __init__(
        self,
        *,
        known: Sequence[KnownMemory],
        statements: Sequence[JudgedStatement],
        operations: Sequence[JudgedOperation],
        auto_accept_confidence: float,
    ) -> None:
        self._by_owner = {memory.number for memory in known if memory.by_owner}
        self._threshold = auto_accept_confidence
        self._ends: Counter[UUID | None] = Counter()
        for statement in statements:
            if statement.verdict.relation is Relation.CONTRADICTS:
                self._ends[statement.source.message_id] += len(statement.verdict.targets)
        for operation in operations:
            if operation.operation is not Operation.ADD:
                self._ends[operation.source.message_id] += len(operation.targets)

    def find_hold(self, judged: JudgedStatement | JudgedOperation) -> Reason | None:
        """Return why it has to wait, None where it may be carried out."""
        if isinstance(judged, JudgedStatement):
            if judged.verdict.relation is Relation.SAME:
                return None  # nothing of it is written
            text, confidence, targets = judged.content, judged.verdict.confidence, judged.verdict.targets
            ends = judged.verdict.relation is Relation.CONTRADICTS
        else:
            text, confidence, targets = judged.text or "", judged.confidence, judged.targets
            ends = judged.operation is not Operation.ADD
        if is_instruction(text):
            return Reason.INSTRUCTION
        if not judged.grounded:
            return Reason.UNGROUNDED
        if confidence < self._threshold:
            return Reason.UNSURE
        if ends and self._by_owner.intersection(targets):
            return Reason.BY_OWNER
        if ends and targets and not judged.confirmed:
            return Reason.UNCONFIRMED
        if ends and targets and self._ends[judged.source.message_id] > MAX_ENDS:
            return Reason.MANY_ENDS
        return None
