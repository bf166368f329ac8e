"""The audit record over REST (L7)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.memory.changes.records import changed_by
from apps.memory.entries import create_memory
from apps.memory.models import Change, LongTermMemory
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("L7")]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
CHANGES = "/memory/changes"


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
