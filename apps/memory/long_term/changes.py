"""What a proposed value does to what is stored under its key (L3). Pure rules: no Django, no clock."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from apps.core.text.fold import normalize_value, spell_value
from apps.memory.long_term.types import Action, Mode

Claim = tuple[bool, str]
"""What a proposal says, to find it among pending and rejected ones: whether it takes away, and the normalised value."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, and the value the memory then has: the proposed one while PENDING, None when nothing is left."""

    action: Action
    value: Any = None


def list_items(value: Any) -> list[Any]:
    """The items of a value: of a list its own, anything else is one item."""
    return value if isinstance(value, list) else [value]


def apply_mode(*, mode: Mode, current: Any, proposed: Any) -> Any:
    """Return the value a key has after `proposed`; None (as `current`, too) means that there is none.

    Adding always makes a list. Items are compared in normalised form, so nothing is in a list twice; one that is
    written otherwise takes the place of its older spelling. Taking items away leaves the rest in order, or None when
    none is left. An unchanged value comes back as it is.
    """
    if mode is Mode.REPLACE:
        return proposed
    kept = [] if current is None else list_items(current)
    named: dict[str, Any] = {}
    for item in list_items(proposed):
        named.setdefault(normalize_value(item), item)
    if mode is Mode.ADD:
        newer = [named.pop(normalize_value(item), item) for item in kept]
        spelled = [old if spell_value(old) == spell_value(new) else new for old, new in zip(kept, newer, strict=True)]
        return [*spelled, *named.values()] if named or spelled != kept else current
    rest = [item for item in kept if normalize_value(item) not in named]
    return current if len(rest) == len(kept) else rest or None


def list_claims(*, mode: Mode, value: Any) -> set[Claim]:
    """Return what a stored proposal claims: its whole value and, where it adds or takes away, each item."""
    removes = mode is Mode.REMOVE
    items = [] if mode is Mode.REPLACE else list_items(value)
    return {(removes, normalize_value(part)) for part in (value, *items)}


def drop_claims(*, mode: Mode, value: Any, claims: Set[Claim]) -> Any:
    """Return what of `value` is not among `claims`, None when nothing is: single items where it adds or takes away."""
    removes = mode is Mode.REMOVE
    if (removes, normalize_value(value)) in claims:
        return None
    if mode is Mode.REPLACE:
        return value
    items = list_items(value)
    kept = [item for item in items if (removes, normalize_value(item)) not in claims]
    return value if len(kept) == len(items) else kept or None


def decide(
    *,
    mode: Mode,
    value: Any,
    current: Any,
    accept: bool,
    pending: Set[Claim] = frozenset(),
    rejected: Set[Claim] = frozenset(),
) -> Decision:
    """Decide about a proposed value for a key whose active value is `current` (None: it has none).

    Rejected: ignored (L1). Already so: refreshed, in the newer spelling where it is accepted, or ignored where it takes
    away what is not there. Not to be accepted by itself: pending, once. Else created or superseded.
    """
    value = drop_claims(mode=mode, value=value, claims=rejected)
    if value is None:
        return Decision(Action.IGNORED)
    result = apply_mode(mode=mode, current=current, proposed=value)
    if current is None and result is None:
        return Decision(Action.IGNORED)
    if current is not None and result is not None and normalize_value(result) == normalize_value(current):
        if mode is Mode.REMOVE:
            return Decision(Action.IGNORED, current)
        # Folding takes some names for one, such as 王汎森 and 王泛森: what was said last is shown, whichever it is.
        respelled = accept and spell_value(result) != spell_value(current)
        return Decision(Action.REFRESHED, result if respelled else current)
    if not accept:
        value = drop_claims(mode=mode, value=value, claims=pending)
        return Decision(Action.IGNORED) if value is None else Decision(Action.PENDING, value)
    return Decision(Action.CREATED if current is None else Action.SUPERSEDED, result)
