"""What an object was at a time, from any sequence of changes (L7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.memory.changes.types import Past, Record, find_state

pytestmark = pytest.mark.spec("L7")

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
OBJECT = UUID(int=7)


def at(minute: int) -> datetime:
    return BEGIN + timedelta(minutes=minute)


def record(minute: int, before: str | None, after: str | None, *, action: str = "edit") -> Record:
    states = [None if value is None else {"value": value} for value in (before, after)]
    return Record(OBJECT, action, *states, at(minute))


@given(
    steps=st.lists(st.tuples(st.integers(1, 5), st.text(max_size=3)), min_size=1, max_size=12),
    asked=st.integers(-3, 70),
)
def test_a_state_is_what_was_live_then(steps: list[tuple[int, str]], asked: int) -> None:
    minute, value, records, live = 0, None, [], {}
    for wait, new in steps:
        minute += wait
        records.append(record(minute, value, new, action="create" if value is None else "edit"))
        value = new
        live[minute] = new
    known = [live[moment] for moment in sorted(live) if moment <= asked]
    state = find_state(records, at=at(asked), made_at=records[0].created_at)
    if not known:
        assert state is Past.ABSENT
    elif asked >= minute:
        assert state is Past.SAME
    else:
        assert state == {"value": known[-1]}


def test_what_was_emptied_is_unknown_and_what_was_made_later_absent() -> None:
    made, edited = record(1, None, None, action="create"), record(5, None, None)
    assert find_state([made, edited], at=at(0), made_at=at(1)) is Past.ABSENT
    assert find_state([made, edited], at=at(3), made_at=at(1)) is Past.UNKNOWN
    assert find_state([made, edited], at=at(6), made_at=at(1)) is Past.SAME


def test_an_import_was_not_known_before_however_old_it_says_it_is() -> None:
    imported = record(9, None, "old", action="import")
    assert find_state([imported], at=at(5), made_at=at(-100)) is Past.ABSENT
    assert find_state([], at=at(-1), made_at=at(0)) is Past.ABSENT
