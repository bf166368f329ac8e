"""One of two memories, another in its place, and history that holds again: each one operation that can be undone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from apps.accounts.models import User
from apps.core.errors import Conflict, InvalidInput, NotFound
from apps.memory.atomic.curation import (
    bring_back_atomic_memory,
    combine_contents,
    merge_atomic_memories,
    supersede_atomic_memory,
)
from apps.memory.atomic.services import create_atomic_memories
from apps.memory.atomic.types import AtomicDraft
from apps.memory.history.authorship import collect_operations
from apps.memory.history.undo import undo_operation
from apps.memory.long_term.curation import bring_back_memory, combine_values, merge_memories
from apps.memory.models import AtomicEmbedding, AtomicMemory, Change, LongTermMemory
from apps.memory.retrieval import retrieve_relevant_memories
from apps.memory.services import create_memory
from tests.support.factories import LongTermMemoryFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("M2", "L7")]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def user() -> User:
    return UserFactory(username="li")


def states(user: User, model: Any = LongTermMemory) -> dict[Any, tuple[Any, str, Any]]:
    name = "value" if model is LongTermMemory else "content"
    rows = model.objects.filter(user=user)
    return {row.id: (getattr(row, name), str(row.status), row.superseded_by_id) for row in rows}


def recalled(user: User, message: str) -> list[Any]:
    return [found.candidate.id for found in retrieve_relevant_memories(user=user, message=message, limit=5)]


@pytest.mark.parametrize(
    ("kept", "merged", "value"),
    [
        ("虾", "花生", ["虾", "花生"]),
        (["虾"], ["花生", "虾！"], ["虾", "花生"]),
        ("虾", "虾。", "虾"),
        ({"a": 1}, 2, [{"a": 1}, 2]),
    ],
)
def test_both_values_as_one(kept: Any, merged: Any, value: Any) -> None:
    assert combine_values(kept, merged) == value


def test_two_memories_become_one(user: User) -> None:
    kept = LongTermMemoryFactory(user=user, key="过敏", value="虾", confidence=0.6, now=NOW)
    other = LongTermMemoryFactory(user=user, key="不能吃", value="花生", confidence=0.9, now=NOW)
    LongTermMemory.objects.filter(id=other.id).update(access_count=3, last_accessed=NOW + HOUR)
    before = states(user)
    with collect_operations() as operations:
        merge_memories(user=user, kept_id=kept.id, merged_id=other.id, value=["虾", "花生"], now=NOW + HOUR)
    kept.refresh_from_db()
    assert states(user) == {kept.id: (["虾", "花生"], "active", None), other.id: ("花生", "superseded", kept.id)}
    assert (kept.confidence, kept.access_count, kept.last_accessed) == (0.9, 3, NOW + HOUR)
    assert recalled(user, "花生") == [kept.id]
    (operation,) = operations
    actions = {change.object_id: change.action for change in Change.objects.filter(operation=operation)}
    assert actions == {kept.id: "merge", other.id: "supersede"}
    undo_operation(user=user, operation=operation, now=NOW + 2 * HOUR)
    assert states(user) == before
    assert recalled(user, "花生") == [other.id]


def test_what_cannot_be_merged(user: User) -> None:
    kept = LongTermMemoryFactory(user=user, key="城市", value="上海")
    ended = kept.id
    current = LongTermMemoryFactory(user=user, key="城市", value="北京").id
    theirs = LongTermMemoryFactory(key="城市", value="广州").id
    before = states(user)
    for merged, error in ((current, Conflict), (ended, Conflict), (theirs, NotFound), (uuid4(), NotFound)):
        with pytest.raises(error):
            merge_memories(user=user, kept_id=current, merged_id=merged, value="x", now=NOW)
    with pytest.raises(InvalidInput):
        merge_memories(user=user, kept_id=current, merged_id=ended, value=" ", now=NOW)
    assert states(user) == before


def test_a_superseded_memory_holds_again(user: User) -> None:
    old = LongTermMemoryFactory(user=user, key="城市", value="上海", now=NOW)
    between = LongTermMemoryFactory(user=user, key="城市", value="北京", now=NOW)
    new = LongTermMemoryFactory(user=user, key="城市", value="广州", now=NOW)
    before = states(user)
    with collect_operations() as operations:
        bring_back_memory(user=user, memory_id=old.id, now=NOW + HOUR)
    assert states(user) == {
        old.id: ("上海", "active", None),
        between.id: ("北京", "superseded", new.id),
        new.id: ("广州", "superseded", old.id),
    }
    assert recalled(user, "城市") == [old.id]
    undo_operation(user=user, operation=operations[0], now=NOW + 2 * HOUR)
    assert states(user) == before


def test_what_was_rejected_or_evicted_holds_again_where_its_key_is_free(user: User) -> None:
    memory = LongTermMemoryFactory(user=user, key="城市", value="上海")
    for status in ("rejected", "evicted"):
        LongTermMemory.objects.update(status=status)
        bring_back_memory(user=user, memory_id=memory.id, now=NOW)
        assert states(user)[memory.id] == ("上海", "active", None)
    with pytest.raises(Conflict):
        bring_back_memory(user=user, memory_id=memory.id, now=NOW)
    with pytest.raises(NotFound):
        bring_back_memory(user=UserFactory(), memory_id=memory.id, now=NOW)
    memory, _action = create_memory(user=user, category="fact", key="城市", value="北京", now=NOW)
    assert states(user)[memory.id][1] == "active"


@pytest.mark.parametrize(
    ("kept", "merged", "content"),
    [
        ("用户养猫。", "猫叫咪咪。", "用户养猫。猫叫咪咪。"),
        ("Has a cat.", "It is called Tom.", "Has a cat. It is called Tom."),
        ("用户养猫。", "养猫", "用户养猫。"),
        ("养猫", "用户养猫。", "用户养猫。"),
    ],
)
def test_both_contents_as_one(kept: str, merged: str, content: str) -> None:
    assert combine_contents(kept, merged) == content


def make(user: User, *contents: str, **fields: Any) -> list[AtomicMemory]:
    drafts = [AtomicDraft(content=content, **fields) for content in contents]
    return create_atomic_memories(user=user, drafts=drafts, now=NOW)


def test_two_atomic_memories_become_one(user: User) -> None:
    (kept,) = make(user, "用户养猫。", tags=["宠物"])
    (other,) = make(user, "猫叫咪咪。", tags=["猫", "宠物"], event_start=NOW)
    before = states(user, AtomicMemory)
    with collect_operations() as operations:
        merge_atomic_memories(
            user=user, kept_id=kept.id, merged_id=other.id, content="用户养猫，猫叫咪咪。", now=NOW + HOUR
        )
    kept.refresh_from_db()
    assert (kept.content, kept.tags, kept.event_start) == ("用户养猫，猫叫咪咪。", ["宠物", "猫"], NOW)
    assert states(user, AtomicMemory)[other.id] == ("猫叫咪咪。", "superseded", kept.id)
    undo_operation(user=user, operation=operations[0], now=NOW + 2 * HOUR)
    assert states(user, AtomicMemory) == before


def test_another_atomic_memory_in_its_place_and_back(user: User) -> None:
    (old,) = make(user, "用户住在上海。", tags=["城市"])
    with collect_operations() as operations:
        new = supersede_atomic_memory(user=user, memory_id=old.id, content=" 用户住在北京。 ", now=NOW + HOUR)
    assert (new.content, new.tags, new.timestamp) == ("用户住在北京。", ["城市"], NOW + HOUR)
    assert states(user, AtomicMemory)[old.id] == ("用户住在上海。", "superseded", new.id)
    assert AtomicEmbedding.objects.filter(memory=new).exists()
    assert len(operations) == 1
    bring_back_atomic_memory(user=user, memory_id=old.id, now=NOW + 2 * HOUR)
    assert states(user, AtomicMemory) == {
        old.id: ("用户住在上海。", "active", None),
        new.id: ("用户住在北京。", "superseded", old.id),
    }


def test_nothing_is_said_twice_among_atomic_memories(user: User) -> None:
    one, two, three = make(user, "用户养猫。", "用户养狗。", "用户养鱼。")
    before = states(user, AtomicMemory)
    with pytest.raises(Conflict):
        supersede_atomic_memory(user=user, memory_id=one.id, content="用户养狗", now=NOW)
    with pytest.raises(Conflict):
        merge_atomic_memories(user=user, kept_id=one.id, merged_id=two.id, content="用户养鱼", now=NOW)
    with pytest.raises(Conflict):
        bring_back_atomic_memory(user=user, memory_id=three.id, now=NOW)
    with pytest.raises(NotFound):
        supersede_atomic_memory(user=UserFactory(), memory_id=one.id, content="x", now=NOW)
    assert states(user, AtomicMemory) == before
    AtomicMemory.objects.filter(id=three.id).update(status="rejected", content="用户养猫。")
    with pytest.raises(Conflict):
        bring_back_atomic_memory(user=user, memory_id=three.id, now=NOW)
