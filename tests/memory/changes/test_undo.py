"""Undoing (L7): everything an operation changed comes back, or nothing does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from apps.accounts.models import User
from apps.core.errors import Conflict, NotFound
from apps.memory.changes.records import changed_by
from apps.memory.changes.undo import undo_operation
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import update_memory
from apps.memory.models import Change, LongTermMemory
from apps.memory.recall.long_term import retrieve_relevant_memories
from tests.support.entries import propose
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("L7")]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def create(user: User, key: str, value: Any) -> LongTermMemory:
    return create_memory(user=user, category="fact", key=key, value=value, now=NOW)[0]


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
    update_memory(LONG_TERM, user=user, memory_id=memory.id, changes={"confidence": 0.5}, now=NOW)
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
    update_memory(LONG_TERM, user=user, memory_id=memory.id, changes={"key": "town"}, now=NOW)
    operation = last(user)
    create(user, "city", "Lyon")
    assert "now uses this key" in refused(user, operation)


def test_a_deletion_is_final(user: User) -> None:
    create(user, "city", "Paris")
    lyon = create(user, "city", "Lyon")
    supersession = last(user)
    delete_memories(LONG_TERM, user=user, ids=[lyon.id], now=NOW)
    assert refused(user, last(user)) == "Deletions cannot be undone."
    assert "deleted" in refused(user, supersession)


def test_what_lost_its_successor_is_not_ended_again(user: User) -> None:
    (pending,) = propose(user, "city", "Paris")
    active = create(user, "city", "paris")
    settled = Change.objects.get(object_id=pending, action="supersede").operation
    undoing = undo(user, settled)
    assert LongTermMemory.objects.get(id=active.id).status == "rejected"
    delete_memories(LONG_TERM, user=user, ids=[active.id], now=NOW)
    assert "deleted" in refused(user, undoing)


def test_another_persons_change_is_not_there(user: User) -> None:
    create(user, "city", "Paris")
    other = UserFactory()
    for operation in (last(user), uuid4()):
        with pytest.raises(NotFound):
            undo_operation(user=other, operation=operation, now=LATER)
    assert states(user) == {("Paris", "active")}
