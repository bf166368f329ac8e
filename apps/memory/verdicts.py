"""Recording what a judge made of a message, across atomic and long-term memory (A2, A3): the one way in.

Its verdicts are carried out as they were given. What `apps.memory.judging.guards` holds back waits for review.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID, uuid4

from django.db import transaction

from apps.accounts.models import User
from apps.core.text.grounding import is_grounded, is_said_by
from apps.memory.atomic.held_verdicts import Target, name_targets
from apps.memory.atomic.recorder import AtomicRecorder
from apps.memory.atomic.writing import MemoryWriter
from apps.memory.judging.exact import clean_statements, drop_decided
from apps.memory.judging.guards import Guards
from apps.memory.judging.model import ModelJudge, check_targets
from apps.memory.judging.types import (
    JudgedOperation,
    JudgedStatement,
    KnownMemory,
    Operation,
    Relation,
    Said,
    Statement,
    Verdict,
)
from apps.memory.locking import lock_memories
from apps.memory.long_term.ending import Named, add_items, end_memories
from apps.memory.long_term.twins import list_ended_values, says_only
from apps.memory.models import AtomicMemory
from apps.memory.types import MemoryKind


def record_verdicts(
    *,
    user: User,
    statements: Sequence[JudgedStatement],
    operations: Sequence[JudgedOperation] = (),
    known: Sequence[KnownMemory],
    max_length: int,
    auto_accept_confidence: float,
    now: datetime,
) -> list[AtomicMemory]:
    """Carry out verdicts on the memories that the judge was shown; returns the atomic rows made or changed.

    Statements go in the order in which they were said. A target that was not shown is void. Left out: what was deleted
    after it was said (L6), what was rejected or waits, and what this very message has left already. `max_length`: of a
    content in characters. Every statement and every operation is one change, undone as one, across both kinds.
    """
    numbers = {memory.number for memory in known}
    cleaned = clean_statements(statements, max_length=max_length)
    judge = ModelJudge([statement.verdict for statement in cleaned])
    verdicts = judge.judge([Statement(statement.content) for statement in cleaned], known)
    checked = [replace(statement, verdict=verdict) for statement, verdict in zip(cleaned, verdicts, strict=True)]
    asked = [replace(operation, targets=check_targets(operation.targets, numbers=numbers)) for operation in operations]
    asked = [operation for operation in asked if operation.targets and _has_text(operation)]
    if not (checked or asked):
        return []
    with transaction.atomic(savepoint=False):
        lock_memories(user)
        checked = drop_decided(user, checked) if checked else []
        return _Recording(
            user,
            statements=checked,
            operations=_drop_waiting(user, asked),
            known=known,
            max_length=max_length,
            auto_accept_confidence=auto_accept_confidence,
            now=now,
        ).carry_out()


def carry_out_long_term(
    *,
    user: User,
    targets: Sequence[Target],
    verdict: Verdict,
    said: Said,
    operation: UUID,
    now: datetime,
) -> None:
    """Carry out a verdict on the long-term ones among targets: end them, or write what is left or corrected of them."""
    named = _name_long_term(targets)
    if verdict.relation is Relation.CONTRADICTS:
        named = [replace(one, replacement=_find_left(one, verdict.left, targets=targets, said=said)) for one in named]
    elif verdict.relation is Relation.REFINES:
        corrected = ((one, _find_correction(one, verdict.merged, said=said)) for one in named)
        named = [replace(one, replacement=text) for one, text in corrected if text]
    else:
        return
    if named:
        end_memories(user=user, named=named, said=said, operation=operation, now=now)


def _name_long_term(targets: Sequence[Target], *, replacement: str | None = None) -> list[Named]:
    return [
        Named(target.memory_id, target.text, target.item, replacement)
        for target in targets
        if target.kind is MemoryKind.LONG_TERM
    ]


def _find_left(one: Named, left: str | None, *, targets: Sequence[Target], said: Said) -> str | None:
    """What is left of a long-term memory: of an item of a list nothing where an atomic memory is named beside it."""
    if not left or not is_grounded(left, said=f"{one.text}\n{said.text}"):
        return None
    beside = one.item is not None and any(target.kind is MemoryKind.ATOMIC for target in targets)
    return None if beside else _drop_key(left, of=one)


def _find_correction(one: Named, merged: str | None, *, said: Said) -> str | None:
    """The text that takes the place of a value which a refinement corrects: one that does not say it all any more."""
    value = one.text.partition(": ")[2]
    if not merged or not is_grounded(merged, said=f"{one.text}\n{said.text}") or is_said_by(value, said=merged):
        return None
    return _drop_key(merged, of=one)


def _drop_key(text: str, *, of: Named) -> str:
    return text.removeprefix(f"{of.text.partition(': ')[0]}:").strip() or text


def _has_text(operation: JudgedOperation) -> bool:
    return operation.operation is Operation.END or bool(operation.text and operation.text.strip())


def _drop_waiting(user: User, operations: Sequence[JudgedOperation]) -> list[JudgedOperation]:
    """Return the operations of messages that have left nothing yet which waits for review."""
    if not operations:
        return []
    messages = {message_id for operation in operations if (message_id := operation.source.message_id)}
    waiting = AtomicMemory.objects.filter(user=user, message_id__in=messages, proposal__is_memory=False)
    left = set(waiting.values_list("message_id", flat=True))
    return [operation for operation in operations if operation.source.message_id not in left]


class _Recording:
    """One call of `record_verdicts`, under the person's lock."""

    def __init__(
        self,
        user: User,
        *,
        statements: Sequence[JudgedStatement],
        operations: Sequence[JudgedOperation],
        known: Sequence[KnownMemory],
        max_length: int,
        auto_accept_confidence: float,
        now: datetime,
    ) -> None:
        self._user, self._now = user, now
        self._judged: list[JudgedStatement | JudgedOperation] = [*statements, *operations]
        self._known = {memory.number: memory for memory in known}
        self._guards = Guards(
            known=known,
            statements=statements,
            operations=operations,
            auto_accept_confidence=auto_accept_confidence,
        )
        self._writer = MemoryWriter(user, now=now)
        self._ended = list_ended_values(user, {judged.source.message_id for judged in statements})
        contents = [statement.content for statement in statements]
        contents += [operation.text for operation in operations if operation.text]
        self._recorder = AtomicRecorder(
            self._writer,
            targets=[target for judged in self._judged for target in name_targets(self._list_known(judged))],
            contents=contents,
            user_id=user.pk,
            max_length=max_length,
        )

    def carry_out(self) -> list[AtomicMemory]:
        for judged in sorted(self._judged, key=lambda judged: judged.source.said_at):
            operation, known = uuid4(), self._list_known(judged)
            if reason := self._guards.find_hold(judged):
                self._recorder.hold(judged, reason, known=known, operation=operation)
            elif isinstance(judged, JudgedStatement):
                self._state(judged, known, operation=operation)
            else:
                self._operate(judged, name_targets(known), operation=operation)
        return self._writer.save()

    def _list_known(self, judged: JudgedStatement | JudgedOperation) -> list[KnownMemory]:
        targets = judged.verdict.targets if isinstance(judged, JudgedStatement) else judged.targets
        return [self._known[number] for number in targets]

    def _state(self, judged: JudgedStatement, known: Sequence[KnownMemory], *, operation: UUID) -> None:
        statement, verdict = judged, judged.verdict
        if verdict.relation is Relation.REFINES and any(memory.by_owner for memory in known):
            # What its owner wrote is not rewritten: what is new is stored beside it.
            known, statement = [], replace(statement, verdict=Verdict(confidence=verdict.confidence))
        targets, source = name_targets(known), statement.source
        if verdict.relation is Relation.NEW and says_only(
            statement.content, self._ended, message_id=source.message_id, others=[]
        ):
            self._recorder.record_ended(statement, operation=operation)
            return
        self._recorder.record(statement, targets=targets, operation=operation)
        carry_out_long_term(
            user=self._user,
            targets=targets,
            verdict=statement.verdict,
            said=statement.source,
            operation=operation,
            now=self._now,
        )

    def _operate(self, asked: JudgedOperation, targets: Sequence[Target], *, operation: UUID) -> None:
        if asked.operation is Operation.END:
            self._recorder.end(targets, operation=operation, message_id=asked.source.message_id)
            self._end_long_term(targets, replacement=None, said=asked.source, operation=operation)
            return
        assert asked.text is not None
        atomic = [target for target in targets if target.kind is MemoryKind.ATOMIC]
        if atomic:
            relation = Relation.REFINES if asked.operation is Operation.ADD else Relation.CONTRADICTS
            verdict = Verdict(relation, asked.targets, asked.confidence)
            statement = JudgedStatement(content=asked.text, source=asked.source, verdict=verdict)
            self._recorder.record(statement, targets=atomic, operation=operation)
        if asked.operation is Operation.REPLACE:
            self._end_long_term(targets, replacement=asked.text, said=asked.source, operation=operation)
        elif named := _name_long_term(targets):
            add_items(
                user=self._user, named=named, text=asked.text, said=asked.source, operation=operation, now=self._now
            )

    def _end_long_term(
        self,
        targets: Sequence[Target],
        *,
        replacement: str | None,
        said: Said,
        operation: UUID,
    ) -> None:
        if named := _name_long_term(targets, replacement=replacement):
            end_memories(user=self._user, named=named, said=said, operation=operation, now=self._now)
