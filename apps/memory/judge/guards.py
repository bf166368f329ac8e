"""What of a judge's verdicts can be carried out, and what waits for its owner's review (A3). Pure.

The guards never decide what is true. They hold back what a person would want to look at first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from apps.core.text.instructions import is_instruction
from apps.memory.judge.types import (
    JudgedOperation,
    JudgedStatement,
    KnownMemory,
    Operation,
    Reason,
    Relation,
    Verdict,
)


def sanitize_verdicts(statements: Sequence[JudgedStatement], known: Sequence[KnownMemory]) -> list[JudgedStatement]:
    """Return the statements with the verdicts of a model, of each only what it can know."""
    numbers = {memory.number for memory in known}
    return [replace(statement, verdict=check_verdict(statement.verdict, numbers=numbers)) for statement in statements]


def check_verdict(verdict: Verdict, *, numbers: Collection[int]) -> Verdict:
    """Return a verdict without the targets that were not shown; without any, the statement is new."""
    targets = check_targets(verdict.targets, numbers=numbers)
    if verdict.relation is Relation.NEW or not targets:
        return Verdict(confidence=verdict.confidence)
    return replace(
        verdict,
        targets=targets,
        left=verdict.left if verdict.relation is Relation.CONTRADICTS else None,
        merged=verdict.merged if verdict.relation is Relation.REFINES else None,
    )


def check_targets(targets: Sequence[int], *, numbers: Collection[int]) -> tuple[int, ...]:
    """Return the targets that were shown, each once."""
    return tuple(dict.fromkeys(target for target in targets if target in numbers))


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
