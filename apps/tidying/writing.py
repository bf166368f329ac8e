"""Carrying out the decisions of a run (D1, D2). The caller holds `lock_memories`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from apps.accounts.models import User
from apps.core.text.clean import readable_text
from apps.memory.judge.types import PendingVerdict, Reason, Relation, Target
from apps.memory.kinds import ATOMIC, KINDS, MemoryKind, get_kind
from apps.memory.lifecycle import absorb
from apps.memory.marks import sort_marks
from apps.memory.models import AtomicMemory, AtomicSource, Change, Status
from apps.memory.types import KindName
from apps.memory.writer import Writer
from apps.tidying.decide import Decision
from apps.tidying.prompt import Action, ReadMemory

Rows = Mapping[UUID, Any]


def write_decisions(user: User, decisions: Sequence[Decision], *, now: datetime) -> list[UUID]:
    """Carry out decisions, each as one operation; returns their IDs.

    Left out: what says something else by now than the model was shown, or is active no more. About five queries.
    """
    user = user.overseeing()
    rows = _read_rows(user, decisions)
    writer = Writer(user, now=now)
    operations = []
    for decision in decisions:
        named = [*decision.targets, *([decision.keep] if decision.keep else [])]
        if not all(_is_unchanged(rows, memory) for memory in named):
            continue
        writer.begin(uuid4(), reason=_choose_reason(decision))
        if decision.waits is not None:
            _hold(writer, decision, decision.waits, rows)
        elif decision.action is Action.END:
            for memory in decision.targets:
                _let_end(writer, memory, rows[memory.id])
        else:
            _end_for(writer, decision, rows)
        operations.append(writer.operation)
    writer.save()
    return operations


def _choose_reason(decision: Decision) -> str:
    """The reason as it may be kept: it goes with the memories that change, and must not quote any other.

    What takes the place of a memory of its kind is deleted with that; of the other kind, it may be deleted alone.
    """
    across = decision.keep is not None and any(memory.kind is not decision.keep.kind for memory in decision.targets)
    return "" if across or decision.action is Action.PATTERN else decision.reason


def _read_rows(user: User, decisions: Sequence[Decision]) -> Rows:
    named = {memory.id for decision in decisions for memory in (*decision.targets, *filter(None, [decision.keep]))}
    return {
        row.id: row for kind in KINDS for row in (kind.active(user).filter(id__in=named, muted=False) if named else ())
    }


def _is_unchanged(rows: Rows, memory: ReadMemory) -> bool:
    row = rows.get(memory.id)
    return row is not None and row.status == Status.ACTIVE and tell(get_kind(memory.kind), row) == memory.text


def tell(kind: MemoryKind, row: Any) -> str:
    """Return the text as which a model is shown a memory."""
    return str(row.content) if kind is ATOMIC else f"{row.key}: {readable_text(row.value)}"


def _end_for(writer: Writer, decision: Decision, rows: Rows) -> None:
    """End memories for one that stays; of merged ones it takes over what is not text."""
    assert decision.keep is not None
    keep, kept = get_kind(decision.keep.kind), rows[decision.keep.id]
    for memory in decision.targets:
        kind, row = get_kind(memory.kind), rows[memory.id]
        action = Change.Action.MERGE if decision.action is Action.MERGE else Change.Action.SUPERSEDE
        writer.supersede(kind, row, by=kept if kind is keep else None, action=action)
        if decision.action is Action.MERGE:
            with writer.change(keep, kept, Change.Action.MERGE):
                absorb(keep, kept, row)


def _let_end(writer: Writer, memory: ReadMemory, row: Any) -> None:
    """Say of a plan that it is over: from its day on it is kept, and no longer recalled (D3)."""
    with writer.change(get_kind(memory.kind), row, Change.Action.EDIT):
        row.valid_until = memory.ends_at


def _hold(writer: Writer, decision: Decision, waits: Reason, rows: Rows) -> None:
    """Let a decision wait in Review, as a pending atomic memory with what accepting it does."""
    first = decision.targets[0]
    is_pattern = decision.action is Action.PATTERN
    keeps = decision.keep.text if decision.keep else ""
    proposal = PendingVerdict(
        waits,
        Relation.NEW if is_pattern else Relation.CONTRADICTS,
        list(_list_targets(decision.targets, with_text=not is_pattern)),
        is_memory=bool(decision.text) or (decision.keep is not None and decision.keep.kind is KindName.ATOMIC),
    )
    sources = {rows[memory.id].source for memory in decision.targets if memory.kind is KindName.ATOMIC}
    days = sorted(memory.event or memory.said_at for memory in decision.targets)
    memory = AtomicMemory(
        status=Status.PENDING,
        proposal=proposal.to_json(),
        timestamp=max(memory.said_at for memory in decision.targets),
        source=AtomicSource.ASSISTANT if sources == {AtomicSource.ASSISTANT} else AtomicSource.USER_STATED,
        sensitive=sort_marks([mark for memory in decision.targets for mark in rows[memory.id].sensitive]),
        event_start=days[0] if is_pattern else None,
        event_end=days[-1] if is_pattern else None,
    )
    ATOMIC.assign(memory, {"content": decision.text or keeps or first.text})
    writer.create(ATOMIC, memory, beside=rows[first.id])


def _list_targets(memories: Sequence[ReadMemory], *, with_text: bool) -> Iterator[Target]:
    """The memories as a verdict names them. What shows a pattern is looked up by its ID: no copy of it is kept."""
    for memory in memories:
        yield Target(memory.kind, memory.id, memory.text if with_text else "")
