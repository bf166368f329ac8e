"""What a message still does to a key about which something was said after it (L3, C9). Pure rules: no Django, no clock.

Imported history and background work may come late. The value said last holds; of a list, each item by itself: what was
added before holds unless it was taken away later, what was taken away before is gone unless it was added later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from apps.core.text.fold import normalize_value
from apps.memory.long_term.changes import list_items
from apps.memory.long_term.types import Mode


@dataclass(frozen=True, slots=True)
class Version:
    """A value that a key had, and when it was said."""

    value: Any
    said_at: datetime


def drop_overtaken(*, mode: Mode, value: Any, said_at: datetime, versions: Sequence[Version]) -> Any:
    """Return what is left of a value to add or remove that was said at `said_at`; None when nothing is.

    `versions`: the values of the key, in the order in which they were said, the one that holds last: items that it has,
    too, come back in its spelling, the newer one.
    """
    before = frozenset[str]()
    overtaken: set[str] = set()
    contents = [(_forms(version.value), version.said_at) for version in versions]
    for (earlier, earlier_at), (later, later_at) in pairwise([(before, said_at), *contents]):
        # Of two versions of the same time the second was made by a message that came late, like this one.
        if later_at > max(said_at, earlier_at):
            overtaken |= earlier - later if mode is Mode.ADD else later - earlier
    items = list_items(value)
    held = {normalize_value(item): item for item in list_items(versions[-1].value)}
    kept = [held.get(form, item) for item in items if (form := normalize_value(item)) not in overtaken]
    return kept if kept and isinstance(value, list) else next(iter(kept), None)


def _forms(value: Any) -> frozenset[str]:
    return frozenset(normalize_value(item) for item in list_items(value))
