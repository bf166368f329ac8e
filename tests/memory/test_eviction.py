"""Memories that go by themselves (L5)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.accounts.services.people import update_settings
from apps.memory.changes.undo import undo_operation
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import evict_memories, mute_memories, record_use
from apps.memory.models import Change, LongTermMemory
from apps.memory.recall.long_term import retrieve_relevant_memories
from apps.memory.tasks import evict_memories as task
from tests.support.factories import UserFactory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("L5"),
    pytest.mark.long_except(
        "test_the_least_certain_go_first_then_those_unused_for_longest",
        "test_what_was_evicted_is_recorded_as_the_services_do_and_comes_back_one_by_one_as_it_was",
    ),
]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
LATER = NOW + timedelta(days=1)


def create(user: User, key: str, *, confidence: float = 1.0, at: datetime = NOW) -> LongTermMemory:
    return create_memory(user=user, category="fact", key=key, value=f"值 {key}", confidence=confidence, now=at)[0]


def limit(user: User | None, threshold: int | None = None, floor: float | None = None) -> None:
    update_settings(user=user, changes={"memory.eviction_threshold": threshold, "memory.confidence_floor": floor})


def active(user: User) -> set[str]:
    return set(LongTermMemory.objects.filter(user=user, status="active").values_list("key", flat=True))


def test_nothing_goes_unless_a_setting_says_so(user: User, django_assert_num_queries: Any) -> None:
    for number in range(20):
        create(user, f"k{number}", confidence=0.1)
    with django_assert_num_queries(3):
        assert evict_memories(now=LATER) == 0
    assert len(active(user)) == 20


def test_the_least_certain_go_first_then_those_unused_for_longest(user: User) -> None:
    create(user, "uncertain", confidence=0.3, at=LATER)
    unused = create(user, "unused", confidence=0.6)
    used = create(user, "used", confidence=0.6)
    create(user, "sure", confidence=0.9)
    record_use(user=user, memory_ids=[used.id], now=LATER)
    for threshold, left in ((3, {"unused", "used", "sure"}), (2, {"used", "sure"}), (1, {"sure"})):
        limit(user, threshold)
        assert evict_memories(now=LATER) == 1
        assert active(user) == left
    unused.refresh_from_db()
    assert (unused.status, unused.updated_at, unused.last_accessed) == ("evicted", LATER, NOW)
    assert evict_memories(now=LATER) == 0


def test_what_is_below_the_floor_goes(user: User) -> None:
    for confidence in (0.29, 0.3, 0.31):
        create(user, str(confidence), confidence=confidence)
    limit(user, floor=0.3)
    assert evict_memories(now=LATER) == 1
    assert active(user) == {"0.3", "0.31"}


def test_only_active_memories_count(user: User) -> None:
    create(user, "city")
    create_memory(user=user, category="fact", key="city", value="Lyon", now=NOW)
    create(user, "job")
    limit(user, 2)
    assert evict_memories(now=LATER) == 0


def test_everybody_has_their_own_limit_over_the_global_one(user: User, settings: Any) -> None:
    other, third = UserFactory(), UserFactory()
    for owner in (user, other, third):
        for number in range(4):
            create(owner, f"k{number}", confidence=0.5 + number / 10)
    limit(user, 1)
    limit(other, floor=0.75)
    assert evict_memories(now=LATER) == 3 + 3
    assert [len(active(owner)) for owner in (user, other, third)] == [1, 1, 4]
    limit(None, 3)
    assert evict_memories(now=LATER) == 1
    assert active(third) == {"k1", "k2", "k3"}
    limit(None)
    settings.MEMORY_ENVIRONMENT = {"MEMORY_EVICTION_THRESHOLD": "2"}
    assert evict_memories(now=LATER) == 1
    assert active(third) == {"k2", "k3"}


def test_the_number_of_people_and_memories_costs_no_more_queries(django_assert_max_num_queries: Any) -> None:
    for _ in range(6):
        owner = UserFactory()
        for number in range(5):
            create(owner, f"k{number}")
    limit(None, 2)
    with django_assert_max_num_queries(8):
        assert evict_memories(now=LATER) == 18


@pytest.mark.spec("L7", "L10")
def test_what_was_evicted_is_recorded_as_the_services_do_and_comes_back_one_by_one_as_it_was(user: User) -> None:
    muted, other = create(user, "城市", confidence=0.2), create(user, "job", confidence=0.1)
    mute_memories(LONG_TERM, user=user, ids=[muted.id], muted=True, now=NOW)
    before = LONG_TERM.snapshot(LONG_TERM.get(user, muted.id))
    limit(user, floor=0.5)
    assert task() == 2
    change = Change.objects.get(object_id=muted.id, action="evict")
    assert (change.user, change.actor, change.origin, change.kind) == (user, None, "life_cycle", "long_term")
    assert (change.before, change.after) == (before, {**before, "status": "evicted"})
    created, evicted = Change.objects.filter(object_id=other.id).order_by("id")
    assert (evicted.before, evicted.after) == (created.after, {**created.after, "status": "evicted"})
    undo_operation(user=user, operation=change.operation, now=LATER)
    assert active(user) == {"城市"}
    assert LONG_TERM.snapshot(LONG_TERM.get(user, muted.id)) == before


@pytest.mark.spec("K3")
def test_what_was_evicted_is_not_retrieved_and_can_be_said_again(user: User) -> None:
    old = create(user, "城市", confidence=0.2)
    limit(user, floor=0.5)
    evict_memories(now=LATER)
    assert retrieve_relevant_memories(user=user, message="城市", limit=5, now=LATER) == []
    new, action = create_memory(user=user, category="fact", key="城市", value=old.value, now=LATER)
    assert (action, new.id != old.id, active(user)) == ("created", True, {"城市"})
    old.refresh_from_db()
    assert old.status == "evicted"
