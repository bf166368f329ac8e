"""A person's decision about pending atomic memories, and about what they would end (A3, M6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from django.db import transaction

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.core.text.instructions import is_instruction
from apps.memory.atomic.audit import describe_change, snapshot
from apps.memory.atomic.held_verdicts import HeldVerdict
from apps.memory.atomic.recorder import AtomicRecorder
from apps.memory.atomic.selectors import get_atomic_memory
from apps.memory.atomic.writing import MemoryWriter
from apps.memory.history.services import record_changes
from apps.memory.judging.types import Reason, Relation, Said, Verdict
from apps.memory.locking import lock_memories
from apps.memory.models import AtomicMemory, Change, Status
from apps.memory.types import MemoryKind
from apps.memory.verdicts import carry_out_long_term

_MAX_LENGTH = 32_000
"""Of a merged content: what its owner accepts may be as long as what they write."""


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
    proposal = HeldVerdict.from_json(memory.proposal)
    if proposal is not None:
        return proposal.reason
    return Reason.INSTRUCTION if is_instruction(memory.content) else Reason.UNSURE


def preview_acceptance(memory: AtomicMemory) -> AtomicAcceptance:
    """Return what accepting this pending memory would do now; changes nothing. Two queries."""
    proposal = HeldVerdict.from_json(memory.proposal)
    recorder = _make_recorder(memory, proposal, writer=MemoryWriter(memory.user, now=memory.updated_at))
    if proposal is None:
        return AtomicAcceptance(same=recorder.find_same(memory.content))
    ended = [row.content for row in recorder.find_ended(proposal)]
    if proposal.relation is Relation.CONTRADICTS:
        ended += [target.text for target in proposal.targets if target.kind is MemoryKind.LONG_TERM]
    return AtomicAcceptance(
        same=recorder.find_same(memory.content) if proposal.is_memory else None,
        ended=ended,
        left=proposal.left,
        merged=proposal.merged if ended else None,
        is_memory=proposal.is_memory,
    )


@transaction.atomic
def accept_atomic_memory(*, user: User, memory_id: UUID, now: datetime) -> AtomicMemory:
    """Accept a pending memory and carry out what it proposes, on what still says what the judge was shown (A3).

    Where an active memory says the same already, the pending one is superseded by that. Raises `NotFound`; `Conflict`
    unless it is pending.
    """
    lock_memories(user)
    memory = _get_pending(user, memory_id)
    proposal = HeldVerdict.from_json(memory.proposal)
    writer, operation = MemoryWriter(user, now=now), uuid4()
    said = Said(message_id=memory.message_id, session_id=memory.session_id, said_at=now, text=memory.content)
    recorder = _make_recorder(memory, proposal, writer=writer)
    recorder.accept(memory, proposal or HeldVerdict(Reason.UNSURE), operation=operation)
    writer.save()
    if proposal is not None:
        verdict = Verdict(proposal.relation, left=proposal.left, merged=proposal.merged)
        carry_out_long_term(
            user=user,
            targets=proposal.targets,
            verdict=verdict,
            said=said,
            operation=operation,
            now=now,
        )
    return memory


@transaction.atomic
def reject_atomic_memory(*, user: User, memory_id: UUID, now: datetime) -> AtomicMemory:
    """Turn a pending memory down: it is not recorded again. Raises `NotFound`; `Conflict` unless it is pending."""
    lock_memories(user)
    memory = _get_pending(user, memory_id)
    before = snapshot(memory)
    memory.status, memory.updated_at = Status.REJECTED, now
    memory.save(update_fields=["status", "updated_at"])
    change = describe_change(memory, action=Change.Action.REJECT, before=before)
    record_changes(user=user, changes=[change], now=now)
    return memory


def _make_recorder(memory: AtomicMemory, proposal: HeldVerdict | None, *, writer: MemoryWriter) -> AtomicRecorder:
    return AtomicRecorder(
        writer,
        targets=proposal.targets if proposal else (),
        contents=[memory.content],
        user_id=memory.user_id,
        max_length=_MAX_LENGTH,
    )


def _get_pending(user: User, memory_id: UUID) -> AtomicMemory:
    memory = get_atomic_memory(user, memory_id)
    if memory.status != Status.PENDING:
        raise Conflict(f"Only a pending memory can be accepted or rejected; this one is {memory.status}.")
    return memory
