"""Recording what a judge made of a message, across atomic and long-term memory (A2, A3): the one way in.

Its verdicts are carried out as they were given. What `apps.memory.judging.guards` holds back waits for review.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from uuid import UUID, uuid4

from django.db import transaction

from apps.accounts.models import User
from apps.core.text.grounding import is_grounded, is_said_by
from apps.memory.atomic.held_verdicts import Target, name_targets
from apps.memory.atomic.recorder import AtomicRecorder
from apps.memory.atomic.selectors import DERIVED_FIELDS
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
from apps.memory.long_term.changes import list_items
from apps.memory.long_term.ending import Named, add_items, end_memories
from apps.memory.long_term.twins import (
    KeyedValue,
    choose_atomic_twins,
    choose_entry_twins,
    find_guarded,
    holds_on,
    list_ended_values,
    list_tellers,
    read_entries,
    says_only,
)
from apps.memory.models import AtomicMemory, LongTermMemory, Status
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


@dataclass(frozen=True, slots=True)
class Twins:
    """What else ends with the targets of a verdict, as it says the same: see `apps.memory.long_term.twins`.

    `lefts`: of atomic memories, by ID, the sentences that hold on.
    """

    entries: Sequence[Named] = ()
    atomic: Sequence[Target] = ()
    lefts: Mapping[UUID, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ending:
    """An end that a verdict asks for: of `targets`, because of `content`; `left` still holds of them."""

    targets: Sequence[Target]
    content: str
    left: str
    said: Said

    @property
    def words(self) -> str:
        """All that was said of it."""
        return f"{self.content}\n{self.said.text}"


def find_twins(user: User, endings: Sequence[Ending]) -> list[Twins]:
    """Return for each ending what says the same as its targets. What any of them names itself is nobody's twin.

    Six queries for any number of endings.
    """
    named = {(target.memory_id, target.item) for ending in endings for target in ending.targets}
    if not named:
        return [Twins() for _ in endings]
    entries = read_entries(user)
    mine = AtomicMemory.objects.filter(user=user, status=Status.ACTIVE).defer(*DERIVED_FIELDS)
    rows = mine.in_bulk([memory_id for memory_id, _item in named])
    told = [
        [
            one
            for one in choose_entry_twins(
                [rows[target.memory_id] for target in ending.targets if target.memory_id in rows],
                entries=entries,
                said=ending.words,
                left=ending.left,
                said_at=ending.said.said_at,
            )
            if named.isdisjoint({(one.row.id, one.item), (one.row.id, None)})
        ]
        for ending in endings
    ]
    guarded = find_guarded(user, [one.row.id for each in told for one in each])
    told = [[one for one in each if one.row.id not in guarded] for each in told]
    values = [
        [*(one.keyed for one in each), *_list_values(ending, entries)]
        for each, ending in zip(told, endings, strict=True)
    ]
    tellers = [row for row in list_tellers(user, chain.from_iterable(values)) if row.id not in rows]
    found = []
    for ending, each, mentioned in zip(endings, told, values, strict=True):
        atomic = choose_atomic_twins(mentioned, tellers, entries=entries, said_at=ending.said.said_at)
        found.append(
            Twins(
                entries=[Named(one.row.id, one.text, one.item) for one in each],
                atomic=[Target(MemoryKind.ATOMIC, twin.row.id, twin.row.content) for twin in atomic],
                lefts={twin.row.id: twin.left for twin in atomic},
            )
        )
    return found


def _list_values(ending: Ending, entries: Sequence[LongTermMemory]) -> Iterator[KeyedValue]:
    """The values of the long-term memories that an ending names, as far as they really end."""
    named = {(target.memory_id, target.item) for target in ending.targets}
    for row in entries:
        for at, item in enumerate(list_items(row.value)):
            is_named = not named.isdisjoint({(row.id, None), (row.id, at)})
            if is_named and not holds_on(item, said=ending.words, left=ending.left):
                yield KeyedValue(row.key, item, row.message_id)


def carry_out_long_term(
    *,
    user: User,
    targets: Sequence[Target],
    verdict: Verdict,
    said: Said,
    operation: UUID,
    now: datetime,
    twins: Sequence[Named] = (),
) -> None:
    """Carry out a verdict on the long-term ones among targets: end them, or write what is left or corrected of them.

    `twins`: what ends with the targets.
    """
    named = _name_long_term(targets)
    if verdict.relation is Relation.CONTRADICTS:
        named = [replace(one, replacement=_find_left(one, verdict.left, targets=targets, said=said)) for one in named]
    elif verdict.relation is Relation.REFINES:
        corrected = ((one, _find_correction(one, verdict.merged, said=said)) for one in named)
        named = [replace(one, replacement=text) for one, text in corrected if text]
    else:
        return
    if named or twins:
        end_memories(user=user, named=[*named, *twins], said=said, operation=operation, now=now)


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
        endings = [ending for judged in self._judged if (ending := self._read_ending(judged))]
        found = iter(find_twins(user, endings))
        self._twins = {id(judged): next(found) if self._read_ending(judged) else Twins() for judged in self._judged}
        self._ended = list_ended_values(user, {judged.source.message_id for judged in statements})
        contents = [statement.content for statement in statements]
        contents += [operation.text for operation in operations if operation.text]
        self._recorder = AtomicRecorder(
            self._writer,
            targets=[
                target
                for judged in self._judged
                for target in (*name_targets(self._list_known(judged)), *self._twins[id(judged)].atomic)
            ],
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

    def _read_ending(self, judged: JudgedStatement | JudgedOperation) -> Ending | None:
        targets = name_targets(self._list_known(judged))
        if isinstance(judged, JudgedStatement):
            verdict = judged.verdict
            ends = verdict.relation is Relation.CONTRADICTS
            return Ending(targets, judged.content, verdict.left or "", judged.source) if ends else None
        ends = judged.operation is not Operation.ADD
        return Ending(targets, judged.text or "", "", judged.source) if ends else None

    def _state(self, judged: JudgedStatement, known: Sequence[KnownMemory], *, operation: UUID) -> None:
        statement, verdict = judged, judged.verdict
        if verdict.relation is Relation.REFINES and any(memory.by_owner for memory in known):
            # What its owner wrote is not rewritten: what is new is stored beside it.
            known, statement = [], replace(statement, verdict=Verdict(confidence=verdict.confidence))
        targets, twins = name_targets(known), self._twins[id(judged)]
        source = statement.source
        if verdict.relation is Relation.NEW and says_only(
            statement.content, self._ended, message_id=source.message_id, others=[]
        ):
            self._recorder.record_ended(statement, operation=operation)
            return
        self._recorder.record(statement, targets=targets, operation=operation)
        self._recorder.end_parts(twins.lefts, operation=operation, message_id=source.message_id)
        carry_out_long_term(
            user=self._user,
            targets=targets,
            verdict=statement.verdict,
            said=statement.source,
            operation=operation,
            now=self._now,
            twins=twins.entries,
        )

    def _operate(self, asked: JudgedOperation, targets: Sequence[Target], *, operation: UUID) -> None:
        twins = self._twins[id(asked)]
        self._recorder.end_parts(twins.lefts, operation=operation, message_id=asked.source.message_id)
        if asked.operation is Operation.END:
            self._recorder.end(targets, operation=operation, message_id=asked.source.message_id)
            self._end_long_term(targets, twins.entries, replacement=None, said=asked.source, operation=operation)
            return
        assert asked.text is not None
        atomic = [target for target in targets if target.kind is MemoryKind.ATOMIC]
        if atomic:
            relation = Relation.REFINES if asked.operation is Operation.ADD else Relation.CONTRADICTS
            verdict = Verdict(relation, asked.targets, asked.confidence)
            statement = JudgedStatement(content=asked.text, source=asked.source, verdict=verdict)
            self._recorder.record(statement, targets=atomic, operation=operation)
        if asked.operation is Operation.REPLACE:
            self._end_long_term(targets, twins.entries, replacement=asked.text, said=asked.source, operation=operation)
        elif named := _name_long_term(targets):
            add_items(
                user=self._user, named=named, text=asked.text, said=asked.source, operation=operation, now=self._now
            )

    def _end_long_term(
        self,
        targets: Sequence[Target],
        twins: Sequence[Named],
        *,
        replacement: str | None,
        said: Said,
        operation: UUID,
    ) -> None:
        if named := [*_name_long_term(targets, replacement=replacement), *twins]:
            end_memories(user=self._user, named=named, said=said, operation=operation, now=self._now)
