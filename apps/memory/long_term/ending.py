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
from apps.core.text.json_text import readable_text
from apps.memory.judging.types import Said
from apps.memory.long_term.changes import Decision, apply_mode
from apps.memory.long_term.ledger import Ledger
from apps.memory.long_term.proposals import STATED_CONFIDENCE
from apps.memory.long_term.types import Action, Mode
from apps.memory.models import LongTermMemory, Source


@dataclass(frozen=True, slots=True)
class Named:
    """A long-term memory that a verdict names. `text`: as it was shown; `item`: the index of an item of a list.

    `replacement`: what takes the place of the value, or of the item.
    """

    memory_id: UUID
    text: str
    item: int | None = None
    replacement: str | None = None


@dataclass(slots=True)
class _Ends:
    """What ends of one memory: all of it, or single items, and what takes their place."""

    whole: bool = False
    items: list[Any] = field(default_factory=list)
    replacements: list[str] = field(default_factory=list)


def list_shown(*, key: str, value: Any) -> Iterator[tuple[int | None, str]]:
    """The texts as which a judge is shown a memory: one, or of a list one for each item, with the item's index."""
    if isinstance(value, list) and value:
        yield from ((index, f"{key}: {readable_text(item)}") for index, item in enumerate(value))
    else:
        yield None, f"{key}: {readable_text(value)}"


def end_memories(*, user: User, named: Sequence[Named], said: Said, operation: UUID, now: datetime) -> bool:
    """End long-term memories, or put their replacements in the place of what ends; whether anything changed.

    Left alone: what says something else by now than the judge was shown, and what was said after this. Five queries.
    """
    ledger, rows = _read(user, named, now=now)
    ends: defaultdict[str, _Ends] = defaultdict(_Ends)
    for one in named:
        row = rows.get(one.memory_id)
        value = None if row is None else _find_shown(row, one)
        if row is None or value is None or ledger.is_overtaken(row.normalized_key, said_at=said.said_at):
            continue
        ended = ends[row.normalized_key]
        if one.item is None:
            ended.whole = True
        else:
            ended.items.append(value)
        if one.replacement:
            ended.replacements.append(one.replacement)
    for key, ended in ends.items():
        active = ledger.get(key).active
        assert active is not None
        if ended.whole:
            result: Any = ended.replacements[0] if ended.replacements else None
        else:
            result = apply_mode(mode=Mode.REMOVE, current=active.value, proposed=ended.items)
            for replacement in dict.fromkeys(ended.replacements):
                result = apply_mode(mode=Mode.ADD, current=result, proposed=replacement)
        _apply(ledger, active, result, said=said)
    if ends:
        ledger.save(message_id=said.message_id, operation=operation, with_twins=False)
    return bool(ends)


def add_items(*, user: User, named: Sequence[Named], text: str, said: Said, operation: UUID, now: datetime) -> bool:
    """Add an item to each of the memories, which become lists; whether anything changed."""
    ledger, rows = _read(user, named, now=now)
    for row in rows.values():
        active = ledger.get(row.normalized_key).active
        if active is not None:
            _apply(ledger, active, apply_mode(mode=Mode.ADD, current=active.value, proposed=text), said=said)
    return bool(ledger.save(message_id=said.message_id, operation=operation, with_twins=False))


def _read(user: User, named: Sequence[Named], *, now: datetime) -> tuple[Ledger, dict[UUID, LongTermMemory]]:
    """The active memory of the key of each that is named: another verdict of the answer may have written it anew."""
    mine = LongTermMemory.objects.filter(user=user, id__in={one.memory_id for one in named})
    keys = dict(mine.values_list("id", "normalized_key"))
    ledger = Ledger(user=user, keys=keys.values(), now=now)
    return ledger, {row_id: row for row_id, key in keys.items() if (row := ledger.get(key).active) is not None}


def _find_shown(row: LongTermMemory, named: Named) -> Any:
    """The value, or the item of it, that was shown; None where the memory says something else by now."""
    for item, text in list_shown(key=row.key, value=row.value):
        if text == named.text and (item is None) == (named.item is None):
            return row.value if item is None else row.value[item]
    return None


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
