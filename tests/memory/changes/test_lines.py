"""What replaced what, as one line (issue 15)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.memory.changes.timeline import Line, build_line
from apps.memory.kinds import ATOMIC
from apps.memory.models import AtomicMemory, Change

pytestmark = pytest.mark.spec("L3", "L7")

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


def day(number: float) -> datetime:
    return BEGIN + timedelta(days=number)


def member(number: int, text: str, made: float, *, by: int | None = None, ended: float | None = None) -> AtomicMemory:
    return AtomicMemory(
        id=UUID(int=number),
        content=text,
        status="active" if by is None and ended is None else "superseded",
        timestamp=day(made),
        updated_at=day(made if ended is None else ended),
        superseded_by_id=None if by is None else UUID(int=by),
        message_id=UUID(int=100 + number),
    )


def change(
    number: int,
    when: float,
    before: tuple[str, str] | None,
    after: tuple[str, str] | None,
    *,
    action: str = "edit",
    undone: bool = False,
) -> Change:
    states = [None if state is None else {"content": state[0], "status": state[1]} for state in (before, after)]
    return Change(
        object_id=UUID(int=number),
        action=action,
        before=states[0],
        after=states[1],
        operation=UUID(int=int(when * 10) + 1000),
        created_at=day(when),
        undone_by=UUID(int=1) if undone else None,
    )


def build(members: list[AtomicMemory], records: list[Change] | None = None) -> Line:
    return build_line(ATOMIC, members, records or [])


def read(line: Line) -> list[tuple[str, float, float | None]]:
    def count(time: datetime | None) -> float | None:
        return None if time is None else (time - BEGIN).total_seconds() / 86_400

    return [(step.text, count(step.since) or 0.0, count(step.until)) for step in line.steps]


def test_three_cities_are_one_line() -> None:
    line = build([member(3, "Munich", 9), member(1, "Berlin", 0, by=2), member(2, "Hamburg", 4, by=3)])
    assert read(line) == [("Berlin", 0, 4), ("Hamburg", 4, 9), ("Munich", 9, None)]
    assert [step.message_id for step in line.steps] == [UUID(int=101), UUID(int=102), UUID(int=103)]
    assert line.id == UUID(int=3)


def test_an_edit_in_place_is_a_step_and_one_that_was_undone_is_none() -> None:
    records = [
        change(1, 0, None, ("Berlin", "active"), action="create"),
        change(1, 2, ("Berlin", "active"), ("Bern", "active"), undone=True),
        change(1, 3, ("Bern", "active"), ("Berlin", "active"), action="undo"),
        change(1, 5, ("Berlin", "active"), ("Hamburg", "active")),
    ]
    line = build([member(1, "Hamburg", 0)], records)
    assert read(line) == [("Berlin", 0, 5), ("Hamburg", 5, None)]
    assert line.undoable == records[-1].operation


def test_two_that_became_one_are_on_its_line_in_their_order() -> None:
    records = [
        change(2, 1, None, ("cat", "active"), action="create"),
        change(2, 6, ("cat", "active"), ("cat, dog", "active"), action="merge"),
        change(1, 6, ("dog", "active"), ("dog", "superseded"), action="supersede"),
    ]
    line = build([member(2, "cat, dog", 1), member(1, "dog", 3, by=2, ended=6)], records)
    assert read(line) == [("cat", 1, 6), ("dog", 3, 6), ("cat, dog", 6, None)]


def test_what_ended_without_a_successor_ends() -> None:
    records = [
        change(1, 0, None, ("Leeds", "active"), action="create"),
        change(1, 8, ("Leeds", "active"), ("Leeds", "superseded"), action="supersede"),
    ]
    line = build([member(1, "Leeds", 0, ended=8)], records)
    assert read(line) == [("Leeds", 0, 8)]
    assert line.undoable == records[-1].operation


def test_nothing_is_offered_to_undo_once_more_happened_or_where_nothing_was_before() -> None:
    made = change(2, 4, None, ("Hamburg", "active"), action="create")
    muted = change(2, 5, ("Hamburg", "active"), ("Hamburg", "active"), action="mute")
    pair = [member(2, "Hamburg", 4), member(1, "Berlin", 0, by=2)]
    assert build(pair, [made]).undoable == made.operation
    assert build(pair, [made, muted]).undoable is None
    assert build([member(2, "Hamburg", 4)], [made]).undoable is None


def test_what_was_only_proposed_is_no_step() -> None:
    proposed = [
        change(1, 0, None, ("Bern", "pending"), action="create"),
        change(1, 2, ("Bern", "pending"), ("Bern", "superseded"), action="supersede"),
    ]
    line = build([member(2, "Berlin", 1), member(1, "Bern", 0, by=2)], proposed)
    assert read(line) == [("Berlin", 1, None)]
    assert build_line(ATOMIC, [member(1, "Bern", 0, ended=2)], proposed) is None
    accepted = change(1, 3, ("Bern", "pending"), ("Bern", "active"), action="accept")
    assert read(build([member(1, "Bern", 0)], [proposed[0], accepted])) == [("Bern", 0, None)]


def test_without_what_it_said_before_only_what_it_says_is_shown() -> None:
    emptied = [change(1, 0, None, None, action="create"), change(1, 3, None, None)]
    assert read(build([member(1, "Hamburg", 0)], emptied)) == [("Hamburg", 0, None)]


def test_a_successor_comes_last_whatever_the_times_say() -> None:
    line = build([member(2, "new", 1), member(1, "old", 5, by=2)])
    assert [step.text for step in line.steps] == ["old", "new"]


@pytest.mark.long
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 4)), min_size=1, max_size=15))
def test_a_line_tells_every_value_without_a_gap(moves: list[tuple[bool, int]]) -> None:
    """Values that one key has one after the other, each by an edit (False) or by a memory in its place (True)."""
    members: list[AtomicMemory] = []
    records: list[Change] = []
    told: list[tuple[str, float]] = []
    now = 0
    for number, (is_new, wait) in enumerate(moves):
        now += wait
        text = f"value {number}"
        told.append((text, now))
        old = members[-1] if members else None
        if is_new or old is None:
            if old is not None:
                old.status, old.updated_at, old.superseded_by_id = "superseded", day(now), UUID(int=number + 1)
                records.append(change(old.id.int, now, (old.content, "active"), (old.content, "superseded")))
            members.append(member(number + 1, text, now))
            records.append(change(number + 1, now, None, (text, "active"), action="create"))
        else:
            records.append(change(old.id.int, now, (old.content, "active"), (text, "active")))
            old.content, old.updated_at = text, day(now)
    ends = [begin for _text, begin in told[1:]] + [None]
    assert read(build(members, records)) == [(*step, end) for step, end in zip(told, ends, strict=True)]
