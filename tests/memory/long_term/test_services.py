"""What a person does with their memories: create, change, accept, reject; and counting use (L1, L3, L4)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from apps.accounts.models import User
from apps.core.errors import Conflict, InvalidInput, NotFound, TooLarge
from apps.memory.long_term.types import Action, ProposedEntry
from apps.memory.models import LongTermMemory
from apps.memory.retrieval import retrieve_relevant_memories
from apps.memory.services import (
    accept_memory,
    create_memory,
    record_entries,
    record_use,
    reject_memory,
    update_memory,
)
from tests.support.factories import LongTermMemoryFactory, SessionFactory, UserFactory

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def user(db: None) -> User:
    return UserFactory()


def propose(user: User, key: str, value: Any, *, mode: str = "replace") -> UUID:
    """Store an entry too uncertain to be accepted by itself; return its ID."""
    entry = ProposedEntry(category="fact", key=key, value=value, source="inferred", confidence=0.4, mode=mode)
    (update,) = record_entries(
        user=user,
        entries=[entry],
        session_id=None,
        message_id=None,
        said_at=NOW,
        message_text="",
        auto_accept_confidence=0.7,
        now=NOW,
    )
    assert update.action is Action.PENDING
    return update.id


def create(user: User, key: str, value: Any, *, now: datetime = NOW, **fields: Any) -> tuple[LongTermMemory, Action]:
    return create_memory(user=user, category=fields.pop("category", "fact"), key=key, value=value, now=now, **fields)


# Creating


@pytest.mark.spec("L1")
def test_a_created_memory_has_every_field(user: User) -> None:
    session = SessionFactory(user=user)
    memory, action = create(user, " 城市 ", {"名": "北京"}, confidence=0.8, source="inferred", session_id=session.id)
    assert action is Action.CREATED
    memory = LongTermMemory.objects.get(id=memory.id)
    assert (memory.user_id, memory.session_id, memory.message_id) == (user.pk, session.id, None)
    assert (memory.category, memory.key, memory.value) == ("fact", "城市", {"名": "北京"})
    assert (memory.confidence, memory.source, memory.status, memory.access_count) == (0.8, "inferred", "active", 0)
    assert memory.created_at == memory.updated_at == memory.last_accessed == NOW
    assert memory.superseded_by_id is None


@pytest.mark.spec("L3")
def test_another_value_supersedes_and_the_same_refreshes(user: User) -> None:
    first, _ = create(user, "最喜欢的颜色", "蓝色", confidence=0.5)
    again, action = create(user, "我最喜歡的顏色", "藍色！", confidence=0.9, now=LATER)
    assert (again.id, action, again.value, again.confidence) == (first.id, Action.REFRESHED, "藍色！", 0.9)
    assert LongTermMemory.objects.get(id=first.id).key == "我最喜歡的顏色"
    second, action = create(user, "最喜欢的颜色", "绿色", category="preference", now=LATER)
    assert action is Action.SUPERSEDED
    first.refresh_from_db()
    assert (first.status, first.superseded_by_id, first.updated_at) == ("superseded", second.id, LATER)
    found = retrieve_relevant_memories(user=user, message="我最喜欢的颜色是什么", limit=5)
    assert [scored.candidate.value for scored in found] == ["绿色"]


@pytest.mark.spec("L1")
def test_an_owner_may_write_what_they_once_rejected(user: User) -> None:
    rejected = propose(user, "爱好", "游泳")
    reject_memory(user=user, memory_id=rejected, now=NOW)
    memory, action = create(user, "爱好", "游泳", now=LATER)
    assert action is Action.CREATED
    once = LongTermMemory.objects.exclude(id=memory.id).get(user=user)
    assert (once.id, once.status, once.superseded_by_id) == (rejected, "superseded", memory.id)


@pytest.mark.spec("L1")
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"category": "opinion"}, "category"),
        ({"key": "  "}, "key"),
        ({"key": "k" * 201}, "key"),
        ({"key": 5}, "key"),
        ({"key": "a\x00b"}, "key"),
        ({"value": None}, "value"),
        ({"value": " "}, "value"),
        ({"value": {"a": ["\ud83d"]}}, "value"),
        ({"value": float("inf")}, "value"),
        ({"confidence": 1.01}, "confidence"),
        ({"confidence": True}, "confidence"),
        ({"confidence": float("nan")}, "confidence"),
        ({"source": "hearsay"}, "source"),
    ],
)
def test_bad_fields_are_named_and_nothing_is_stored(user: User, fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as error:
        create_memory(**{"user": user, "category": "fact", "key": "city", "value": "x", "now": NOW, **fields})
    assert list(error.value.fields) == [field]
    assert not LongTermMemory.objects.exists()


@pytest.mark.long
def test_the_size_of_a_value_has_a_limit(user: User) -> None:
    create(user, "essay", "字" * 31_998)
    with pytest.raises(TooLarge):
        create(user, "essay", "字" * 31_999)
    assert len(LongTermMemory.objects.get(user=user).value) == 31_998


def test_a_session_of_someone_else_is_not_found(user: User) -> None:
    with pytest.raises(NotFound):
        create(user, "city", "Berlin", session_id=SessionFactory().id)
    assert not LongTermMemory.objects.exists()


# Changing


@pytest.mark.spec("L3")
def test_a_change_is_found_under_its_new_text_only(user: User) -> None:
    memory = LongTermMemoryFactory(user=user, key="编程语言", value="Python", now=NOW)
    changes = {"key": " 最爱的水果 ", "value": ["芒果"], "category": "fact", "confidence": 0.3}
    changed = update_memory(user=user, memory_id=memory.id, changes=changes, now=LATER)
    stored = LongTermMemory.objects.get(id=memory.id)
    assert (changed.id, stored.key, stored.value, stored.category) == (memory.id, "最爱的水果", ["芒果"], "fact")
    assert (stored.confidence, stored.source) == (0.3, "user_stated")
    assert (stored.created_at, stored.updated_at, stored.last_accessed) == (NOW, LATER, NOW)
    assert retrieve_relevant_memories(user=user, message="Python 编程", limit=5) == []
    (found,) = retrieve_relevant_memories(user=user, message="芒果", limit=5)
    assert found.candidate.id == memory.id
    _, action = create(user, "最爱的水果", "芒果")
    assert action is Action.REFRESHED


@pytest.mark.spec("L3")
def test_a_key_of_another_active_memory_is_a_conflict(user: User) -> None:
    taken = LongTermMemoryFactory(user=user, key="favorite color", value="blue")
    memory = LongTermMemoryFactory(user=user, key="city", value="Berlin")
    with pytest.raises(Conflict) as error:
        update_memory(user=user, memory_id=memory.id, changes={"key": "My Favorite_Color", "value": "x"}, now=NOW)
    assert error.value.fields["memory_id"] == str(taken.id)
    memory.refresh_from_db()
    assert (memory.key, memory.value) == ("city", "Berlin")
    same = update_memory(user=user, memory_id=memory.id, changes={"key": "City!"}, now=NOW)
    assert same.key == "City!"


@pytest.mark.spec("L3")
def test_a_key_of_someone_else_is_none_of_ours(user: User) -> None:
    LongTermMemoryFactory(key="city")
    memory = LongTermMemoryFactory(user=user, key="town")
    assert update_memory(user=user, memory_id=memory.id, changes={"key": "city"}, now=NOW).key == "city"


def test_history_cannot_be_changed(user: User) -> None:
    old = LongTermMemoryFactory(user=user, key="city", value="Berlin")
    LongTermMemoryFactory(user=user, key="city", value="Paris")
    rejected = propose(user, "job", "cook")
    reject_memory(user=user, memory_id=rejected, now=NOW)
    for memory_id in (old.id, rejected):
        with pytest.raises(Conflict):
            update_memory(user=user, memory_id=memory_id, changes={"value": "Rome"}, now=NOW)
    assert set(LongTermMemory.objects.values_list("value", flat=True)) == {"Berlin", "Paris", "cook"}


def test_what_the_server_keeps_cannot_be_changed(user: User) -> None:
    memory = LongTermMemoryFactory(user=user)
    with pytest.raises(InvalidInput) as error:
        update_memory(user=user, memory_id=memory.id, changes={"status": "pending", "key": "x"}, now=NOW)
    assert list(error.value.fields) == ["status"]


# Reviewing


@pytest.mark.spec("L2", "L3")
def test_accepting_supersedes_what_the_key_had(user: User) -> None:
    old = LongTermMemoryFactory(user=user, key="城市", value="北京", now=NOW)
    memory = accept_memory(user=user, memory_id=propose(user, "城市", "上海"), now=LATER)
    assert (memory.status, memory.value, memory.updated_at) == ("active", "上海", LATER)
    memory.refresh_from_db()
    assert (memory.status, memory.value, memory.updated_at) == ("active", "上海", LATER)
    old.refresh_from_db()
    assert (old.status, old.superseded_by_id) == ("superseded", memory.id)


@pytest.mark.spec("L2")
def test_a_pending_memory_is_recalled_once_it_is_accepted(user: User) -> None:
    pending = propose(user, "城市", "上海")
    assert retrieve_relevant_memories(user=user, message="上海", limit=5) == []
    accept_memory(user=user, memory_id=pending, now=NOW)
    (found,) = retrieve_relevant_memories(user=user, message="上海", limit=5)
    assert found.candidate.id == pending


@pytest.mark.spec("L3")
def test_accepting_an_addition_adds_to_the_list_as_it_is_by_then(user: User) -> None:
    LongTermMemoryFactory(user=user, key="过敏", value=["花生"])
    pending = propose(user, "过敏", "虾", mode="add")
    LongTermMemoryFactory(user=user, key="过敏", value=["花生", "蟹"])
    memory = accept_memory(user=user, memory_id=pending, now=LATER)
    memory.refresh_from_db()
    assert (memory.id, memory.value, memory.mode) == (pending, ["花生", "蟹", "虾"], "replace")
    (found,) = retrieve_relevant_memories(user=user, message="蟹", limit=5)
    assert found.candidate.id == pending


@pytest.mark.spec("K4")
def test_the_stored_words_are_those_of_the_text_whoever_wrote_it(user: User) -> None:
    def words() -> list[str]:
        memory = LongTermMemory.objects.get(user=user, status="active")
        return memory.words

    create(user, "您的顏色", "紅色的花, my dog's favorite")
    assert words() == ["我", "的", "颜色", "红色", "花", "dog", "favorite"]
    create(user, "您的顏色", ["花生", "花生"])
    assert words() == ["我", "的", "颜色", "花生"]
    memory = LongTermMemory.objects.get(user=user, status="active")
    update_memory(user=user, memory_id=memory.id, changes={"key": "Allergies"}, now=LATER)
    assert words() == ["allergies", "花生", "allergic"]
    update_memory(user=user, memory_id=memory.id, changes={"value": ["螃蟹"]}, now=LATER)
    assert words() == ["allergies", "螃蟹", "allergic"]
    accept_memory(user=user, memory_id=propose(user, "allergies", "Milk", mode="add"), now=LATER)
    assert words() == ["allergies", "螃蟹", "milk", "allergic"]


@pytest.mark.spec("L3")
def test_accepting_a_removal_leaves_the_rest_or_nothing(user: User) -> None:
    LongTermMemoryFactory(user=user, key="pets", value=["cat", "dog"], now=NOW)
    memory = accept_memory(user=user, memory_id=propose(user, "pets", "dog", mode="remove"), now=NOW)
    assert (memory.status, memory.value) == ("active", ["cat"])
    last = accept_memory(user=user, memory_id=propose(user, "pets", "cat", mode="remove"), now=NOW)
    last.refresh_from_db()
    assert last.status == "superseded"
    assert not LongTermMemory.objects.filter(status="active").exists()


@pytest.mark.spec("L2")
def test_only_pending_memories_can_be_reviewed(user: User) -> None:
    active = LongTermMemoryFactory(user=user)
    rejected = propose(user, "job", "cook")
    assert reject_memory(user=user, memory_id=rejected, now=LATER).status == "rejected"
    for memory_id in (active.id, rejected):
        for review in (accept_memory, reject_memory):
            with pytest.raises(Conflict):
                review(user=user, memory_id=memory_id, now=NOW)
    for review in (accept_memory, reject_memory):
        with pytest.raises(NotFound):
            review(user=user, memory_id=uuid4(), now=NOW)
        with pytest.raises(NotFound):
            review(user=UserFactory(), memory_id=rejected, now=NOW)


# Counting use


@pytest.mark.spec("L4")
def test_use_is_counted_once_and_is_no_change(user: User, django_assert_num_queries: Any) -> None:
    used = [LongTermMemoryFactory(user=user, now=NOW) for _ in range(2)]
    unused = LongTermMemoryFactory(user=user, now=NOW)
    theirs = LongTermMemoryFactory(now=NOW)
    ids = [used[0].id, used[1].id, used[0].id, theirs.id]
    with django_assert_num_queries(1):
        record_use(user=user, memory_ids=ids, now=LATER)
    for memory in used:
        memory.refresh_from_db()
        assert (memory.access_count, memory.last_accessed, memory.updated_at) == (1, LATER, NOW)
    for memory in (unused, theirs):
        memory.refresh_from_db()
        assert (memory.access_count, memory.last_accessed) == (0, NOW)
    with django_assert_num_queries(0):
        record_use(user=user, memory_ids=[], now=LATER)
