"""Ending long-term memories, or items of them, and adding items, as verdicts say (A3, L3).

The caller holds `lock_memories`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.accounts.models import User
from apps.core.text.clean import readable_text
from apps.core.text.grounding import is_grounded, is_said_by
from apps.memory.entries import Ledger, Origin
from apps.memory.judge.types import Named, Relation, Said, Target, Verdict
from apps.memory.keyed import Action, Decision, Mode, apply_mode
from apps.memory.models import LongTermMemory, Source
from apps.memory.proposals import STATED_CONFIDENCE, Proposal
from apps.memory.types import KindName


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
    named = name_long_term(targets)
    if verdict.relation is Relation.CONTRADICTS:
        named = [replace(one, replacement=_find_left(one, verdict.left, targets=targets, said=said)) for one in named]
    elif verdict.relation is Relation.REFINES:
        corrected = ((one, _find_correction(one, verdict.merged, said=said)) for one in named)
        named = [replace(one, replacement=text) for one, text in corrected if text]
    else:
        return
    if named:
        end_memories(user=user, named=named, said=said, operation=operation, now=now)


def name_long_term(targets: Sequence[Target], *, replacement: str | None = None) -> list[Named]:
    return [
        Named(target.memory_id, target.text, target.item, replacement)
        for target in targets
        if target.kind is KindName.LONG_TERM
    ]


def _find_left(one: Named, left: str | None, *, targets: Sequence[Target], said: Said) -> str | None:
    """What is left of a long-term memory: of an item of a list nothing where an atomic memory is named beside it."""
    if not left or not is_grounded(left, said=f"{one.text}\n{said.text}"):
        return None
    beside = one.item is not None and any(target.kind is KindName.ATOMIC for target in targets)
    return None if beside else _drop_key(left, of=one)


def _find_correction(one: Named, merged: str | None, *, said: Said) -> str | None:
    """The text that takes the place of a value which a refinement corrects: one that does not say it all any more."""
    value = one.text.partition(": ")[2]
    if not merged or not is_grounded(merged, said=f"{one.text}\n{said.text}") or is_said_by(value, said=merged):
        return None
    return _drop_key(merged, of=one)


def _drop_key(text: str, *, of: Named) -> str:
    return text.removeprefix(f"{of.text.partition(': ')[0]}:").strip() or text


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
    ledger, rows = _read_active(user, named, said=said, operation=operation, now=now)
    ends: defaultdict[str, _Ends] = defaultdict(_Ends)
    for one in named:
        row = rows.get(one.memory_id)
        value = None if row is None else _find_shown(row, one)
        if row is None or value is None or ledger.is_stale(row.normalized_key, said_at=said.said_at):
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
        ledger.save(with_twins=False)
    return bool(ends)


def add_items(*, user: User, named: Sequence[Named], text: str, said: Said, operation: UUID, now: datetime) -> bool:
    """Add an item to each of the memories, which become lists; whether anything changed."""
    ledger, rows = _read_active(user, named, said=said, operation=operation, now=now)
    for row in rows.values():
        active = ledger.get(row.normalized_key).active
        if active is not None:
            _apply(ledger, active, apply_mode(mode=Mode.ADD, current=active.value, proposed=text), said=said)
    return bool(ledger.save(with_twins=False))


def _read_active(
    user: User, named: Sequence[Named], *, said: Said, operation: UUID, now: datetime
) -> tuple[Ledger, dict[UUID, LongTermMemory]]:
    """The active memory of the key of each that is named: another verdict of the answer may have written it anew."""
    mine = LongTermMemory.objects.filter(user=user, id__in={one.memory_id for one in named})
    keys = dict(mine.values_list("id", "normalized_key"))
    ledger = Ledger(user, keys.values(), now=now, operation=operation, message_id=said.message_id)
    return ledger, {row_id: row for row_id, key in keys.items() if (row := ledger.get(key).active) is not None}


def _find_shown(row: LongTermMemory, named: Named) -> Any:
    """The value, or the item of it, that was shown; None where the memory says something else by now."""
    for item, text in list_shown(key=row.key, value=row.value):
        if text == named.text and (item is None) == (named.item is None):
            return row.value if item is None else row.value[item]
    return None


def _apply(ledger: Ledger, active: LongTermMemory, result: Any, *, said: Said) -> None:
    proposal = Proposal(
        category=active.category,
        key=active.key,
        value=result,
        source=Source.USER_STATED,
        confidence=max(STATED_CONFIDENCE, active.confidence),
        mode=Mode.REPLACE,
        normalized_key=active.normalized_key,
    )
    ledger.apply(Decision(Action.SUPERSEDED, result), proposal, Origin(said.session_id, said.message_id))
