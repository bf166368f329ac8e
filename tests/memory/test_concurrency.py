"""Writers of one person's memories at the same moment, each in a thread and a connection of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction

from apps.accounts.models import User
from apps.core.db import release_connections
from apps.core.errors import Conflict, Outdated
from apps.memory.deletion import delete_all_memories
from apps.memory.entries import create_memory
from apps.memory.keyed import Action
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, record_use, update_memory
from apps.memory.locking import lock_memories
from apps.memory.models import AtomicMemory, LongTermMemory, Status
from apps.memory.transfer import import_memories
from tests.support.entries import entry, record
from tests.support.factories import LongTermMemoryFactory, UserFactory
from tests.support.workers import Run, run_together

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
WRITERS = 8

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.spec("L3"),
    pytest.mark.long_except("test_work_that_waited_for_a_deletion_does_not_undo_it"),
]


def propose(user: User, key: str, value: Any, *, mode: str = "replace") -> Any:
    return record(user, entry(key, value, mode=mode), at=NOW)


def somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        (waiting,) = cursor.fetchone()
    return waiting > 0


def test_one_key_has_one_active_memory_and_the_rest_is_its_history(user: User) -> None:
    jobs = [
        lambda number=number: create_memory(user=user, category="fact", key="城市", value=f"城市{number}", now=NOW)
        for number in range(WRITERS)
    ]
    results = run_together(jobs)
    assert sorted(action for _memory, action in results) == [Action.CREATED] + [Action.SUPERSEDED] * (WRITERS - 1)
    active = LongTermMemory.objects.get(user=user, status=Status.ACTIVE)
    behind, memory = 0, active
    while earlier := memory.supersedes.first():
        behind, memory = behind + 1, earlier
    assert behind == WRITERS - 1


def test_the_same_value_at_once_is_stored_once(user: User) -> None:
    results = run_together([lambda: propose(user, "city", "Berlin")] * WRITERS)
    actions = sorted(update.action for (update,) in results)
    assert actions == [Action.CREATED] + [Action.REFRESHED] * (WRITERS - 1)
    assert LongTermMemory.objects.filter(user=user).count() == 1


def test_no_item_of_a_list_is_lost(user: User) -> None:
    jobs = [lambda number=number: propose(user, "过敏", f"食物{number}", mode="add") for number in range(WRITERS)]
    run_together(jobs)
    memory = LongTermMemory.objects.get(user=user, status=Status.ACTIVE)
    assert sorted(memory.value) == [f"食物{number}" for number in range(WRITERS)]


@pytest.mark.spec("L4")
def test_every_use_counts_whatever_the_order_of_memories(user: User) -> None:
    ids = [LongTermMemoryFactory(user=user, now=NOW).id for _ in range(6)]
    orders = [ids[turn % 6 :] + ids[: turn % 6] if turn % 2 else ids[::-1] for turn in range(WRITERS)]

    def finish_turn(order: list[Any], number: int) -> None:
        with transaction.atomic():
            propose(user, f"key {number % 3}", f"value {number}")
            record_use(user=user, memory_ids=order, now=NOW)

    run_together([lambda order=order, number=number: finish_turn(order, number) for number, order in enumerate(orders)])
    counts = LongTermMemory.objects.filter(id__in=ids).values_list("access_count", flat=True)
    assert list(counts) == [WRITERS] * 6


@pytest.mark.spec("L6")
def test_work_that_waited_for_a_deletion_does_not_undo_it(user: User) -> None:
    LongTermMemoryFactory(user=user, key="city", value="Berlin", now=NOW)
    with ThreadPoolExecutor(1) as pool:

        def learn_in_the_background() -> Any:
            try:
                return propose(user, "city", "Berlin")
            finally:
                release_connections()

        with transaction.atomic():
            lock_memories(user)
            waiting = pool.submit(learn_in_the_background)
            while not (waiting.done() or somebody_waits_for_a_lock()):
                pass
            assert delete_all_memories(LONG_TERM, user=user, now=NOW) == 1
        assert waiting.result() == []
    assert not LongTermMemory.objects.exists()


def test_different_people_do_not_wait_for_each_other() -> None:
    one, two = UserFactory(), UserFactory()
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        lock_memories(one)

        def write() -> Any:
            try:
                return propose(two, "city", "Berlin")
            finally:
                release_connections()

        (update,) = pool.submit(write).result(timeout=200)
    assert update.action is Action.CREATED


def update_seen(update: Callable[..., Any], memory: Any, changes: dict[str, Any]) -> bool:
    """Write what was typed into an editor that was opened before all others wrote; whether that was accepted."""
    try:
        update(
            user=memory.user, memory_id=memory.id, changes=changes, seen=memory.updated_at, now=NOW + timedelta(hours=1)
        )
    except Outdated:
        return False
    return True


@pytest.mark.spec("M3")
def test_of_several_who_save_what_they_opened_together_one_is_first(user: User) -> None:
    memory = LongTermMemoryFactory(user=user, key="城市", value="上海")
    atomic, _created = create_atomic_memory(user=user, content="用户养了一只猫。", timestamp=NOW, now=NOW)
    saved = run_together(
        [
            lambda n=n: update_seen(partial(update_memory, LONG_TERM), memory, {"value": f"{n}号城市"})
            for n in range(WRITERS)
        ]
    )
    assert sorted(saved) == [False] * (WRITERS - 1) + [True]
    assert LongTermMemory.objects.get(id=memory.id).value == f"{saved.index(True)}号城市"
    saved = run_together(
        [
            lambda n=n: update_seen(partial(update_memory, ATOMIC), atomic, {"content": f"猫有{n}岁。"})
            for n in range(WRITERS)
        ]
    )
    assert sorted(saved) == [False] * (WRITERS - 1) + [True]
    assert AtomicMemory.objects.get(id=atomic.id).content == f"猫有{saved.index(True)}岁。"


@pytest.mark.spec("M4")
def test_an_id_that_another_import_takes_meanwhile_is_a_conflict(user: User, run_until_blocked: Run) -> None:
    items = [{"id": str(uuid4()), "category": "fact", "key": "city", "value": "York"}]
    given = {"kind": LONG_TERM, "items": items, "now": NOW}
    with transaction.atomic():
        import_memories(user=UserFactory.create(), **given)
        other = run_until_blocked(import_memories, user=user, **given)
    with pytest.raises(Conflict):
        other.result()
    assert LongTermMemory.objects.count() == 1
