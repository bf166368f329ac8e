"""The audit record: who changed what, when, before and after; and undoing, wholly or not at all (L7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.core.errors import Conflict
from apps.memory.changes.records import changed_by, list_caused_operations
from apps.memory.changes.undo import undo_and_purge, undo_operation
from apps.memory.deletion import delete_all_memories, delete_memories
from apps.memory.entries import create_memory
from apps.memory.judge.review import accept_memory, reject_memory
from apps.memory.keyed import ProposedEntry
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import create_atomic_memories, update_memory
from apps.memory.models import AtomicMemory, Change, ForgottenKey, LongTermMemory
from apps.memory.recall.long_term import retrieve_relevant_memories
from apps.memory.types import AtomicDraft
from tests.support.entries import entry, propose, record
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("L7")]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def create(user: User, key: str, value: Any, *, now: datetime = NOW) -> LongTermMemory:
    return create_memory(user=user, category="fact", key=key, value=value, now=now)[0]


def learn(user: User, *entries: ProposedEntry, now: datetime = NOW) -> list[UUID]:
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
        (new,) = learn(user, entry("城市", "上海", category="preference"), now=LATER)
    first, *rest = Change.objects.order_by("id")
    assert [(change.action, change.object_id) for change in rest] == [("supersede", old.id), ("create", new)]
    assert rest[0].operation == rest[1].operation != first.operation
    assert {(change.actor, change.origin, change.created_at) for change in rest} == {(None, "extraction", LATER)}
    assert [change.after["category"] for change in rest] == ["fact", "preference"]
    assert rest[0].before["status"] == "active"
    assert rest[0].after == {**rest[0].before, "status": "superseded", "superseded_by": str(new)}


def test_editing_accepting_and_rejecting_are_recorded(user: User) -> None:
    memory = create(user, "city", "Paris")
    update_memory(LONG_TERM, user=user, memory_id=memory.id, changes={"value": "Lyon", "confidence": 0.8}, now=LATER)
    accepted, rejected = learn(user, guess("job", "cook"), guess("age", 30))
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
    learn(user, entry("city", "Paris"))
    learn(user, entry("city", "Paris!"), now=LATER)
    assert [action for action, _id in read(user)] == ["create"]
    learn(user, entry("city", "Paris", confidence=1.0), now=LATER)
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
    (rejected,) = learn(user, guess("爱好", "游泳"))
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
    with django_assert_max_num_queries(15):
        assert delete_all_memories(LONG_TERM, user=user, now=LATER) == 40
    assert not Change.objects.exclude(before=None, after=None).exists()
    assert Change.objects.filter(action="delete").count() == 40


# Undoing


def last(user: User) -> UUID:
    """The newest operation."""
    return Change.objects.filter(user=user).latest("id").operation


def undo(user: User, operation: UUID | None = None) -> UUID:
    return undo_operation(user=user, operation=operation or last(user), now=LATER)


def states(user: User) -> set[tuple[Any, str]]:
    return {(memory.value, memory.status) for memory in LongTermMemory.objects.filter(user=user)}


def find(user: User, message: str) -> list[Any]:
    found = retrieve_relevant_memories(user=user, message=message, limit=5, now=LATER)
    return [scored.candidate.value for scored in found]


def test_undoing_the_undoing_does_it_again_and_again(user: User) -> None:
    create(user, "city", "Paris")
    create(user, "city", "Lyon")
    operation = last(user)
    for _ in range(2):
        undoing = undo(user, operation)
        assert states(user) == {("Paris", "active"), ("Lyon", "rejected")}
        undo(user, undoing)
        assert states(user) == {("Paris", "superseded"), ("Lyon", "active")}
        lyon = LongTermMemory.objects.get(value="Lyon")
        assert LongTermMemory.objects.get(value="Paris").superseded_by == lyon
    assert find(user, "which city") == ["Lyon"]


def test_what_was_undone_is_not_proposed_again(user: User) -> None:
    propose(user, "city", "Paris", confidence=0.9)
    undo(user)
    assert propose(user, "city", "Paris", confidence=0.9) == []
    assert states(user) == {("Paris", "rejected")}


def test_undoing_is_recorded_with_who_did_it(user: User) -> None:
    memory = create(user, "city", "Paris")
    operation, staff = last(user), UserFactory()
    with changed_by(origin=Change.Origin.PANEL, actor=staff):
        undoing = undo(user, operation)
    change = Change.objects.get(operation=undoing)
    assert (change.action, change.object_id, change.actor, change.origin) == ("undo", memory.id, staff, "panel")
    assert (change.before["status"], change.after["status"], change.created_at) == ("active", "rejected", LATER)
    assert Change.objects.get(operation=operation).undone_by == undoing


def refused(user: User, operation: UUID) -> str:
    before = list(LongTermMemory.objects.order_by("id").values())
    with pytest.raises(Conflict) as error:
        undo(user, operation)
    assert list(LongTermMemory.objects.order_by("id").values()) == before
    return error.value.message


def test_what_has_changed_since_is_not_undone(user: User) -> None:
    memory = create(user, "city", "Paris")
    operation = last(user)
    update_memory(LONG_TERM, user=user, memory_id=memory.id, changes={"confidence": 0.5}, now=NOW)
    assert "changed again later" in refused(user, operation)
    undo(user)
    undo(user, operation)
    assert states(user) == {("Paris", "rejected")}


def test_what_comes_back_does_not_push_out_what_has_its_key_by_now(user: User) -> None:
    memory = create(user, "city", "Paris")
    update_memory(LONG_TERM, user=user, memory_id=memory.id, changes={"key": "town"}, now=NOW)
    operation = last(user)
    create(user, "city", "Lyon")
    assert "now uses this key" in refused(user, operation)


def test_a_deletion_is_final(user: User) -> None:
    create(user, "city", "Paris")
    lyon = create(user, "city", "Lyon")
    supersession = last(user)
    delete_memories(LONG_TERM, user=user, ids=[lyon.id], now=NOW)
    assert refused(user, last(user)) == "Deletions cannot be undone."
    assert "deleted" in refused(user, supersession)


def test_what_lost_its_successor_is_not_ended_again(user: User) -> None:
    (pending,) = propose(user, "city", "Paris")
    active = create(user, "city", "paris")
    settled = Change.objects.get(object_id=pending, action="supersede").operation
    undoing = undo(user, settled)
    assert LongTermMemory.objects.get(id=active.id).status == "rejected"
    delete_memories(LONG_TERM, user=user, ids=[active.id], now=NOW)
    assert "deleted" in refused(user, undoing)


def operation_of(object_id: UUID) -> UUID:
    return Change.objects.filter(object_id=object_id).latest("id").operation


def test_what_was_made_is_gone_and_what_it_replaced_is_back(user: User) -> None:
    old, new = create(user, "home", "Leeds"), create(user, "home", "York")
    assert undo_and_purge(user=user, operation=operation_of(new.id), now=NOW)
    assert list(LongTermMemory.objects.values_list("id", "status")) == [(old.id, "active")]
    assert not ForgottenKey.objects.exists()


def test_what_was_deleted_before_is_still_known_as_deleted(user: User) -> None:
    first, second = create_atomic_memories(
        user=user, drafts=[AtomicDraft(content="喜欢茶"), AtomicDraft(content="喜欢咖啡")], now=NOW
    )
    delete_memories(ATOMIC, user=user, ids=[first.id], now=NOW)
    deleted = set(ForgottenKey.objects.values_list("digest", flat=True))
    (again,) = create_atomic_memories(user=user, drafts=[AtomicDraft(content="喜欢茶")], now=NOW)
    for memory in (second, again):
        assert undo_and_purge(user=user, operation=operation_of(memory.id), now=NOW)
    assert not AtomicMemory.objects.exists()
    assert set(ForgottenKey.objects.values_list("digest", flat=True)) == deleted


def test_what_was_changed_since_stays_and_nobody_elses_is_touched(user: User) -> None:
    memory = create(user, "home", "York")
    operation = operation_of(memory.id)
    assert not undo_and_purge(user=UserFactory.create(), operation=operation, now=NOW)
    LongTermMemory.objects.update(confidence=0.3)
    assert not undo_and_purge(user=user, operation=operation, now=NOW)
    assert not undo_and_purge(user=user, operation=uuid4(), now=NOW)
    assert LongTermMemory.objects.get().status == "active"


def test_operations_that_messages_caused_are_listed_newest_first_in_portions(user: User, session: Session) -> None:
    message = session.messages.create(user=user, role="user", content="x", position=1)
    drafts = [AtomicDraft(content=text, message_id=message.id) for text in ("一", "二", "三")]
    made = create_atomic_memories(user=user, drafts=drafts, now=NOW + timedelta(minutes=1))
    Change.objects.update(message=message)
    create_atomic_memories(user=user, drafts=[AtomicDraft(content="别的")], now=NOW)
    expected = [operation_of(memory.id) for memory in reversed(made)]
    first = list_caused_operations(user, session_ids=[session.id], before=None, limit=2)
    rest = list_caused_operations(user, session_ids=[session.id], before=first[-1][0], limit=2)
    assert [operation for _newest, operation in [*first, *rest]] == expected
    other = UserFactory.create()
    assert list_caused_operations(other, session_ids=[session.id], before=None, limit=2) == []


# Over REST

CHANGES = "/memory/changes"


def test_changes_are_listed_newest_first(client: APIClient, user: User) -> None:
    create(user, "城市", "北京")
    with changed_by(origin=Change.Origin.EXTRACTION, actor=None):
        new = create(user, "城市", "上海")
    create(UserFactory(), "城市", "广州")
    page = client.get(CHANGES, {"limit": 2}).json()
    assert (page["count"], [change["action"] for change in page["results"]]) == (3, ["create", "supersede"])
    created = page["results"][0]
    assert created == {
        "operation": page["results"][1]["operation"],
        "object_id": str(new.id),
        "kind": "long_term",
        "action": "create",
        "origin": "extraction",
        "actor": None,
        "space": None,
        "message_id": None,
        "before": None,
        "after": created["after"],
        "reason": "",
        "undone_by": None,
        "can_be_undone": True,
        "created_at": "2026-11-20T08:30:00Z",
    }
    assert created["after"]["value"] == "上海"
    assert client.get(CHANGES, {"offset": 2}).json()["results"][0]["actor"] == "li"


def test_the_list_can_be_narrowed(client: APIClient, user: User) -> None:
    memory, _other = create(user, "城市", "北京"), create(user, "age", "28")
    for query in ({"object_id": str(memory.id)}, {"operation": str(Change.objects.earliest("id").operation)}):
        (change,) = client.get(CHANGES, query).json()["results"]
        assert change["object_id"] == str(memory.id)
    assert client.get(CHANGES, {"action": "edit"}).json()["count"] == 0
    for query in ({"object_id": "x"}, {"kind": "x"}):
        assert client.get(CHANGES, query).status_code == 400


def test_undoing_returns_what_it_changed(client: APIClient, user: User) -> None:
    old, new = create(user, "城市", "北京"), create(user, "城市", "上海")
    operation = client.get(CHANGES, {"object_id": str(new.id)}).json()["results"][0]["operation"]
    undone = client.post(f"{CHANGES}/{operation}/undo")
    assert undone.status_code == 200
    changes = {change["object_id"]: change["after"]["status"] for change in undone.json()["results"]}
    assert changes == {str(old.id): "active", str(new.id): "rejected"}
    (created,) = client.get(CHANGES, {"object_id": str(new.id), "action": "create"}).json()["results"]
    assert (created["undone_by"], created["can_be_undone"]) == (undone.json()["results"][0]["operation"], False)
    again = client.post(f"{CHANGES}/{operation}/undo")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")
