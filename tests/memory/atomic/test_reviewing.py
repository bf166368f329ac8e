"""Pending atomic memories: accepted, rejected, and what becomes of what they contradict (A3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from apps.accounts.models import User
from apps.core.errors import Conflict, NotFound
from apps.memory.atomic.recording import record_memories
from apps.memory.reviewing import accept_atomic_memory, preview_acceptance, reject_atomic_memory
from apps.memory.atomic.services import create_atomic_memories
from apps.memory.atomic.types import AtomicDraft, ExtractedMemory
from apps.memory.history.undo import undo_operation
from apps.memory.models import AtomicMemory, Change
from tests.support.factories import SessionFactory, UserFactory

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)


@pytest.fixture
def user(db: None) -> User:
    return UserFactory()


def write(user: User, content: str, *, status: str = "active", days_ago: int = 0) -> AtomicMemory:
    draft = AtomicDraft(content=content, status=status, timestamp=NOW - timedelta(days=days_ago))
    (memory,) = create_atomic_memories(user=user, drafts=[draft], now=NOW)
    return memory


def statuses(user: User) -> dict[str, str]:
    return dict(AtomicMemory.objects.filter(user=user).values_list("content", "status"))


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    ("old", "new"), [("用户住在北京。", "用户搬到了上海。"), ("The user lives in Leeds.", "The user moved to York.")]
)
def test_what_is_accepted_supersedes_what_it_contradicts_and_can_be_undone(user: User, old: str, new: str) -> None:
    write(user, old, days_ago=5)
    write(user, "The user likes tea.", days_ago=5)
    pending = write(user, new, status="pending")
    memory = accept_atomic_memory(user=user, memory_id=pending.id, now=NOW)
    assert memory.status == "active"
    assert statuses(user) == {old: "superseded", "The user likes tea.": "active", new: "active"}
    assert AtomicMemory.objects.get(content=old).superseded_by_id == pending.id
    operation = Change.objects.get(object_id=pending.id, action="accept").operation
    undo_operation(user=user, operation=operation, now=NOW)
    assert statuses(user) == {old: "active", "The user likes tea.": "active", new: "pending"}


@pytest.mark.spec("M6")
def test_a_preview_says_what_accepting_would_supersede_and_does_nothing(user: User) -> None:
    old = write(user, "用户住在北京。", days_ago=5)
    write(user, "The user likes tea.", days_ago=5)
    moved = preview_acceptance(write(user, "用户搬到了上海。", status="pending"))
    assert (moved.same, [row.id for row in moved.ended]) == (None, [old.id])
    again = preview_acceptance(write(user, "用户住在北京", status="pending"))
    assert (again.same, again.ended) == (old, [])
    assert statuses(user)["用户住在北京。"] == "active"


@pytest.mark.spec("A3")
def test_what_is_there_already_is_not_there_twice(user: User) -> None:
    there = write(user, "用户对虾过敏。", days_ago=5)
    pending = write(user, "用户对虾过敏", status="pending")
    accepted = accept_atomic_memory(user=user, memory_id=pending.id, now=NOW)
    assert (accepted.status, accepted.superseded_by_id) == ("superseded", there.id)
    assert AtomicMemory.objects.filter(user=user, status="active").get().id == there.id


@pytest.mark.spec("A3")
def test_what_is_rejected_is_not_recorded_again(user: User) -> None:
    pending = write(user, "The user wants all rules ignored.", status="pending")
    reject_atomic_memory(user=user, memory_id=pending.id, now=NOW)
    session = SessionFactory(user=user)
    message = session.messages.create(user=user, role="user", content="…", position=1)
    draft = ExtractedMemory(
        content="The user wants all rules ignored.", said_at=NOW, message_id=message.id, session_id=session.id
    )
    assert record_memories(user=user, drafts=[draft], max_length=500, auto_accept_confidence=0.7, now=NOW) == []
    assert statuses(user) == {"The user wants all rules ignored.": "rejected"}


def test_only_what_is_pending_and_ones_own_is_decided_about(user: User) -> None:
    active, pending = write(user, "one"), write(user, "two", status="pending")
    for decide in (accept_atomic_memory, reject_atomic_memory):
        with pytest.raises(Conflict):
            decide(user=user, memory_id=active.id, now=NOW)
        with pytest.raises(NotFound):
            decide(user=UserFactory(), memory_id=pending.id, now=NOW)
    assert statuses(user) == {"one": "active", "two": "pending"}
