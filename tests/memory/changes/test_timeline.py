"""A person's memories over time, and what was known at a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.memory.changes.records import empty_history
from apps.memory.changes.timeline import read_knowledge, read_timeline
from apps.memory.changes.undo import undo_operation
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, supersede_atomic_memory, update_memory
from apps.memory.models import Change
from tests.support.factories import UserFactory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("L3", "L7"),
    pytest.mark.long_except("test_lines_of_both_kinds_the_newest_first", "test_what_was_known"),
]

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def day(number: int) -> datetime:
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


@pytest.mark.parametrize(("words", "titles"), [("漢堡", ["home"]), ("munich", ["home"]), ("tea", [""]), ("xyz", [])])
def test_a_line_is_found_by_any_of_its_steps(moved: User, words: str, titles: list[str]) -> None:
    assert [title for title, _texts in read(moved, search=words)] == titles


def test_pages_follow_each_other(user: User) -> None:
    for number in range(7):
        create_memory(user=user, category="fact", key=f"key {number}", value="a", now=day(number))
    pages = [read_timeline(user, limit=3, offset=start) for start in (0, 3, 6)]
    assert [[line.title[-1] for line in page.lines] for page in pages] == [["6", "5", "4"], ["3", "2", "1"], ["0"]]
    assert {page.total for page in pages} == {7}


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


def test_what_cannot_be_known_is_counted(user: User) -> None:
    gone, _action = create_memory(user=user, category="fact", key="a", value="1", now=day(0))
    emptied, _action = create_memory(user=user, category="fact", key="b", value="1", now=day(0))
    update_memory(LONG_TERM, user=user, memory_id=emptied.id, changes={"value": "2"}, now=day(2))
    empty_history(user=user, kind=Change.Kind.LONG_TERM, object_ids=[emptied.id])
    delete_memories(LONG_TERM, user=user, ids=[gone.id], now=day(2))
    then, before = (read_knowledge(user, at=day(number), limit=9) for number in (1, -1))
    assert (then.total, then.deleted, then.unknown) == (0, 1, 1)
    assert (before.total, before.deleted, before.unknown) == (0, 0, 0)


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
