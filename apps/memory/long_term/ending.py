"""Ending long-term memories, or items of them, and adding items, as verdicts say (A3, L3).

The caller holds `lock_memories`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.accounts.models import User
from apps.core.text.json_text import json_text
from apps.memory.judging.types import Said
from apps.memory.long_term.changes import Decision, apply_mode
from apps.memory.long_term.ledger import Ledger
from apps.memory.long_term.proposals import STATED_CONFIDENCE
from apps.memory.long_term.types import Action, Mode
from apps.memory.models import LongTermMemory, Source, Status


@dataclass(frozen=True, slots=True)
class Named:
    """A long-term memory that a verdict names. `text`: as it was shown; `item`: the index of an item of a list."""

    memory_id: UUID
    text: str
    item: int | None = None


@dataclass(slots=True)
class _Ends:
    """What ends of one memory: all of it, or single items."""

    whole: bool = False
    items: list[Any] = field(default_factory=list)


def list_shown(*, key: str, value: Any) -> Iterator[tuple[int | None, str]]:
    """The texts as which a judge is shown a memory: one, or of a list one for each item, with the item's index."""
    if isinstance(value, list) and value:
        yield from ((index, f"{key}: {json_text(item)}") for index, item in enumerate(value))
    else:
        yield None, f"{key}: {json_text(value)}"


def end_memories(
    *, user: User, named: Sequence[Named], replacement: str | None, said: Said, operation: UUID, now: datetime
) -> bool:
    """End long-term memories, or put `replacement` in the place of what ends of each; whether anything changed.

    Left alone: what says something else by now than the judge was shown, and what was said after this. Five queries.
    """
    ledger, rows = _read(user, named, now=now)
    ends: defaultdict[str, _Ends] = defaultdict(_Ends)
    for one in named:
        row = rows.get(one.memory_id)
        if row is None or not _is_as_shown(row, one) or ledger.is_overtaken(row.normalized_key, said_at=said.said_at):
            continue
        if one.item is None:
            ends[row.normalized_key].whole = True
        else:
            ends[row.normalized_key].items.append(row.value[one.item])
    for key, ended in ends.items():
        active = ledger.get(key).active
        assert active is not None
        result: Any = replacement
        if not ended.whole:
            result = apply_mode(mode=Mode.REMOVE, current=active.value, proposed=ended.items)
            if replacement:
                result = apply_mode(mode=Mode.ADD, current=result, proposed=replacement)
        _apply(ledger, active, result, said=said)
    if ends:
        ledger.save(vectors_at_once=False, message_id=said.message_id, operation=operation)
    return bool(ends)


def add_items(*, user: User, named: Sequence[Named], text: str, said: Said, operation: UUID, now: datetime) -> bool:
    """Add an item to each of the memories, which become lists; whether anything changed."""
    ledger, rows = _read(user, named, now=now)
    for row in rows.values():
        active = ledger.get(row.normalized_key).active
        if active is not None:
            _apply(ledger, active, apply_mode(mode=Mode.ADD, current=active.value, proposed=text), said=said)
    return bool(ledger.save(vectors_at_once=False, message_id=said.message_id, operation=operation))


def _read(user: User, named: Sequence[Named], *, now: datetime) -> tuple[Ledger, dict[UUID, LongTermMemory]]:
    ids = {one.memory_id for one in named}
    mine = LongTermMemory.objects.filter(user=user, status=Status.ACTIVE, id__in=ids)
    keys = list(mine.values_list("normalized_key", flat=True))
    ledger = Ledger(user=user, keys=keys, now=now)
    found = [row for key in keys if (row := ledger.get(key).active) is not None and row.id in ids]
    return ledger, {row.id: row for row in found}


def _is_as_shown(row: LongTermMemory, named: Named) -> bool:
    return (named.item, named.text) in list(list_shown(key=row.key, value=row.value))


def _apply(ledger: Ledger, active: LongTermMemory, result: Any, *, said: Said) -> None:
    ledger.apply(
        Decision(Action.SUPERSEDED, result),
        category=active.category,
        key=active.key,
        source=Source.USER_STATED,
        confidence=max(STATED_CONFIDENCE, active.confidence),
        mode=Mode.REPLACE,
        session_id=said.session_id,
        message_id=said.message_id,
    )
