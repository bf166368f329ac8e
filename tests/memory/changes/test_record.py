"""The audit record (L7): who changed what, when, before and after; a deletion leaves who, when and the ID."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from apps.accounts.models import User
from apps.memory.changes.records import changed_by
from apps.memory.deletion import delete_all_memories, delete_memories
from apps.memory.entries import create_memory
from apps.memory.judge.review import accept_memory, reject_memory
from apps.memory.keyed import ProposedEntry
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import update_memory
from apps.memory.models import Change, LongTermMemory
from tests.support.entries import entry, record
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("L7")]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def create(user: User, key: str, value: Any, *, now: datetime = NOW) -> LongTermMemory:
    return create_memory(user=user, category="fact", key=key, value=value, now=now)[0]


def propose(user: User, *entries: ProposedEntry, now: datetime = NOW) -> list[UUID]:
    return [update.id for update in record(user, *entries, at=now)]


def guess(key: str, value: Any) -> ProposedEntry:
    return ProposedEntry(category="fact", key=key, value=value, source="inferred", confidence=0.4)


def read(user: User) -> list[tuple[str, UUID]]:
    return list(Change.objects.filter(user=user).order_by("id").values_list("action", "object_id"))


def test_a_new_memory_is_recorded_with_all_a_person_could_care_for(user: User) -> None:
    memory = create(user, "城市", "北京")
    (change,) = Change.objects.all()
    assert (change.user, change.actor, change.origin, change.kind) == (user, user, "api", "long_term")
    assert (change.action, change.object_id, change.created_at) == ("create", memory.id, NOW)
    assert change.before is None
    assert change.after == {
        "category": "fact",
        "key": "城市",
        "value": "北京",
        "confidence": 1.0,
        "source": "user_stated",
        "status": "active",
        "mode": "replace",
        "superseded_by": None,
    }


def test_what_supersedes_and_what_is_superseded_are_one_operation(user: User) -> None:
    old = create(user, "城市", "北京")
    with changed_by(origin=Change.Origin.EXTRACTION, actor=None):
        (new,) = propose(user, entry("城市", "上海"), now=LATER)
    first, *rest = Change.objects.order_by("id")
    assert [(change.action, change.object_id) for change in rest] == [("supersede", old.id), ("create", new)]
    assert rest[0].operation == rest[1].operation != first.operation
    assert {(change.actor, change.origin, change.created_at) for change in rest} == {(None, "extraction", LATER)}
    assert rest[0].before["status"] == "active"
    assert rest[0].after == {**rest[0].before, "status": "superseded", "superseded_by": str(new)}


def test_editing_accepting_and_rejecting_are_recorded(user: User) -> None:
    memory = create(user, "city", "Paris")
    update_memory(LONG_TERM, user=user, memory_id=memory.id, changes={"value": "Lyon", "confidence": 0.8}, now=LATER)
    accepted, rejected = propose(user, guess("job", "cook"), guess("age", 30))
    accept_memory(LONG_TERM, user=user, memory_id=accepted, now=LATER)
    reject_memory(LONG_TERM, user=user, memory_id=rejected, now=LATER)
    assert read(user) == [
        ("create", memory.id),
        ("edit", memory.id),
        ("create", accepted),
        ("create", rejected),
        ("accept", accepted),
        ("reject", rejected),
    ]
    edit = Change.objects.get(action="edit")
    assert {name for name in edit.after if edit.before[name] != edit.after[name]} == {"value", "confidence"}
    assert Change.objects.get(action="accept").before["status"] == "pending"
    assert Change.objects.get(action="reject").after["status"] == "rejected"


def test_a_refresh_is_recorded_where_it_changed_something(user: User) -> None:
    propose(user, entry("city", "Paris"))
    propose(user, entry("city", "Paris!"), now=LATER)
    assert [action for action, _id in read(user)] == ["create"]
    propose(user, entry("city", "Paris", confidence=1.0), now=LATER)
    assert [action for action, _id in read(user)] == ["create", "refresh"]
    refresh = Change.objects.get(action="refresh")
    assert (refresh.before["confidence"], refresh.after["confidence"]) == (0.9, 1.0)


def test_somebody_else_who_changes_a_memory_is_named(user: User) -> None:
    staff = UserFactory()
    with changed_by(origin=Change.Origin.PANEL, actor=staff):
        create(user, "city", "Paris")
    create(user, "job", "cook")
    panel, api = Change.objects.order_by("id")
    assert (panel.user, panel.actor, panel.origin) == (user, staff, "panel")
    assert (api.user, api.actor, api.origin) == (user, user, "api")


@pytest.mark.spec("L6")
def test_a_deletion_takes_the_history_along_and_leaves_who_when_and_the_id(user: User) -> None:
    old = create(user, "城市", "北京")
    new = create(user, "城市", "上海", now=LATER)
    other = create(user, "age", 28)
    theirs = create(UserFactory(), "城市", "北京")
    delete_memories(LONG_TERM, user=user, ids=[new.id], now=LATER)
    gone = Change.objects.filter(user=user, object_id__in=[old.id, new.id])
    assert not gone.exclude(before=None, after=None).exists()
    tombstones = gone.filter(action="delete")
    assert {change.object_id for change in tombstones} == {old.id, new.id}
    assert {(change.actor, change.created_at, change.kind) for change in tombstones} == {(user, LATER, "long_term")}
    for memory in (other, theirs):
        assert Change.objects.get(object_id=memory.id).after is not None


@pytest.mark.spec("L6")
def test_a_value_rejected_once_and_then_written_leaves_nothing_when_deleted(user: User) -> None:
    (rejected,) = propose(user, guess("爱好", "游泳"))
    reject_memory(LONG_TERM, user=user, memory_id=rejected, now=NOW)
    memory = create(user, "爱好", "游泳", now=LATER)
    delete_memories(LONG_TERM, user=user, ids=[memory.id], now=LATER)
    assert not Change.objects.exclude(before=None, after=None).exists()
    assert not LongTermMemory.objects.exists()


@pytest.mark.long
@pytest.mark.spec("L6")
def test_clearing_all_empties_every_record_and_costs_the_same_queries(
    user: User, django_assert_max_num_queries: Any
) -> None:
    for number in range(40):
        create(user, f"key {number}", number)
    with django_assert_max_num_queries(14):
        assert delete_all_memories(LONG_TERM, user=user, now=LATER) == 40
    assert not Change.objects.exclude(before=None, after=None).exists()
    assert Change.objects.filter(action="delete").count() == 40
