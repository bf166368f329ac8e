"""Adding and editing memories in the list, and undoing it (M3, L7)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import AtomicMemory, Change, LongTermMemory
from tests.panel.conftest import NOW, events, remember, toast
from tests.support.factories import UserFactory

pytestmark = [
    pytest.mark.spec("M3"),
    pytest.mark.long_except(
        "test_the_editor_holds_the_memory_and_saves_only_what_changed",
        "test_what_is_wrong_stands_beside_its_field_and_nothing_changes",
    ),
]

LIST = "/admin/memory/longtermmemory/"
ATOMIC = "/admin/memory/atomicmemory/"


def form(memory: Any = None, **fields: Any) -> dict[str, Any]:
    """What the editor of a memory sends."""
    version = memory.updated_at.isoformat() if memory else ""
    return {"version": version, "category": "fact", "key": "城市", "value": "上海", "confidence": "1.0"} | fields


def errors(response: Any) -> dict[str, list[str]]:
    assert response.status_code == 422
    return dict(response.context["form"].errors)


def test_the_editor_holds_the_memory_and_saves_only_what_changed(client: Client, mei: User) -> None:
    memory = remember(mei, "城市", ["上海", "北京"], confidence=0.876)
    editor = client.get(f"{LIST}{memory.id}/edit/")
    assert "- 上海\n- 北京" in editor.content.decode()
    data = form(memory, value='["上海",\r\n "北京"]', confidence="0.88", category="preference")
    response = client.post(f"{LIST}{memory.id}/edit/", data)
    assert response.status_code == 200
    assert f'id="memory-{memory.id}"' in response.content.decode()
    memory.refresh_from_db()
    assert (memory.category, memory.value, memory.confidence) == ("preference", ["上海", "北京"], 0.876)
    change = Change.objects.get(action="edit")
    assert (change.origin, change.actor) == ("panel", mei)
    assert toast(response) == {"text": "Saved.", "operations": str(change.operation), "error": False}


@pytest.mark.parametrize(
    ("change", "field", "reason"),
    [
        ({"value": '["a", '}, "value", "Invalid JSON at line 1, column 6. Put the value in quotes to save it as text."),
        ({"value": "茶" * 32_000}, "value", "The value has over 32,000 characters of JSON."),
        ({"key": "TAKEN!"}, "key", "Another active memory already uses this key."),
        ({"confidence": "1.5"}, "confidence", "Ensure this value is less than or equal to 1."),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_nothing_changes(
    client: Client, mei: User, change: dict[str, str], field: str, reason: str
) -> None:
    memory = remember(mei, "城市", "上海")
    remember(mei, "taken")
    response = client.post(f"{LIST}{memory.id}/edit/", form(memory, **change))
    assert errors(response) == {field: [reason]}
    memory.refresh_from_db()
    assert (memory.key, memory.value, Change.objects.filter(action="edit").count()) == ("城市", "上海", 0)


def test_saving_over_somebody_elses_change_takes_a_second_look(client: Client, mei: User) -> None:
    memory = remember(mei, "城市", "上海")
    stale = form(memory, value="广州")
    assert client.post(f"{LIST}{memory.id}/edit/", form(memory, value="北京")).status_code == 200
    response = client.post(f"{LIST}{memory.id}/edit/", stale)
    assert list(errors(response)) == ["__all__"]
    memory.refresh_from_db()
    assert memory.value == "北京"
    again = form(memory, value="广州")
    assert again["version"] in response.content.decode()
    assert client.post(f"{LIST}{memory.id}/edit/", again).status_code == 200


def test_adding_by_hand(client: Client, mei: User) -> None:
    assert client.get(f"{LIST}add/").status_code == 200
    response = client.post(f"{LIST}add/", form())
    memory = LongTermMemory.objects.get()
    assert (memory.user, memory.value, memory.source, memory.status) == (mei, "上海", "user_stated", "active")
    assert toast(response) == {
        "text": "Saved.",
        "operations": str(Change.objects.get().operation),
        "error": False,
    }
    assert toast(client.post(f"{LIST}add/", form()))["text"] == "This memory already exists."
    response = client.post(f"{LIST}add/", form(value="北京"))
    assert toast(response)["text"] == "Saved. It replaces the previous value of this key."
    client.post("/admin/undo/", {"operations": toast(response)["operations"]})
    assert LongTermMemory.objects.get(status="active").value == "上海"
    assert errors(client.post(f"{LIST}add/", form(key=" "))) == {"key": ["This field is required."]}


@pytest.mark.spec("M7")
def test_staff_say_whose_memory_it_is_and_nobody_else_can(client: Client, mei: User) -> None:
    staff = UserFactory.create(username="tang", is_staff=True)
    client.force_login(staff)
    assert 'value="mei"' in client.get(f"{LIST}add/", {"user": mei.pk}).content.decode()
    assert client.post(f"{LIST}add/", form(owner="mei")).status_code == 200
    assert LongTermMemory.objects.get().user == mei
    assert errors(client.post(f"{LIST}add/", form(owner="who"))) == {"owner": ["No user has this username."]}
    client.force_login(mei)
    assert client.post(f"{LIST}add/", form(owner="tang", key="a")).status_code == 200
    assert LongTermMemory.objects.get(key="a").user == mei


@pytest.mark.spec("M5")
def test_atomic_memories_are_edited_and_added(client: Client, mei: User) -> None:
    memory, _new = create_atomic_memory(user=mei, content="用户住在北京。", tags=["家"], now=NOW)
    url = f"{ATOMIC}{memory.id}/edit/"
    data = {"version": memory.updated_at.isoformat(), "content": "用户住在上海。", "tags": "家， 城市,city"}
    response = client.post(url, data)
    memory.refresh_from_db()
    assert (memory.content, memory.tags) == ("用户住在上海。", ["家", "城市", "city"])
    client.post("/admin/undo/", {"operations": toast(response)["operations"]})
    memory.refresh_from_db()
    assert (memory.content, memory.tags) == ("用户住在北京。", ["家"])
    create_atomic_memory(user=mei, content="用户喝茶。", now=NOW)
    data |= {"version": memory.updated_at.isoformat(), "content": "用户喝茶"}
    assert errors(client.post(url, data)) == {"content": ["Another active memory already says this."]}
    assert client.post(f"{ATOMIC}add/", {"content": "The user has a cat.", "tags": ""}).status_code == 200
    assert AtomicMemory.objects.filter(user=mei).count() == 3
    assert errors(client.post(f"{ATOMIC}add/", {"content": "x", "tags": "t" * 51})) == {
        "tags": ["Each tag must be text of 1 to 50 characters."]
    }


@pytest.mark.spec("L7")
def test_undo_is_a_post_and_tells_why_it_cannot(client: Client, mei: User) -> None:
    memory = remember(mei, "城市", "上海")
    operation = str(Change.objects.get().operation)
    assert client.get("/admin/undo/", {"operations": operation}).status_code == 405
    client.post(f"{LIST}{memory.id}/edit/", form(memory, value="北京"))
    response = client.post("/admin/undo/", {"operations": operation})
    assert toast(response)["text"] == "This was changed again later. Undo the later change first."
    assert events(response)["panel:reload"]
    operations = ",".join(map(str, Change.objects.values_list("operation", flat=True)))
    assert toast(client.post("/admin/undo/", {"operations": operations}))["text"] == "Undone."
    memory.refresh_from_db()
    assert (memory.value, memory.status) == ("上海", "rejected")
    assert client.post("/admin/undo/", {"operations": "nonsense"}).status_code == 404
    assert client.post("/admin/undo/", {"operations": str(timezone.now())}).status_code == 404
