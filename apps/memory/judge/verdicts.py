"""Recording what a judge made of a message, across atomic and long-term memory (A2, A3): the one way in.

Its verdicts are carried out as they were given. What `apps.memory.judge.guards` holds back waits for review.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid4

from django.db import transaction

from apps.accounts.models import User
from apps.core.text.clean import clean_text
from apps.core.text.fold import normalize_value
from apps.core.text.sentences import cut_at_sentence
from apps.memory.judge.endings import add_items, carry_out_long_term, end_memories, name_long_term
from apps.memory.judge.guards import Guards, check_targets, sanitize_verdicts
from apps.memory.judge.recorder import AtomicRecorder
from apps.memory.judge.twins import list_ended_values, says_only
from apps.memory.judge.types import (
    JudgedOperation,
    JudgedStatement,
    KnownMemory,
    Operation,
    Reason,
    Relation,
    Target,
    Verdict,
    name_targets,
)
from apps.memory.locking import lock_memories
from apps.memory.models import AtomicMemory, Status
from apps.memory.tombstones import find_deleted
from apps.memory.types import KindName
from apps.memory.writer import Writer


@dataclass(frozen=True, slots=True)
class _Case:
    """A statement or an operation with all that was read and decided of it, once."""

    judged: JudgedStatement | JudgedOperation
    known: Sequence[KnownMemory]
    targets: Sequence[Target]
    hold: Reason | None


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
    stated = sanitize_verdicts(_clean(statements, max_length=max_length), known)
    numbers = {memory.number for memory in known}
    asked = [replace(operation, targets=check_targets(operation.targets, numbers=numbers)) for operation in operations]
    asked = [operation for operation in asked if operation.targets and _has_text(operation)]
    if not (stated or asked):
        return []
    with transaction.atomic(savepoint=False):
        lock_memories(user)
        stated = _drop_decided(user, stated)
        asked = _drop_waiting(user, asked)
        guards = Guards(known=known, statements=stated, operations=asked, auto_accept_confidence=auto_accept_confidence)
        judged: list[JudgedStatement | JudgedOperation] = [*stated, *asked]
        cases = [_read_case(one, known, guards) for one in judged]
        ended = list_ended_values(user, {statement.source.message_id for statement in stated})
        writer = Writer(user, now=now)
        recorder = AtomicRecorder(
            writer,
            user,
            targets=[target for case in cases for target in case.targets],
            contents=[*(one.content for one in stated), *(one.text for one in asked if one.text)],
            max_length=max_length,
        )
        for case in sorted(cases, key=lambda case: case.judged.source.said_at):
            operation = uuid4()
            if case.hold is not None:
                recorder.hold(case.judged, case.hold, known=case.known, operation=operation)
            elif isinstance(case.judged, JudgedOperation):
                _operate(user, recorder, case, case.judged, operation=operation, now=now)
            elif case.judged.verdict.relation is Relation.NEW and says_only(
                case.judged.content, ended, message_id=case.judged.source.message_id, others=[]
            ):
                recorder.record_ended(case.judged, operation=operation)
            else:
                _state(user, recorder, case, case.judged, operation=operation, now=now)
        return writer.save()


def _clean(statements: Sequence[JudgedStatement], *, max_length: int) -> list[JudgedStatement]:
    """Return the statements as they can be stored, without the empty ones.

    Contents of over `max_length` characters are cut where a sentence ends: only a model that was given the limit and
    passed it writes such.
    """
    cleaned = (
        replace(statement, content=cut_at_sentence(clean_text(statement.content).strip(), max_length))
        for statement in statements
    )
    return [statement for statement in cleaned if statement.content]


def _has_text(operation: JudgedOperation) -> bool:
    return operation.operation is Operation.END or bool(operation.text and operation.text.strip())


def _drop_decided(user: User, statements: Sequence[JudgedStatement]) -> list[JudgedStatement]:
    """Return the statements that nothing has been decided about.

    Left out: what was deleted since it was said, was rejected, waits for review, or was recorded from its message.
    Three queries.
    """
    if not statements:
        return []
    deleted = find_deleted(user, [(statement.content, statement.source.said_at) for statement in statements])
    contents = {id(statement): normalize_value(statement.content) for statement in statements}
    mine = AtomicMemory.objects.filter(user=user)
    decided = mine.filter(normalized_content__in=set(contents.values()), status__in=[Status.REJECTED, Status.PENDING])
    known = set(decided.values_list("normalized_content", flat=True))
    recorded: defaultdict[UUID | None, list[str]] = defaultdict(list)
    of_messages = mine.filter(message_id__in={statement.source.message_id for statement in statements})
    for message, content in of_messages.values_list("message_id", "normalized_content"):
        recorded[message].append(content)
    return [
        statement
        for statement in statements
        if (statement.content, statement.source.said_at) not in deleted
        and contents[id(statement)] not in known
        and not any(contents[id(statement)] in one for one in recorded[statement.source.message_id])
    ]


def _drop_waiting(user: User, operations: Sequence[JudgedOperation]) -> list[JudgedOperation]:
    """Return the operations of messages that have left nothing yet which waits for review."""
    if not operations:
        return []
    messages = {message_id for operation in operations if (message_id := operation.source.message_id)}
    waiting = AtomicMemory.objects.filter(user=user, message_id__in=messages, proposal__is_memory=False)
    left = set(waiting.values_list("message_id", flat=True))
    return [operation for operation in operations if operation.source.message_id not in left]


def _read_case(judged: JudgedStatement | JudgedOperation, known: Sequence[KnownMemory], guards: Guards) -> _Case:
    by_number = {memory.number: memory for memory in known}
    numbers = judged.verdict.targets if isinstance(judged, JudgedStatement) else judged.targets
    shown = [by_number[number] for number in numbers]
    return _Case(judged, shown, name_targets(shown), hold=guards.find_hold(judged))


def _state(
    user: User, recorder: AtomicRecorder, case: _Case, statement: JudgedStatement, *, operation: UUID, now: datetime
) -> None:
    targets, verdict = case.targets, statement.verdict
    if verdict.relation is Relation.REFINES and any(memory.by_owner for memory in case.known):
        # What its owner wrote is not rewritten: what is new is stored beside it.
        targets, statement = [], replace(statement, verdict=Verdict(confidence=verdict.confidence))
    recorder.record(statement, targets=targets, operation=operation)
    carry_out_long_term(
        user=user,
        targets=targets,
        verdict=statement.verdict,
        said=statement.source,
        operation=operation,
        now=now,
    )


def _operate(
    user: User, recorder: AtomicRecorder, case: _Case, asked: JudgedOperation, *, operation: UUID, now: datetime
) -> None:
    replacement = asked.text if asked.operation is Operation.REPLACE else None
    if asked.operation is Operation.END:
        recorder.end(case.targets, operation=operation, message_id=asked.source.message_id)
    elif atomic := [target for target in case.targets if target.kind is KindName.ATOMIC]:
        assert asked.text is not None
        relation = Relation.REFINES if asked.operation is Operation.ADD else Relation.CONTRADICTS
        verdict = Verdict(relation, asked.targets, asked.confidence)
        statement = JudgedStatement(content=asked.text, source=asked.source, verdict=verdict)
        recorder.record(statement, targets=atomic, operation=operation)
    named = name_long_term(case.targets, replacement=replacement)
    if named and asked.operation is not Operation.ADD:
        end_memories(user=user, named=named, said=asked.source, operation=operation, now=now)
    elif named:
        assert asked.text is not None
        add_items(user=user, named=named, text=asked.text, said=asked.source, operation=operation, now=now)
