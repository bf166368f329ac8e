"""The audit record over REST (L7)."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.memory.models import Change, LongTermMemory
from apps.memory.services import changed_by, create_memory, forget_memories
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("L7")]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
CHANGES = "/memory/changes"


@pytest.fixture
def user() -> User:
    return UserFactory(username="li")


@pytest.fixture
def client(user: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


def create(user: User, key: str, value: str) -> LongTermMemory:
    return create_memory(user=user, category="fact", key=key, value=value, now=NOW)[0]


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
        "message_id": None,
        "before": None,
        "after": created["after"],
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


def test_a_deletion_cannot_be_undone_and_says_nothing_of_what_it_was(client: APIClient, user: User) -> None:
    memory = create(user, "城市", "北京")
    forget_memories(user=user, ids=[memory.id], now=NOW)
    deleted, created = client.get(CHANGES).json()["results"]
    assert (deleted["action"], created["action"]) == ("delete", "create")
    for change in (deleted, created):
        assert (change["before"], change["after"], change["can_be_undone"]) == (None, None, False)
    assert client.post(f"{CHANGES}/{deleted['operation']}/undo").status_code == 409


def test_what_is_not_there_is_404(client: APIClient) -> None:
    create(UserFactory(), "城市", "北京")
    for operation in (uuid4(), Change.objects.get().operation, "x"):
        assert client.post(f"{CHANGES}/{operation}/undo").status_code == 404
