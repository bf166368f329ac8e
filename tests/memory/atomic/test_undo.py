"""Undoing changes of atomic memories (L7)."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from uuid import UUID

import pytest

from apps.accounts.models import User
from apps.core.errors import Conflict
from apps.memory.atomic.services import create_atomic_memory, forget_atomic_memories, update_atomic_memory
from apps.memory.models import AtomicEmbedding, AtomicMemory, Change
from apps.memory.services import undo_operation
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("L7")]

SHANGHAI = timezone(timedelta(hours=8))
NOW = datetime(2026, 11, 20, 16, 30, tzinfo=SHANGHAI)
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def user() -> User:
    return UserFactory()


def create(user: User, content: str) -> AtomicMemory:
    memory, _new = create_atomic_memory(user=user, content=content, tags=["家"], event_start=NOW, now=NOW)
    return memory


def undo(user: User) -> UUID:
    return undo_operation(user=user, operation=Change.objects.filter(user=user).latest("id").operation, now=LATER)


def test_an_edit_is_undone_with_terms_and_vector(user: User) -> None:
    memory = create(user, "用户住在北京。")
    before = AtomicMemory.objects.values().get()
    vector = AtomicEmbedding.objects.values_list("embedding", flat=True).get()
    changes = {"content": "用户养了一只猫。", "tags": ["宠物"], "event_start": None}
    update_atomic_memory(user=user, memory_id=memory.id, changes=changes, now=NOW)
    assert list(AtomicEmbedding.objects.values_list("embedding", flat=True).get()) != list(vector)
    undo(user)
    assert AtomicMemory.objects.values().get() == {**before, "updated_at": LATER}
    assert list(AtomicEmbedding.objects.values_list("embedding", flat=True).get()) == list(vector)


def test_a_creation_is_undone_and_done_again(user: User) -> None:
    memory = create(user, "用户住在北京。")
    undo(user)
    memory.refresh_from_db()
    assert memory.status == "rejected"
    undo(user)
    memory.refresh_from_db()
    assert (memory.status, memory.event_start) == ("active", NOW)
    assert AtomicEmbedding.objects.filter(memory=memory).count() == 1


def test_what_was_said_again_meanwhile_is_not_brought_back_twice(user: User) -> None:
    create(user, "用户住在北京。")
    undoing = undo(user)
    create(user, "用户住在北京")
    with pytest.raises(Conflict, match="now says this"):
        undo_operation(user=user, operation=undoing, now=LATER)
    assert AtomicMemory.objects.filter(status="active").count() == 1


def test_a_deletion_is_final_and_leaves_no_text(user: User) -> None:
    memory = create(user, "用户住在北京。")
    forget_atomic_memories(user=user, ids=[memory.id], now=NOW)
    assert not Change.objects.exclude(before=None, after=None).exists()
    with pytest.raises(Conflict, match="cannot be undone"):
        undo(user)
