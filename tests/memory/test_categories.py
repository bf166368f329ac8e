"""Moving several memories to a category at once, as one operation that can be undone (L7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from apps.accounts.models import User
from apps.core.errors import InvalidInput
from apps.memory.changes.records import collect_operations
from apps.memory.changes.undo import undo_operation
from apps.memory.lifecycle import set_category
from apps.memory.models import Change, LongTermMemory
from tests.support.factories import LongTermMemoryFactory

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)


def categories(user: User) -> dict[str, str]:
    return dict(LongTermMemory.objects.filter(user=user).values_list("key", "category"))


@pytest.mark.spec("L7", "M3")
def test_several_move_as_one_operation_and_come_back_together(user: User) -> None:
    moved = [LongTermMemoryFactory(user=user, key=key, value=key, category="fact", now=NOW) for key in ("城市", "tea")]
    there = LongTermMemoryFactory(user=user, key="cat", category="pattern", now=NOW)
    other = LongTermMemoryFactory(key="theirs", category="fact", now=NOW)
    later = NOW + timedelta(hours=1)
    with collect_operations() as operations:
        ids = [memory.id for memory in (*moved, there, other)]
        assert set_category(user=user, ids=ids, category="pattern", now=later) == 2
    assert categories(user) == {"城市": "pattern", "tea": "pattern", "cat": "pattern"}
    assert categories(other.user) == {"theirs": "fact"}
    assert LongTermMemory.objects.filter(user=user, updated_at=later).count() == 2
    (operation,) = operations
    assert set(Change.objects.filter(operation=operation).values_list("object_id", "action")) == {
        (memory.id, "edit") for memory in moved
    }
    undo_operation(user=user, operation=operation, now=later)
    assert categories(user) == {"城市": "fact", "tea": "fact", "cat": "pattern"}
    assert {memory.key: memory.value for memory in LongTermMemory.objects.filter(user=user)} == {
        "城市": "城市",
        "tea": "tea",
        "cat": "value",
    }


def test_history_stays_as_it_was(user: User) -> None:
    old = LongTermMemoryFactory(user=user, key="city", value="Berlin", category="fact", now=NOW)
    LongTermMemoryFactory(user=user, key="city", value="Paris", category="fact", now=NOW)
    assert set_category(user=user, ids=[old.id], category="pattern", now=NOW) == 0
    old.refresh_from_db()
    assert old.category == "fact"


def test_an_unknown_category_changes_nothing(user: User) -> None:
    memory = LongTermMemoryFactory(user=user, category="fact", now=NOW)
    with pytest.raises(InvalidInput):
        set_category(user=user, ids=[memory.id], category="mood", now=NOW)
    assert categories(user) == {memory.key: "fact"}
    assert Change.objects.filter(action="edit").count() == 0


def test_operations_are_collected_only_within_the_block(user: User) -> None:
    with collect_operations() as operations:
        LongTermMemoryFactory(user=user, key="a", value="b", now=NOW)
    LongTermMemoryFactory(user=user, key="c", value="d", now=NOW)
    assert operations == [Change.objects.get(object_id=LongTermMemory.objects.get(key="a").id).operation]
