"""What was known at a time: for any sequence of changes, the list that was there then (L7)."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.core.errors import JiyiError, NotFound
from apps.memory import kinds
from apps.memory.changes.records import collect_operations, empty_history
from apps.memory.changes.undo import undo_operation
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.lifecycle import (
    create_atomic_memory,
    merge_memories,
    mute_memories,
    restore_memory,
    supersede_atomic_memory,
    update_memory,
)
from apps.memory.models import Change
from tests.support.factories import UserFactory

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("L7"),
    pytest.mark.long_except("test_nobody_sees_what_others_were", "test_emptied_history_is_not_guessed"),
]

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
LONG_TERM, ATOMIC = "/memory/long-term", "/memory/atomic"
CITIES = ["北京", "Hamburg", "Munich", "上海", "Leeds", "Porto"]
# What of a memory is no part of what was known.
USE = ("last_accessed", "access_count")


def read(client: APIClient, path: str, **query: Any) -> list[dict[str, Any]]:
    page = client.get(path, {"limit": 200, **query})
    assert page.status_code == 200, page.content
    return [{name: value for name, value in row.items() if name not in USE} for row in page.json()["results"]]


def remember(user: User, value: str = "Leeds", *, key: str = "home", now: datetime = BEGIN) -> UUID:
    return create_memory(user=user, category="fact", key=key, value=value, now=now)[0].id


def edit(user: User, memory_id: UUID, *, kind: kinds.MemoryKind = kinds.LONG_TERM, **changes: Any) -> None:
    """Change a memory a day later."""
    update_memory(kind, user=user, memory_id=memory_id, changes=changes, now=BEGIN + timedelta(days=1))


class Life:
    """A person to whom things happen at random, minute by minute."""

    def __init__(self, user: User, kind: kinds.MemoryKind, seed: int) -> None:
        self.user, self.kind, self.random = user, kind, random.Random(seed)
        self.now = BEGIN
        self.operations: list[UUID] = []

    def step(self) -> None:
        self.now += timedelta(minutes=1)
        acts = [self.create] * 8 + [self.edit] * 4 + [self.mute, self.merge, self.restore, self.undo, self.delete]
        try:
            with collect_operations() as operations:
                self.random.choice(acts)()
            self.operations += operations
        except JiyiError:
            pass  # nothing to do it to

    def pick(self, status: str = "active", count: int = 1) -> list[Any]:
        rows = list(self.kind.rows(self.user).filter(status=status).order_by(self.kind.made_at))
        if len(rows) < count:
            raise NotFound("There is none.")
        return self.random.sample(rows, count)

    def text(self) -> str:
        return f"{self.random.choice(CITIES)} {self.random.randrange(30)}"

    def create(self) -> None:
        if self.kind is kinds.LONG_TERM:
            key = self.random.choice(["home", "work", "城市", "birthplace"])
            create_memory(user=self.user, category="fact", key=key, value=self.text(), now=self.now)
        elif self.random.random() < 0.4 and self.kind.active(self.user).exists():
            (row,) = self.pick()
            supersede_atomic_memory(user=self.user, memory_id=row.id, content=self.text(), now=self.now)
        else:
            create_atomic_memory(user=self.user, content=f"I was in {self.text()}.", now=self.now)

    def edit(self) -> None:
        (row,) = self.pick()
        if self.kind is kinds.LONG_TERM:
            changes: Any = {"value": self.text(), "confidence": self.random.random()}
        else:
            changes = {"content": self.text(), "tags": [self.random.choice(CITIES)]}
        update_memory(self.kind, user=self.user, memory_id=row.id, changes=changes, now=self.now)

    def mute(self) -> None:
        (row,) = self.pick()
        mute_memories(self.kind, user=self.user, ids=[row.id], muted=not row.muted, now=self.now)

    def merge(self) -> None:
        kept, merged = (row.id for row in self.pick(count=2))
        merge_memories(self.kind, user=self.user, kept_id=kept, merged_id=merged, text=self.text(), now=self.now)

    def restore(self) -> None:
        (row,) = self.pick("superseded")
        restore_memory(self.kind, user=self.user, memory_id=row.id, now=self.now)

    def undo(self) -> None:
        operation = self.random.choice(self.operations[-4:] or [UUID(int=0)])
        undo_operation(user=self.user, operation=operation, now=self.now)

    def delete(self) -> None:
        (row,) = self.pick(self.random.choice(["active", "superseded"]))
        delete_memories(self.kind, user=self.user, ids=[row.id], now=self.now)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.slug)
def test_as_of_is_the_list_that_was_there(client: APIClient, user: User, kind: kinds.MemoryKind, seed: int) -> None:
    life, path = Life(user, kind, seed), f"/memory/{kind.slug}"
    then: list[tuple[datetime, list[dict[str, Any]], list[dict[str, Any]]]] = []
    for _step in range(40):
        life.step()
        then.append((life.now, read(client, path), read(client, path, status="all", search="北京")))
    living = {str(pk) for pk in kind.model.objects.values_list("pk", flat=True)}
    assert len(living) > 2
    for moment, listed, found in then:
        expected = [row for row in listed if row["id"] in living]
        assert read(client, path, as_of=moment.isoformat()) == expected, moment
        expected = [row for row in found if row["id"] in living]
        assert read(client, path, as_of=moment.isoformat(), status="all", search="北京") == expected
    assert read(client, path, as_of=BEGIN.isoformat(), status="all") == []


def test_filters_are_those_of_then(client: APIClient, user: User) -> None:
    memory = remember(user)
    edit(user, memory, value="York", category="preference")
    mute_memories(kinds.LONG_TERM, user=user, ids=[memory], muted=True, now=BEGIN + timedelta(days=1))
    then = BEGIN.isoformat()
    assert read(client, LONG_TERM, as_of=then, category="fact", muted="false", search="leeds")[0]["value"] == "Leeds"
    assert read(client, LONG_TERM, as_of=then, category="preference") == []
    assert read(client, LONG_TERM, as_of=then, muted="true") == []
    assert read(client, LONG_TERM, as_of=then, search="york") == []
    assert read(client, LONG_TERM, as_of=then, source="inferred") == []
    atomic, _created = create_atomic_memory(user=user, content="Met Ann.", tags=["people"], now=BEGIN)
    edit(user, atomic.id, kind=kinds.ATOMIC, tags=["work"], timestamp=BEGIN + timedelta(days=9))
    assert read(client, ATOMIC, as_of=then, tags="people", until=then)[0]["tags"] == ["people"]
    assert read(client, ATOMIC, as_of=then, tags="work") == []
    assert read(client, ATOMIC, as_of=then, since=(BEGIN + timedelta(days=2)).isoformat()) == []


def test_a_date_is_its_end_in_the_persons_zone(client: APIClient, user: User) -> None:
    client.patch("/memory/settings", {"memory.timezone": "Asia/Shanghai"}, format="json")
    late = datetime(2026, 3, 1, 15, 59, tzinfo=UTC)  # still the first of March there
    remember(user, now=late)
    remember(user, key="work", now=late + timedelta(minutes=2))
    assert [row["key"] for row in read(client, LONG_TERM, as_of="2026-03-01")] == ["home"]
    assert [row["key"] for row in read(client, LONG_TERM, as_of="2026-03-02", ordering="created_at")] == [
        "home",
        "work",
    ]


@pytest.mark.parametrize(
    "query",
    [
        {"as_of": "yesterday"},
        {"as_of": ""},
        {"as_of": "9999-12-31"},
        {"as_of": "2026-02-30"},
        {"as_of": "2026-03-01", "ordering": "value"},
        {"as_of": "2026-03-01", "status": "gone"},
    ],
)
@pytest.mark.parametrize("path", [LONG_TERM, ATOMIC])
def test_what_is_no_time_is_refused(client: APIClient, path: str, query: dict[str, str]) -> None:
    answer = client.get(path, query)
    assert answer.status_code == 400
    assert set(answer.json()["error"]["fields"]) <= {*query}


def test_nobody_sees_what_others_were(client: APIClient) -> None:
    other = UserFactory()
    edit(other, remember(other), value="York")
    assert read(client, LONG_TERM, as_of="2026-03-01", status="all") == []


def test_emptied_history_is_not_guessed(client: APIClient, user: User) -> None:
    memory = remember(user)
    edit(user, memory, value="York")
    empty_history(user=user, kind=Change.Kind.LONG_TERM, object_ids=[memory])
    assert read(client, LONG_TERM, as_of=BEGIN.isoformat()) == []


def test_the_number_of_queries_is_that_of_few(client: APIClient, user: User) -> None:
    counts = []
    for number in (2, 9):
        for index in range(number):
            edit(user, remember(user, key=f"key {number} {index}"), value="York")
        with CaptureQueriesContext(connection) as queries:
            assert {row["value"] for row in read(client, LONG_TERM, as_of=BEGIN.isoformat())} == {"Leeds"}
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 6
