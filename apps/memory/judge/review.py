"""Review: what waits for its owner, what their decision does, and letting active memories wait again (A3, M6)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.core.text.instructions import is_instruction
from apps.memory.entries import Ledger
from apps.memory.judge.recorder import AtomicRecorder, carry_out_long_term, keep_long_term
from apps.memory.judge.types import PendingVerdict, Reason, Relation, Said, Verdict
from apps.memory.keyed import Mode, apply_mode
from apps.memory.kinds import ATOMIC, KINDS, LONG_TERM, MemoryKind
from apps.memory.locking import lock_memories
from apps.memory.models import SEARCH_FIELDS, AtomicMemory, Change, LongTermMemory, Status
from apps.memory.tombstones import clear_tombstones
from apps.memory.writer import Writer

_MAX_LENGTH = 32_000  # of a merged content: what its owner accepts may be as long as what they write


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What accepting a long-term memory would do now. `active`: the memory of its key that it would supersede, if any.

    `result`: the value the key has afterwards, None when its last item goes.
    """

    active: LongTermMemory | None
    result: Any


def preview_acceptances(memories: Iterable[LongTermMemory]) -> Mapping[UUID, Acceptance]:
    """Return what accepting each of these pending memories, of any number of people, would do by itself. One query."""
    pending = list(memories)
    rows = LongTermMemory.objects.filter(
        user__in={memory.user_id for memory in pending},
        normalized_key__in={memory.normalized_key for memory in pending},
        status=Status.ACTIVE,
    )
    active = {(row.user_id, row.space_id, row.normalized_key): row for row in rows.defer(*SEARCH_FIELDS) if pending}
    found = {}
    for memory in pending:
        there = active.get((memory.user_id, memory.space_id, memory.normalized_key))
        current = None if there is None else there.value
        found[memory.id] = Acceptance(
            active=there, result=apply_mode(mode=Mode(memory.mode), current=current, proposed=memory.value)
        )
    return found


@dataclass(frozen=True, slots=True)
class AtomicAcceptance:
    """What accepting does. `same`: the active memory that says it already and stays; `ended`: the texts that end.

    `merged`: the one text that both become, where nothing ends but two become one. `is_memory`: whether the text itself
    becomes a memory.
    """

    same: AtomicMemory | None = None
    ended: Sequence[str] = ()
    left: str | None = None
    merged: str | None = None
    is_memory: bool = True


def find_reason(memory: AtomicMemory) -> Reason:
    """Return why a pending memory waits; of one without a record of it what its text and its confidence tell."""
    return _read_proposal(memory).reason


def _read_proposal(memory: AtomicMemory) -> PendingVerdict:
    reason = Reason.INSTRUCTION if is_instruction(memory.content) else Reason.UNSURE
    return PendingVerdict.from_json(memory.proposal) or PendingVerdict(reason)


def preview_acceptance(memory: AtomicMemory) -> AtomicAcceptance:
    """Return what accepting this pending memory would do now; changes nothing. Two queries."""
    proposal = _read_proposal(memory)
    recorder = _make_recorder(memory, proposal, writer=Writer(memory.user, now=memory.updated_at))
    ended = [row.content for row in recorder.find_ended(proposal)]
    if proposal.relation is Relation.CONTRADICTS:
        ended += [target.text for target in keep_long_term(proposal.targets)]
    return AtomicAcceptance(
        same=recorder.find_same(memory) if proposal.is_memory else None,
        ended=ended,
        left=proposal.left,
        merged=proposal.merged if ended else None,
        is_memory=proposal.is_memory,
    )


@transaction.atomic
def accept_memory(kind: MemoryKind, *, user: User, memory_id: UUID, now: datetime) -> Any:
    """Accept a pending memory. Raises `NotFound`; `Conflict` unless it is pending.

    A long-term one is applied to the current value of its key (L2): it becomes the active memory, with the resulting
    items if the value is a list, and supersedes the previous one. If it removes the last item, nothing remains active
    and it counts as superseded too. Of an atomic one the verdict is carried out on what still says what the judge was
    shown (A3); where an active memory says the same already, the pending one is superseded by that.
    """
    lock_memories(user)
    memory = _get_pending(kind, user, memory_id)
    if kind is ATOMIC:
        _accept_verdict(user, memory, now=now)
        return memory
    if memory.mode != Mode.REMOVE:
        clear_tombstones(user=user, digests=LONG_TERM.digests(user, vars(memory)))
    ledger = Ledger(user.within(memory.space_id), [memory.normalized_key], now=now)
    accepted = ledger.accept(memory_id, memory.normalized_key)
    ledger.save()
    return accepted


def _accept_verdict(user: User, memory: AtomicMemory, *, now: datetime) -> None:
    proposal, writer = _read_proposal(memory), Writer(user, now=now, message_id=memory.message_id)
    _make_recorder(memory, proposal, writer=writer).accept(memory, proposal)
    writer.save()
    carry_out_long_term(
        user=user,
        targets=proposal.targets,
        verdict=Verdict(proposal.relation, left=proposal.left, merged=proposal.merged),
        said=Said(memory.message_id, memory.session_id, now, memory.content),
        operation=writer.operation,
        now=now,
    )


@transaction.atomic
def reject_memory(kind: MemoryKind, *, user: User, memory_id: UUID, now: datetime) -> Any:
    """Turn a pending memory down: it is not proposed again (L1). Raises `NotFound`; `Conflict` unless it is pending."""
    lock_memories(user)
    memory = _get_pending(kind, user, memory_id)
    writer = Writer(user, now=now)
    with writer.change(kind, memory, Change.Action.REJECT):
        memory.status = Status.REJECTED
    writer.save()
    return memory


@transaction.atomic
def send_to_review(*, user: User, ids: Collection[UUID], now: datetime) -> tuple[UUID | None, int]:
    """Let active memories of both kinds wait for review, as one operation; returns that, and how many were active.

    As if they had just been proposed: accepted, they are what they were. IDs of none, of another person's and of what
    is not active are passed over.
    """
    lock_memories(user)
    writer, count = Writer(user, now=now), 0
    for kind in KINDS:
        for memory in kind.changeable(user).filter(id__in=ids, status=Status.ACTIVE).select_for_update():
            with writer.change(kind, memory, Change.Action.EDIT):
                memory.status = Status.PENDING
                if kind is ATOMIC:  # a long-term one's record says why it waits
                    memory.proposal = PendingVerdict(Reason.SET_ASIDE).to_json()
            count += 1
    writer.save()
    return (writer.operation if count else None), count


def list_sent_to_review(user_ids: Collection[int], *, ids: Collection[UUID]) -> set[UUID]:
    """Return those of these pending long-term memories that were active until they were sent to review. One query."""
    changes = Change.objects.filter(
        user__in=user_ids,
        object_id__in=ids,
        kind=Change.Kind.LONG_TERM,
        undone_by=None,
        before__status=Status.ACTIVE,
        after__status=Status.PENDING,
    )
    return set(changes.values_list("object_id", flat=True))


def _make_recorder(memory: AtomicMemory, proposal: PendingVerdict, *, writer: Writer) -> AtomicRecorder:
    there = memory.user.within(memory.space_id)
    return AtomicRecorder(writer, there, targets=proposal.targets, contents=[memory.content], max_length=_MAX_LENGTH)


def _get_pending(kind: MemoryKind, user: User, memory_id: UUID) -> Any:
    memory = kind.get(user, memory_id, to_change=True)
    if memory.status != Status.PENDING:
        raise Conflict(f"Only a pending memory can be accepted or rejected; this one is {memory.status}.")
    return memory
