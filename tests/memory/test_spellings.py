"""What is the same but written otherwise is shown as it was written last, and no spelling is lost (L3, A3, L7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.memory.changes.undo import undo_operation
from apps.memory.entries import create_memory
from apps.memory.keyed import Action, MemoryUpdate
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicMemory, Change, LongTermMemory
from apps.memory.recall.long_term import retrieve_relevant_memories
from tests.support.entries import entry, record
from tests.support.judged import learn

pytestmark = [pytest.mark.django_db, pytest.mark.spec("A3", "L3", "L7")]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
LATER = NOW + timedelta(days=1)

SPELLINGS = [
    ("王汎森", "王泛森"),
    ("王泛森", "王汎森"),
    ("徐干学", "徐乾學"),
    ("干安", "乾安"),
    ("mcdonald", "McDonald"),
    ("OBrien", "O'Brien"),
    ("Anne Marie", "Anne-Marie"),
    ("ｉＰｈｏｎｅ", "iPhone"),
    ("後藤", "后藤"),
]


def propose(user: User, value: Any, *, at: datetime, mode: str = "replace", **fields: Any) -> list[MemoryUpdate]:
    return record(user, entry("导师", value, mode=mode, **fields), at=at)


def show(user: User) -> list[Any]:
    return list(LongTermMemory.objects.filter(user=user, status="active").values_list("value", flat=True))


def undo_last(user: User) -> None:
    undo_operation(user=user, operation=Change.objects.filter(user=user).latest("id").operation, now=LATER)


@pytest.mark.parametrize(("earlier", "later"), SPELLINGS)
def test_an_entry_is_shown_as_it_was_written_last(user: User, earlier: str, later: str) -> None:
    memory, _ = create_memory(user=user, category="fact", key="导师", value=earlier, now=NOW)
    again, action = create_memory(user=user, category="fact", key="导师", value=later, now=LATER)
    assert (again.id, action, show(user)) == (memory.id, Action.REFRESHED, [later])
    change = Change.objects.filter(user=user).latest("id")
    assert (change.action, change.before["value"], change.after["value"]) == ("edit", earlier, later)
    undo_last(user)
    assert show(user) == [earlier]


@pytest.mark.spec("L2")
@pytest.mark.parametrize(("earlier", "later"), SPELLINGS)
def test_a_turn_takes_the_new_spelling(user: User, earlier: str, later: str) -> None:
    (created,) = propose(user, earlier, at=NOW)
    (refreshed,) = propose(user, later, at=LATER)
    assert (refreshed.id, refreshed.action, refreshed.value) == (created.id, Action.REFRESHED, later)
    assert show(user) == [later]
    found = retrieve_relevant_memories(user=user, message=f"导师 {later}", limit=5)
    assert [scored.candidate.value for scored in found] == [later]
    undo_last(user)
    assert show(user) == [earlier]


def test_an_item_of_a_list_takes_the_new_spelling_in_its_place(user: User) -> None:
    propose(user, ["王汎森", "李四"], at=NOW)
    propose(user, "王泛森", at=LATER, mode="add")
    assert show(user) == [["王泛森", "李四"]]
    propose(user, ["张三", "李四。"], at=LATER, mode="add")
    assert show(user) == [["王泛森", "李四", "张三"]]


@pytest.mark.parametrize("again", ["王汎森。", " 王汎森 ", ["王汎森"], "王汎森！"])
def test_marks_around_it_are_no_other_spelling(user: User, again: Any) -> None:
    propose(user, "王汎森", at=NOW)
    (update,) = propose(user, again, at=LATER)
    assert (update.action, show(user)) == (Action.REFRESHED, ["王汎森"])


def test_what_nobody_is_sure_of_changes_no_spelling(user: User) -> None:
    propose(user, "王汎森", at=NOW)
    (update,) = propose(user, "王泛森", at=LATER, source="inferred", confidence=0.4)
    assert (update.action, show(user)) == (Action.REFRESHED, ["王汎森"])


@pytest.mark.spec("C9")
def test_a_spelling_that_comes_late_is_history(user: User) -> None:
    propose(user, "王泛森", at=LATER)
    propose(user, "王汎森", at=NOW)
    assert show(user) == ["王泛森"]
    assert list(LongTermMemory.objects.filter(status="superseded").values_list("value", flat=True)) == ["王汎森"]


@pytest.mark.spec("C9")
def test_an_item_that_comes_late_keeps_the_newer_spelling(user: User) -> None:
    propose(user, ["王泛森"], at=LATER, mode="add")
    propose(user, ["王汎森", "李四"], at=NOW, mode="add")
    assert show(user) == [["王泛森", "李四"]]


def test_a_key_is_shown_as_its_owner_wrote_it_last_and_no_model_rewrites_it(user: User) -> None:
    memory, _ = create_memory(user=user, category="fact", key="mcdonald order", value="fries", now=NOW)
    create_memory(user=user, category="fact", key="McDonald order", value="fries", now=NOW)
    record(user, entry("mcdonald_order", "Fries"), at=LATER)
    memory.refresh_from_db()
    assert (memory.key, memory.value) == ("McDonald order", "Fries")


@pytest.mark.parametrize(("earlier", "later"), SPELLINGS)
def test_an_atomic_memory_is_shown_as_it_was_written_last(user: User, earlier: str, later: str) -> None:
    first, _ = create_atomic_memory(user=user, content=f"导师是{earlier}。", now=NOW)
    again, created = create_atomic_memory(user=user, content=f"导师是{later}。", now=LATER)
    assert (again.id, created, again.content) == (first.id, False, f"导师是{later}。")
    assert Change.objects.filter(user=user).latest("id").action == "edit"
    undo_last(user)
    assert AtomicMemory.objects.get(user=user).content == f"导师是{earlier}。"


@pytest.mark.parametrize("relation", ["new", "same", "contradicts"])
@pytest.mark.parametrize(("earlier", "later"), SPELLINGS[:1] + SPELLINGS[4:7])
def test_background_work_takes_the_new_spelling(user: User, earlier: str, later: str, relation: str) -> None:
    learn(user, f"用户的导师是{earlier}。", days_ago=3)
    targets = () if relation == "new" else (f"用户的导师是{earlier}。",)
    learn(user, f"用户的导师是{later}。", relation, *targets)
    memory = AtomicMemory.objects.get(user=user)
    assert (memory.content, memory.status) == (f"用户的导师是{later}。", "active")


def test_what_was_said_before_keeps_the_newer_spelling_of_an_atomic_memory(user: User) -> None:
    learn(user, "用户的导师是王泛森。")
    learn(user, "用户的导师是王汎森。", days_ago=3)
    assert AtomicMemory.objects.get(user=user).content == "用户的导师是王泛森。"
