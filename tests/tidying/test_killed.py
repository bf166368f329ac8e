"""A worker is killed at every step of a run: no half letter, and the next worker does it whole (D2)."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from celery import current_app
from django.db import connection, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.memory.changes.records import Origin
from apps.memory.locking import lock_memories
from apps.memory.models import AtomicMemory, Change, Status
from apps.tidying.models import Tidying
from apps.tidying.services import TASK, request_tidying
from tests.support.processes import wait_until
from tests.support.scripted_model import Gate, RecordedRequest, Reply, ScriptedModel, embed_with, make_vector
from tests.support.workers import run_worker
from tests.tidying.world import CapableModel, World, make_world, remember

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spec("D2"), pytest.mark.long]

SHORT_LEASE = 3  # seconds: the next worker waits for it to run out


@pytest.fixture
def world() -> World:
    return make_world(now=timezone.now(), share=0.5)


@pytest.fixture
def user(user: User, world: World, model: ScriptedModel) -> User:
    """Somebody with 100 memories, for which a run takes two calls, and a run that waits."""
    model.embed = lambda texts: embed_with(map(make_vector, texts))
    remember(user, world, now=timezone.now())
    request_tidying(user, now=timezone.now(), by_hand=False)
    return user


class Answers:
    """The capable model over HTTP, which stops at the call of this number until it is let go."""

    def __init__(self, model: ScriptedModel, world: World, *, holds: int) -> None:
        self._world, self._holds, self._gate = world, holds, Gate()
        self.asked = 0
        model.default = self._answer

    def stands(self, calls: int) -> bool:
        return self.asked >= calls

    def _answer(self, request: RecordedRequest) -> str | Reply:
        self.asked += 1
        changes = list(CapableModel(self._world).judge(request.messages[-1]["content"]))
        text = json.dumps({"changes": changes}, ensure_ascii=False)
        return Reply((self._gate, text)) if self.asked == self._holds else text


def describe(user: User) -> list[tuple[object, ...]]:
    return list(AtomicMemory.objects.filter(user=user).order_by("id").values_list("id", "content", "status"))


def asking(condition: Callable[[], bool]) -> Callable[[], bool]:
    """The condition, with the call that beat would send meanwhile."""

    def check() -> bool:
        current_app.send_task(TASK)
        return condition()

    return check


def is_done(user: User) -> bool:
    return Tidying.objects.filter(user=user, state=Tidying.State.DONE).exists()


@pytest.mark.parametrize("call", [1, 2])
def test_killed_while_the_model_answers(
    scripted_model: ScriptedModel, user: User, world: World, log: Path, call: int
) -> None:
    before, model = describe(user), Answers(scripted_model, world, holds=call)
    with run_worker(name="gone", model=scripted_model, lease_seconds=SHORT_LEASE, log=log) as worker:
        wait_until(asking(partial(model.stands, call)))
        worker.kill()
    assert_nothing_is_written(user, before)
    assert_the_next_one_does_it(scripted_model, user, log)


def test_killed_while_it_writes(scripted_model: ScriptedModel, user: User, world: World, log: Path) -> None:
    before, model = describe(user), Answers(scripted_model, world, holds=0)
    gone = run_worker(name="gone", model=scripted_model, lease_seconds=SHORT_LEASE, log=log)
    with gone as worker, transaction.atomic():
        lock_memories(user)  # it waits for this in the middle of its transaction
        wait_until(asking(partial(model.stands, 2)))
        wait_until(is_waiting_for_a_lock)
        worker.kill()
    assert_nothing_is_written(user, before)
    assert_the_next_one_does_it(scripted_model, user, log)


def is_waiting_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return bool(cursor.fetchone()[0])


def assert_nothing_is_written(user: User, before: list[tuple[object, ...]]) -> None:
    assert describe(user) == before
    assert not Change.objects.filter(user=user, origin=Origin.TIDYING).exists()
    assert Tidying.objects.get(user=user).state == Tidying.State.WAITING


def assert_the_next_one_does_it(scripted_model: ScriptedModel, user: User, log: Path) -> None:
    with run_worker(name="another", model=scripted_model, lease_seconds=60, log=log):
        wait_until(asking(partial(is_done, user)))
    run = Tidying.objects.get(user=user)
    told = Change.objects.filter(user=user, origin=Origin.TIDYING).values_list("operation", flat=True)
    assert set(told) == set(run.operations) != set()
    assert AtomicMemory.objects.filter(user=user, status=Status.SUPERSEDED).exists()
