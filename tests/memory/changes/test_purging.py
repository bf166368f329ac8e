"""Taking an operation back as if it had never been: what it made is gone, and may be learned again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from apps.accounts.models import User
from apps.memory.changes.records import list_caused_operations
from apps.memory.changes.undo import undo_and_purge
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.kinds import ATOMIC
from apps.memory.lifecycle import create_atomic_memories
from apps.memory.models import AtomicMemory, Change, ForgottenKey, LongTermMemory
from apps.memory.types import AtomicDraft
from tests.support.factories import SessionFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("L7")]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)


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
