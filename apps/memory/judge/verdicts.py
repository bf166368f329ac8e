"""Recording what a judge made of a message, across atomic and long-term memory (A2, A3): the one way in.

Its verdicts are carried out as they were given. What a person would want to look at first waits for their review; what
is true is not decided here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid4

from django.db import transaction

from apps.accounts.models import User
from apps.accounts.spaces import held_by
from apps.accounts.types import REMEMBER_ALL, Handling, SensitiveHandling
from apps.conversations.sessions import note_not_remembered
from apps.core.text.clean import clean_text
from apps.core.text.fold import normalize_value
from apps.core.text.instructions import is_instruction
from apps.core.text.sentences import cut_at_sentence
from apps.memory.judge.recorder import AtomicRecorder, add_items, carry_out_long_term, end_memories, keep_long_term
from apps.memory.judge.twins import list_ended_values, says_only
from apps.memory.judge.types import (
    Judged,
    JudgedOperation,
    JudgedStatement,
    KnownMemory,
    Operation,
    Reason,
    Relation,
    Target,
    Verdict,
)
from apps.memory.locking import lock_memories
from apps.memory.models import AtomicMemory, Status
from apps.memory.tombstones import find_deleted
from apps.memory.types import KindName
from apps.memory.validation import tells_secret
from apps.memory.writer import Writer

# Memories that one message may end, replace or rewrite by itself: "more than a handful" is looked at first.
MAX_ENDS = 5


@dataclass(frozen=True, slots=True)
class _Case:
    """A statement or an operation with all that was read and decided of it, once.

    `excluded`: nothing of what it says is stored, as its owner chose (D4).
    """

    judged: Judged
    targets: Sequence[KnownMemory]
    hold: Reason | None
    excluded: bool


def record_verdicts(
    *,
    user: User,
    statements: Sequence[JudgedStatement],
    operations: Sequence[JudgedOperation] = (),
    known: Sequence[KnownMemory],
    max_length: int,
    auto_accept_confidence: float,
    sensitive: SensitiveHandling = REMEMBER_ALL,
    now: datetime,
) -> list[AtomicMemory]:
    """Carry out verdicts on the memories that the judge was shown; returns the atomic rows made or changed.

    Statements go in the order in which they were said. A target that was not shown is void. Left out: what was deleted
    after it was said (L6), what is a secret or tells of one (D4), what was rejected or waits, and what this very
    message has left already. `max_length`: of a content in characters. `sensitive`: how its owner wants what the judge
    marked to be handled (D4); what is excluded is noted on its message and only ends what it contradicts. Every
    statement and every operation is one change, undone as one, across both kinds.
    """
    own = {memory.number for memory in known if not memory.by_assistant}
    numbers = {memory.number for memory in known}
    stated = [one for one in _clean(statements, max_length=max_length) if not _tells_secret(one)]
    theirs = {one.number for one in stated if one.by_assistant}
    stated = [_sanitize(one, _list_open(one, own, numbers), theirs=theirs) for one in stated]
    asked = [
        replace(one, targets=_keep_shown(one.targets, own if one.operation is Operation.ADD else numbers))
        for one in operations
    ]
    asked = [one for one in asked if one.targets and _has_text(one) and not tells_secret(one.text)]
    if not (stated or asked):
        return []
    with transaction.atomic(savepoint=False):
        lock_memories(user)
        stated = _drop_decided(user, stated)
        asked = _drop_waiting(user, asked)
        cases = _decide([*stated, *asked], known, threshold=auto_accept_confidence, sensitive=sensitive)
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
            said = case.judged.source
            writer.begin(uuid4(), message_id=said.message_id)
            is_known = _is_known(case.judged, recorder)
            if case.excluded and not is_known:
                _leave_out(user, recorder, case, sensitive, operation=writer.operation, now=now)
            elif case.hold is not None and not (case.hold is Reason.SENSITIVE and is_known):
                recorder.hold(case.judged, case.hold, targets=case.targets)
            elif isinstance(case.judged, JudgedOperation):
                _operate(user, recorder, case, case.judged, operation=writer.operation, now=now)
            elif case.judged.verdict.relation is Relation.NEW and says_only(
                case.judged.content, ended, message_id=said.message_id, others=[]
            ):
                recorder.record_ended(case.judged)
            else:
                _state(user, recorder, case, case.judged, operation=writer.operation, now=now)
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


def _tells_secret(statement: JudgedStatement) -> bool:
    return tells_secret(statement.content, statement.verdict.left, statement.verdict.merged, *statement.tags)


def _list_open(statement: JudgedStatement, own: Collection[int], numbers: Collection[int]) -> Collection[int]:
    """Return the memories that a verdict may name: `own` are those of the person's words, `numbers` all.

    What the assistant says does nothing to what the person said (A6). The person may end what the assistant said, but
    their words are not joined to it.
    """
    if statement.by_assistant:
        return set(numbers) - set(own)
    return numbers if statement.ends else own


def _sanitize(statement: JudgedStatement, numbers: Collection[int], *, theirs: Collection[int]) -> JudgedStatement:
    """Return a statement with what its verdict can know; without a target that was shown it is new.

    `theirs`: the statements of the same answer that tell the assistant's words.
    """
    if statement.by_assistant:
        statement = replace(statement, revises=_keep_shown(statement.revises, theirs))
    verdict, targets = statement.verdict, _keep_shown(statement.targets, numbers)
    if verdict.relation is Relation.NEW or not targets:
        return replace(statement, verdict=Verdict(confidence=verdict.confidence))
    left = verdict.left if verdict.relation is Relation.CONTRADICTS else None
    merged = verdict.merged if verdict.relation is Relation.REFINES else None
    return replace(statement, verdict=replace(verdict, targets=targets, left=left, merged=merged))


def _keep_shown(targets: Sequence[int], numbers: Collection[int]) -> tuple[int, ...]:
    """Return the targets that were shown, each once."""
    return tuple(dict.fromkeys(target for target in targets if target in numbers))


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
    mine = AtomicMemory.objects.filter(held_by(user), user=user)
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


def _decide(
    judged: Sequence[Judged], known: Sequence[KnownMemory], *, threshold: float, sensitive: SensitiveHandling
) -> list[_Case]:
    """Return every case with its targets, and why it has to wait, if it has."""
    by_number = {memory.number: memory for memory in known}
    ends: Counter[UUID | None] = Counter()
    for one in judged:
        if one.ends:
            ends[one.source.message_id] += len(one.targets)
    cases = []
    for one in judged:
        shown = [by_number[number] for number in one.targets]
        many = ends[one.source.message_id] > MAX_ENDS
        handling = sensitive.decide(one.sensitive if one.text else ())
        hold = _find_hold(one, shown, threshold=threshold, many=many, handling=handling)
        cases.append(_Case(one, shown, hold, excluded=handling is Handling.EXCLUDE))
    return cases


def _find_hold(
    judged: Judged, shown: Sequence[KnownMemory], *, threshold: float, many: bool, handling: Handling
) -> Reason | None:
    """Return why a verdict has to wait, None where it may be carried out. `many`: its message ends more than a few."""
    if isinstance(judged, JudgedStatement) and judged.verdict.relation is Relation.SAME:
        return None  # nothing of it is written
    if is_instruction(judged.text or ""):
        return Reason.INSTRUCTION
    if not judged.grounded:
        return Reason.UNGROUNDED
    if judged.confidence < threshold:
        return Reason.UNSURE
    if handling is Handling.REVIEW:
        return Reason.SENSITIVE
    if isinstance(judged, JudgedOperation) and any(memory.elsewhere for memory in shown):
        return Reason.ELSEWHERE
    if not (judged.ends and shown):
        return None
    if any(memory.elsewhere for memory in shown):
        return Reason.ELSEWHERE
    if any(memory.by_owner for memory in shown):
        return Reason.BY_OWNER
    if not judged.confirmed:
        return Reason.UNCONFIRMED
    return Reason.MANY_ENDS if many else None


def _is_known(judged: Judged, recorder: AtomicRecorder) -> bool:
    """Whether a statement says nothing that is not remembered: its owner had it remembered, or before they excluded it.

    An operation is never known: its text is what a memory says from now on.
    """
    if isinstance(judged, JudgedOperation):
        return False
    return judged.verdict.relation is Relation.SAME or recorder.is_known(judged)


def _leave_out(
    user: User, recorder: AtomicRecorder, case: _Case, sensitive: SensitiveHandling, *, operation: UUID, now: datetime
) -> None:
    """Store nothing of what a case says, and note why on its message; what is no longer true ends all the same."""
    judged, said = case.judged, case.judged.source
    if said.message_id is not None:
        categories = set(judged.sensitive).intersection(sensitive.select(Handling.EXCLUDE))
        note_not_remembered(user=user, message_id=said.message_id, categories=categories)
    if not judged.ends or case.hold is not None:
        return
    left = judged.verdict.left if isinstance(judged, JudgedStatement) else None
    verdict = Verdict(Relation.CONTRADICTS, judged.targets, judged.confidence, left=left)
    recorder.end(case.targets, left=left, said_at=said.said_at)
    carry_out_long_term(user=user, targets=case.targets, verdict=verdict, said=said, operation=operation, now=now)


def _state(
    user: User, recorder: AtomicRecorder, case: _Case, statement: JudgedStatement, *, operation: UUID, now: datetime
) -> None:
    targets: Sequence[Target] = case.targets
    verdict = statement.verdict
    if verdict.relation is Relation.SAME and any(memory.elsewhere for memory in case.targets):
        return
    kept = any(memory.by_owner or memory.elsewhere for memory in case.targets)
    if verdict.relation is Relation.REFINES and kept:
        # What its owner wrote, and what is not of this space, is not rewritten: what is new is stored beside it.
        targets, statement = [], replace(statement, verdict=Verdict(confidence=verdict.confidence))
    recorder.record(statement, targets=targets)
    said, verdict = statement.source, statement.verdict
    carry_out_long_term(user=user, targets=targets, verdict=verdict, said=said, operation=operation, now=now)


def _operate(
    user: User, recorder: AtomicRecorder, case: _Case, asked: JudgedOperation, *, operation: UUID, now: datetime
) -> None:
    replacement = asked.text if asked.operation is Operation.REPLACE else None
    if asked.operation is Operation.END:
        recorder.end(case.targets)
    elif atomic := [target for target in case.targets if target.kind is KindName.ATOMIC]:
        assert asked.text is not None
        relation = Relation.REFINES if asked.operation is Operation.ADD else Relation.CONTRADICTS
        verdict = Verdict(relation, asked.targets, asked.confidence)
        statement = JudgedStatement(content=asked.text, source=asked.source, verdict=verdict, sensitive=asked.sensitive)
        recorder.record(statement, targets=atomic)
    named = keep_long_term(case.targets)
    if named and asked.operation is not Operation.ADD:
        endings = [(target, replacement) for target in named]
        end_memories(user=user, endings=endings, said=asked.source, operation=operation, now=now)
    elif named:
        assert asked.text is not None
        add_items(user=user, targets=named, text=asked.text, said=asked.source, operation=operation, now=now)
