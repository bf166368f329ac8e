"""Undoing (L7): everything an operation changed comes back, or nothing does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from apps.accounts.models import User
from apps.core.errors import Conflict, NotFound
from apps.memory.long_term.types import ProposedEntry
from apps.memory.models import Change, LongTermMemory
from apps.memory.retrieval import retrieve_relevant_memories
from apps.memory.services import (
    accept_memory,
    changed_by,
    create_memory,
    forget_memories,
    record_entries,
    reject_memory,
    undo_operation,
    update_memory,
)
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("L7")]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def user() -> User:
    return UserFactory()


def create(user: User, key: str, value: Any) -> LongTermMemory:
    return create_memory(user=user, category="fact", key=key, value=value, now=NOW)[0]


def propose(user: User, key: str, value: Any, *, confidence: float = 0.4, mode: str = "replace") -> list[UUID]:
    entry = ProposedEntry(category="fact", key=key, value=value, source="inferred", confidence=confidence, mode=mode)
    updates = record_entries(
        user=user,
        entries=[entry],
        session_id=None,
        message_id=None,
        said_at=NOW,
        message_text="",
        auto_accept_confidence=0.7,
        now=NOW,
    )
    return [update.id for update in updates]


def last(user: User) -> UUID:
    """The newest operation."""
    return Change.objects.filter(user=user).latest("id").operation


def undo(user: User, operation: UUID | None = None) -> UUID:
    return undo_operation(user=user, operation=operation or last(user), now=LATER)


def states(user: User) -> set[tuple[Any, str]]:
    return {(memory.value, memory.status) for memory in LongTermMemory.objects.filter(user=user)}


def find(user: User, message: str) -> list[Any]:
    found = retrieve_relevant_memories(user=user, message=message, limit=5, now=LATER)
    return [scored.candidate.value for scored in found]


def test_undoing_what_superseded_brings_the_old_value_back(user: User) -> None:
    create(user, "城市", "北京")
    create(user, "城市", "上海")
    undo(user)
    assert states(user) == {("北京", "active"), ("上海", "rejected")}
    assert find(user, "我在哪个城市") == ["北京"]
    assert LongTermMemory.objects.get(value="北京").superseded_by is None


def test_undoing_the_undoing_does_it_again_and_again(user: User) -> None:
    create(user, "city", "Paris")
    create(user, "city", "Lyon")
    operation = last(user)
    for _ in range(2):
        undoing = undo(user, operation)
        assert states(user) == {("Paris", "active"), ("Lyon", "rejected")}
        undo(user, undoing)
        assert states(user) == {("Paris", "superseded"), ("Lyon", "active")}
        lyon = LongTermMemory.objects.get(value="Lyon")
        assert LongTermMemory.objects.get(value="Paris").superseded_by == lyon
    assert find(user, "which city") == ["Lyon"]


def test_what_was_undone_is_not_proposed_again(user: User) -> None:
    propose(user, "city", "Paris", confidence=0.9)
    undo(user)
    assert propose(user, "city", "Paris", confidence=0.9) == []
    assert states(user) == {("Paris", "rejected")}


def test_undoing_an_edit_restores_what_is_searched_too(user: User) -> None:
    memory = create(user, "城市", "北京")
    changes = {"key": "宠物", "value": "猫", "category": "preference", "confidence": 0.5}
    update_memory(user=user, memory_id=memory.id, changes=changes, now=NOW)
    assert find(user, "我在哪个城市") == []
    undo(user)
    assert find(user, "我在哪个城市") == ["北京"]
    assert find(user, "我的宠物") == []
    memory.refresh_from_db()
    assert (memory.key, memory.category, memory.confidence, memory.updated_at) == ("城市", "fact", 1.0, LATER)


def test_accepting_and_rejecting_can_be_undone(user: User) -> None:
    create(user, "pets", ["cat"])
    (added,) = propose(user, "pets", ["dog"], mode="add")
    accept_memory(user=user, memory_id=added, now=NOW)
    undo(user)
    memory = LongTermMemory.objects.get(id=added)
    assert (memory.status, memory.value, memory.mode) == ("pending", ["dog"], "add")
    assert find(user, "my pets") == [["cat"]]
    reject_memory(user=user, memory_id=added, now=NOW)
    undo(user)
    memory.refresh_from_db()
    assert memory.status == "pending"


def test_undoing_is_recorded_with_who_did_it(user: User) -> None:
    memory = create(user, "city", "Paris")
    operation, staff = last(user), UserFactory()
    with changed_by(origin=Change.Origin.PANEL, actor=staff):
        undoing = undo(user, operation)
    change = Change.objects.get(operation=undoing)
    assert (change.action, change.object_id, change.actor, change.origin) == ("undo", memory.id, staff, "panel")
    assert (change.before["status"], change.after["status"], change.created_at) == ("active", "rejected", LATER)
    assert Change.objects.get(operation=operation).undone_by == undoing


def refused(user: User, operation: UUID) -> str:
    before = list(LongTermMemory.objects.order_by("id").values())
    with pytest.raises(Conflict) as error:
        undo(user, operation)
    assert list(LongTermMemory.objects.order_by("id").values()) == before
    return error.value.message


def test_what_has_changed_since_is_not_undone(user: User) -> None:
    memory = create(user, "city", "Paris")
    operation = last(user)
    update_memory(user=user, memory_id=memory.id, changes={"confidence": 0.5}, now=NOW)
    assert "changed again later" in refused(user, operation)
    undo(user)
    undo(user, operation)
    assert states(user) == {("Paris", "rejected")}


def test_nothing_is_undone_twice(user: User) -> None:
    create(user, "city", "Paris")
    operation = last(user)
    undo(user, operation)
    assert "already undone" in refused(user, operation)


def test_what_comes_back_does_not_push_out_what_has_its_key_by_now(user: User) -> None:
    memory = create(user, "city", "Paris")
    update_memory(user=user, memory_id=memory.id, changes={"key": "town"}, now=NOW)
    operation = last(user)
    create(user, "city", "Lyon")
    assert "now uses this key" in refused(user, operation)


def test_a_deletion_is_final(user: User) -> None:
    create(user, "city", "Paris")
    lyon = create(user, "city", "Lyon")
    supersession = last(user)
    forget_memories(user=user, ids=[lyon.id], now=NOW)
    assert refused(user, last(user)) == "Deletions cannot be undone."
    assert "deleted" in refused(user, supersession)


def test_what_lost_its_successor_is_not_ended_again(user: User) -> None:
    (pending,) = propose(user, "city", "Paris")
    active = create(user, "city", "paris")
    settled = Change.objects.get(object_id=pending, action="supersede").operation
    undoing = undo(user, settled)
    assert LongTermMemory.objects.get(id=active.id).status == "rejected"
    forget_memories(user=user, ids=[active.id], now=NOW)
    assert "deleted" in refused(user, undoing)


def test_another_persons_change_is_not_there(user: User) -> None:
    create(user, "city", "Paris")
    other = UserFactory()
    for operation in (last(user), uuid4()):
        with pytest.raises(NotFound):
            undo_operation(user=other, operation=operation, now=LATER)
    assert states(user) == {("Paris", "active")}
