"""A person's memories over time, what was known at a time, and what replaced what, as one line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.memory.changes.records import empty_history
from apps.memory.changes.timeline import Line, build_line, read_knowledge, read_timeline
from apps.memory.changes.undo import undo_operation
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, supersede_atomic_memory, update_memory
from apps.memory.models import AtomicMemory, Change
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("L3", "L7")]

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def day(number: float) -> datetime:
    return BEGIN + timedelta(days=number)


@pytest.fixture
def moved(user: User) -> User:
    """Somebody who moved twice, and met somebody."""
    for number, city in enumerate(["Berlin", "汉堡", "Munich"]):
        create_memory(user=user, category="fact", key="home", value=city, now=day(number * 3))
    met, _created = create_atomic_memory(user=user, content="Ann likes tea.", now=day(4))
    supersede_atomic_memory(user=user, memory_id=met.id, content="Ann likes coffee.", now=day(8))
    create_memory(user=UserFactory(), category="fact", key="home", value="Leeds", now=day(1))
    return user


def read(user: User, **query: Any) -> list[tuple[str, list[str]]]:
    found = read_timeline(user, limit=20, **query)
    assert found.total == len(found.lines)
    return [(line.title, [step.text for step in line.line.steps]) for line in found.lines]


def test_lines_of_both_kinds_the_newest_first(moved: User) -> None:
    home, ann = ("home", ["Berlin", "汉堡", "Munich"]), ("", ["Ann likes tea.", "Ann likes coffee."])
    assert read(moved) == [ann, home]
    assert read(moved, kinds=["long_term"]) == [home]
    assert read(moved, kinds=["atomic"]) == [ann]
    assert read(moved, kinds=[]) == []
    assert read(UserFactory()) == []


@pytest.mark.long
@pytest.mark.parametrize(("words", "titles"), [("漢堡", ["home"]), ("munich", ["home"]), ("tea", [""]), ("xyz", [])])
def test_a_line_is_found_by_any_of_its_steps(moved: User, words: str, titles: list[str]) -> None:
    assert [title for title, _texts in read(moved, search=words)] == titles


@pytest.mark.long
def test_pages_follow_each_other(user: User) -> None:
    for number in range(7):
        create_memory(user=user, category="fact", key=f"key {number}", value="a", now=day(number))
    pages = [read_timeline(user, limit=3, offset=start) for start in (0, 3, 6)]
    assert [[line.title[-1] for line in page.lines] for page in pages] == [["6", "5", "4"], ["3", "2", "1"], ["0"]]
    assert {page.total for page in pages} == {7}


@pytest.mark.long
def test_the_last_step_of_a_line_can_be_undone(moved: User) -> None:
    _ann, home = read_timeline(moved, limit=20).lines
    undo_operation(user=moved, operation=home.line.undoable, now=day(20))
    assert ("home", ["Berlin", "汉堡"]) in read(moved)


def test_what_was_known(moved: User) -> None:
    def known(number: int, **query: Any) -> list[tuple[str, str, bool]]:
        found = read_knowledge(moved, at=day(number), limit=20, **query)
        assert found.total == len(found.memories)
        return [(memory.text, memory.text_now, memory.is_same) for memory in found.memories]

    assert known(-1) == []
    assert known(1) == [("Berlin", "Berlin", False)]
    assert known(4) == [("Ann likes tea.", "Ann likes tea.", False), ("汉堡", "汉堡", False)]
    assert known(9) == [("Ann likes coffee.", "Ann likes coffee.", True), ("Munich", "Munich", True)]
    assert known(4, search="漢堡") == [("汉堡", "汉堡", False)]
    assert known(9, kinds=["atomic"]) == [("Ann likes coffee.", "Ann likes coffee.", True)]


@pytest.mark.long
def test_what_cannot_be_known_is_counted(user: User) -> None:
    gone, _action = create_memory(user=user, category="fact", key="a", value="1", now=day(0))
    emptied, _action = create_memory(user=user, category="fact", key="b", value="1", now=day(0))
    update_memory(LONG_TERM, user=user, memory_id=emptied.id, changes={"value": "2"}, now=day(2))
    empty_history(user=user, kind=Change.Kind.LONG_TERM, object_ids=[emptied.id])
    delete_memories(LONG_TERM, user=user, ids=[gone.id], now=day(2))
    then, before = (read_knowledge(user, at=day(number), limit=9) for number in (1, -1))
    assert (then.total, then.deleted, then.unknown) == (0, 1, 1)
    assert (before.total, before.deleted, before.unknown) == (0, 0, 0)


@pytest.mark.long
def test_the_number_of_queries_is_that_of_few(user: User) -> None:
    counts = []
    for number in (2, 10):
        for index in range(number):
            for city in ("Berlin", "Hamburg"):
                create_memory(user=user, category="fact", key=f"{number} {index}", value=city, now=day(index))
            met, _created = create_atomic_memory(user=user, content=f"Ann likes {number} {index}.", now=day(0))
            supersede_atomic_memory(user=user, memory_id=met.id, content=f"Bob likes {number} {index}.", now=day(3))
        with CaptureQueriesContext(connection) as queries:
            assert read_timeline(user, limit=100).total >= number * 2
            assert read_timeline(user, limit=100, search="likes").total >= number
            assert read_knowledge(user, at=day(1), limit=100).total >= number
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 32


# What replaced what, as one line; pure


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


def list_steps(line: Line) -> list[tuple[str, float, float | None]]:
    def count(time: datetime | None) -> float | None:
        return None if time is None else (time - BEGIN).total_seconds() / 86_400

    return [(step.text, count(step.since) or 0.0, count(step.until)) for step in line.steps]


def test_three_cities_are_one_line() -> None:
    line = build([member(3, "Munich", 9), member(1, "Berlin", 0, by=2), member(2, "Hamburg", 4, by=3)])
    assert list_steps(line) == [("Berlin", 0, 4), ("Hamburg", 4, 9), ("Munich", 9, None)]
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
    assert list_steps(line) == [("Berlin", 0, 5), ("Hamburg", 5, None)]
    assert line.undoable == records[-1].operation


def test_two_that_became_one_are_on_its_line_in_their_order() -> None:
    records = [
        change(2, 1, None, ("cat", "active"), action="create"),
        change(2, 6, ("cat", "active"), ("cat, dog", "active"), action="merge"),
        change(1, 6, ("dog", "active"), ("dog", "superseded"), action="supersede"),
    ]
    line = build([member(2, "cat, dog", 1), member(1, "dog", 3, by=2, ended=6)], records)
    assert list_steps(line) == [("cat", 1, 6), ("dog", 3, 6), ("cat, dog", 6, None)]


def test_what_ended_without_a_successor_ends() -> None:
    records = [
        change(1, 0, None, ("Leeds", "active"), action="create"),
        change(1, 8, ("Leeds", "active"), ("Leeds", "superseded"), action="supersede"),
    ]
    line = build([member(1, "Leeds", 0, ended=8)], records)
    assert list_steps(line) == [("Leeds", 0, 8)]
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
    assert list_steps(line) == [("Berlin", 1, None)]
    assert build_line(ATOMIC, [member(1, "Bern", 0, ended=2)], proposed) is None
    accepted = change(1, 3, ("Bern", "pending"), ("Bern", "active"), action="accept")
    assert list_steps(build([member(1, "Bern", 0)], [proposed[0], accepted])) == [("Bern", 0, None)]


def test_without_what_it_said_before_only_what_it_says_is_shown() -> None:
    emptied = [change(1, 0, None, None, action="create"), change(1, 3, None, None)]
    assert list_steps(build([member(1, "Hamburg", 0)], emptied)) == [("Hamburg", 0, None)]


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
    assert list_steps(build(members, records)) == [(*step, end) for step, end in zip(told, ends, strict=True)]
