"""Files of memories, what was known at a time, and eviction know spaces (P4)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import Setting, Space, User
from apps.accounts.services.people import create_token
from apps.accounts.spaces import create_space
from apps.memory.changes.timeline import read_past
from apps.memory.entries import create_memory
from apps.memory.import_plan import ImportRefused, Note, plan_import
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import evict_memories
from apps.memory.models import Change, LongTermMemory
from apps.memory.spaces import move_memories
from apps.memory.transfer import Adoption, ForeignMemory, adopt_memories, export_memories, import_memories
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("P4")]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def novel(user: User) -> Space:
    return create_space(user=user, name="Novel")


def note(user: User, key: str, value: Any, *, now: datetime = NOW) -> LongTermMemory:
    return create_memory(user=user, category="fact", key=key, value=value, now=now)[0]


def export(user: User) -> list[dict[str, Any]]:
    return json.loads(b"".join(export_memories(user, LONG_TERM)))


def bring(user: User, rows: Any) -> tuple[int, int, int]:
    done = import_memories(user=user, kind=LONG_TERM, items=rows, now=NOW)
    return done.created, done.updated, done.skipped


def values(user: User, space: UUID | None) -> set[str]:
    return {row.value for row in LONG_TERM.held(user.within(space))}


def test_what_is_exported_comes_back_where_it_was(user: User, novel: Space) -> None:
    note(user, "home", "Leeds")
    note(user.within(novel.id), "home", "York")
    rows = export(user)
    assert {(row["value"], row["space"], row.get("space_name")) for row in rows} == {
        ("Leeds", None, None),
        ("York", str(novel.id), "Novel"),
    }
    assert bring(user, rows) == (0, 0, 2)
    LongTermMemory.objects.all().delete()
    assert bring(user, rows) == (2, 0, 0)
    assert (values(user, None), values(user, novel.id)) == ({"Leeds"}, {"York"})


def test_in_another_account_a_space_is_known_by_its_name(user: User, novel: Space) -> None:
    note(user.within(novel.id), "home", "York")
    other = UserFactory.create(username="bob")
    theirs = create_space(user=other, name="novel")
    (row,) = export(user)
    assert bring(other, [row]) == (1, 0, 0)
    assert values(other, theirs.id) == {"York"}
    plan = plan_import(user=other, kind=LONG_TERM, items=[{**row, "id": str(uuid4()), "space_name": "x", "key": "k"}])
    assert (plan.rows[0].given["space"], plan.rows[0].notes) == (None, (Note.NO_SPACE,))
    with pytest.raises(ImportRefused):
        bring(other, [{**row, "space_name": 1}])


def test_two_are_the_same_only_in_one_space(user: User, novel: Space) -> None:
    note(user, "home", "Leeds")
    row = {"category": "fact", "key": "home", "value": "York"}
    with pytest.raises(ImportRefused):
        bring(user, [row])
    assert bring(user, [{**row, "space": str(novel.id)}]) == (1, 0, 0)
    with pytest.raises(ImportRefused):
        bring(user, [{**row, "space": str(novel.id), "value": "Bath"}])
    memory = ForeignMemory(id=uuid4(), key="home", value="Oslo")
    garden = user.within(create_space(user=user, name="garden").id)
    for person, outcome in ((user, Adoption.KEY_TAKEN), (garden, Adoption.ADOPTED)):
        found = adopt_memories(user=person, memories=[memory], operation=uuid4(), now=NOW)
        assert found.outcomes == {memory.id: outcome}
    assert values(user, garden.sight.space) == {"Oslo"}


@pytest.mark.spec("P5")
def test_who_is_bound_to_a_space_brings_all_there_and_changes_nothing_else(user: User, novel: Space) -> None:
    outside = note(user, "home", "Leeds")
    garden = note(user.within(create_space(user=user, name="garden").id), "home", "Bath")
    bound = user.within(novel.id)
    rows = [
        {"id": str(row.id), "category": "fact", "key": f"home {row.value}", "value": "taken over", "space": None}
        for row in (outside, garden)
    ]
    client = APIClient(headers={"Authorization": f"Bearer {create_token(user=user, space=novel)}"})
    answer = b"".join(client.get("/memory/long-term/export").streaming_content)
    assert [row["value"] for row in json.loads(answer)] == ["Leeds"]
    assert bring(bound, rows) == (2, 0, 0)
    assert bring(bound, rows) == (0, 0, 2), "the same IDs again"
    assert {row.value for row in LONG_TERM.held(user)} == {"Leeds"}
    assert {row.value for row in LONG_TERM.rows(user).filter(space=novel)} == {"taken over"}
    garden.refresh_from_db()
    assert garden.value == "Bath"


def test_what_moved_later_is_where_it_was_then(user: User, novel: Space) -> None:
    memory, came = note(user, "home", "Leeds"), note(user.within(novel.id), "cat", "Tom")
    move_memories(user=user, ids=[memory.id], space_id=novel.id, now=NOW + 2 * DAY)
    move_memories(user=user, ids=[came.id], space_id=None, now=NOW + 2 * DAY)
    bound, outside = user.within(novel.id), user.within(None)

    def known(person: User, days: int) -> set[UUID]:
        past = read_past(LONG_TERM, person, at=NOW + days * DAY)
        return {*past.changed, *past.unchanged.values_list("id", flat=True)}

    assert (known(outside, 1), known(outside, 3)) == ({memory.id}, {came.id})
    assert (known(bound, 1), known(bound, 3)) == ({memory.id, came.id}, {memory.id, came.id})
    garden = user.within(create_space(user=user, name="garden").id)
    assert (known(garden, 1), known(garden, 3)) == ({memory.id}, {came.id})
    token = create_token(user=user, space=Space.objects.get(name="garden"))
    client = APIClient(headers={"Authorization": f"Bearer {token}"})
    page = client.get("/memory/long-term", {"as_of": (NOW + DAY).isoformat()}).json()
    assert [row["id"] for row in page["results"]] == [str(memory.id)]


def test_an_eviction_is_recorded_where_it_was(user: User, novel: Space) -> None:
    for number in range(2):
        note(user.within(novel.id), f"key {number}", number)
    Setting.objects.create(user=user, key="memory.eviction_threshold", value=1)
    assert evict_memories(now=NOW) == 1
    (change,) = Change.objects.filter(action=Change.Action.EVICT)
    assert change.space_id == novel.id
    assert change.after["space"] == str(novel.id)
