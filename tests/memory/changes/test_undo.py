"""Undoing (L7): everything an operation changed comes back, or nothing does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from apps.accounts.models import User
from apps.core.errors import Conflict, NotFound
from apps.memory.changes.records import changed_by, list_caused_operations
from apps.memory.changes.undo import undo_and_purge, undo_operation
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import create_atomic_memories, update_memory
from apps.memory.models import AtomicMemory, Change, ForgottenKey, LongTermMemory
from apps.memory.recall.long_term import retrieve_relevant_memories
from apps.memory.types import AtomicDraft
from tests.support.entries import propose
from tests.support.factories import SessionFactory, UserFactory

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


def operation_of(object_id: UUID) -> UUID:
    return Change.objects.filter(object_id=object_id).latest("id").operation


def test_what_was_made_is_gone_and_what_it_replaced_is_back(user: User) -> None:
    old, _action = create_memory(user=user, category="fact", key="home", value="Leeds", now=NOW)
    new, _action = create_memory(user=user, category="fact", key="home", value="York", now=NOW)
    assert undo_and_purge(user=user, operation=operation_of(new.id), now=NOW)
    assert list(LongTermMemory.objects.values_list("id", "status")) == [(old.id, "active")]
    assert not ForgottenKey.objects.exists()


def test_what_was_deleted_before_is_still_known_as_deleted(user: User) -> None:
    first, second = create_atomic_memories(
        user=user, drafts=[AtomicDraft(content="喜欢茶"), AtomicDraft(content="喜欢咖啡")], now=NOW
    )
    delete_memories(ATOMIC, user=user, ids=[first.id], now=NOW)
    deleted = set(ForgottenKey.objects.values_list("digest", flat=True))
    (again,) = create_atomic_memories(user=user, drafts=[AtomicDraft(content="喜欢茶")], now=NOW)
    for memory in (second, again):
        assert undo_and_purge(user=user, operation=operation_of(memory.id), now=NOW)
    assert not AtomicMemory.objects.exists()
    assert set(ForgottenKey.objects.values_list("digest", flat=True)) == deleted


def test_what_was_changed_since_stays_and_nobody_elses_is_touched(user: User) -> None:
    memory, _action = create_memory(user=user, category="fact", key="home", value="York", now=NOW)
    operation = operation_of(memory.id)
    assert not undo_and_purge(user=UserFactory.create(), operation=operation, now=NOW)
    LongTermMemory.objects.update(confidence=0.3)
    assert not undo_and_purge(user=user, operation=operation, now=NOW)
    assert not undo_and_purge(user=user, operation=uuid4(), now=NOW)
    assert LongTermMemory.objects.get().status == "active"


def test_operations_that_messages_caused_are_listed_newest_first_in_portions(user: User) -> None:
    session = SessionFactory.create(user=user)
    message = session.messages.create(user=user, role="user", content="x", position=1)
    drafts = [AtomicDraft(content=text, message_id=message.id) for text in ("一", "二", "三")]
    made = create_atomic_memories(user=user, drafts=drafts, now=NOW + timedelta(minutes=1))
    Change.objects.update(message=message)
    create_atomic_memories(user=user, drafts=[AtomicDraft(content="别的")], now=NOW)
    expected = [operation_of(memory.id) for memory in reversed(made)]
    first = list_caused_operations(user, session_ids=[session.id], before=None, limit=2)
    rest = list_caused_operations(user, session_ids=[session.id], before=first[-1][0], limit=2)
    assert [operation for _newest, operation in [*first, *rest]] == expected
    other = UserFactory.create()
    assert list_caused_operations(other, session_ids=[session.id], before=None, limit=2) == []
