"""The page "Import and export": downloads, the preview, and that what was shown is what is done (M4)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.memory.lifecycle import create_atomic_memory
from apps.memory.models import Change, LongTermMemory
from tests.support.factories import LongTermMemoryFactory

pytestmark = [
    pytest.mark.usefixtures("mei"),
    pytest.mark.spec("M4", "M5", "M7"),
    pytest.mark.long_except(
        "test_confirming_does_what_was_shown_and_offers_to_undo", "test_nothing_is_done_that_was_not_shown"
    ),
]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)


@pytest.fixture
def staff() -> User:
    return User.objects.create_user("tang", is_staff=True)


def row(**fields: Any) -> dict[str, Any]:
    return {"category": "fact", "key": "城市", "value": "北京", **fields}


def send(client: Client, step: str, content: Any, **fields: Any) -> Any:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    file = SimpleUploadedFile("memories.json", data, content_type="application/json")
    response = client.post(
        reverse(f"admin:transfer_{step}"), {"kind": "long-term", "file": file, **fields}, headers={"HX-Request": "true"}
    )
    assert response.status_code == 200
    return response


def digest(response: Any) -> str:
    return str(response.context["plan"].digest)


def download(client: Client, **query: Any) -> Any:
    response = client.get(reverse("admin:transfer_download"), query)
    assert response.status_code == 200
    assert response["Content-Disposition"].startswith("attachment; filename=")
    return json.loads(b"".join(response.streaming_content))


def test_downloads_are_ones_own(client: Client, mei: User) -> None:
    LongTermMemoryFactory(user=mei, key="城市", value="北京")
    create_atomic_memory(user=mei, content="用户住在北京。", now=NOW)
    theirs = LongTermMemoryFactory(key="secret")
    assert [memory["key"] for memory in download(client, what="long-term")] == ["城市"]
    assert [memory["content"] for memory in download(client, what="atomic", user=theirs.user.pk)] == ["用户住在北京。"]
    assert client.get(reverse("admin:transfer_download"), {"what": "passwords"}).status_code == 404


def test_the_preview_says_what_would_happen_to_each_row(client: Client, mei: User) -> None:
    same = LongTermMemoryFactory(user=mei, key="same")
    changed = LongTermMemoryFactory(user=mei, key="城市", value="住在上海", category="fact")
    there = {memory["id"]: memory for memory in download(client, what="long-term")}
    before = Change.objects.count()
    shown = send(
        client, "preview",
        [there[str(same.pk)], {**there[str(changed.pk)], "value": "住在北京"}, row(key="新"),
         row(key="其他", session_id=str(uuid4()))],
    )  # fmt: skip
    rows = shown.context["rows"]
    assert [(line["number"], line["action"]) for line in rows] == [
        (1, "skip"),
        (2, "update"),
        (3, "create"),
        (4, "create"),
    ]
    assert [(str(change.label), change.before, change.after) for change in rows[1]["changes"]] == [
        ("value", "住在上海", "住在北京")
    ]
    assert "<del>上海</del><ins>北京</ins>" in shown.content.decode()
    assert [str(note) for note in rows[3]["notes"]] == [
        "Its conversation does not exist here, so it is imported without it."
    ]
    assert "Import into the memories of mei" in shown.content.decode()
    only = send(client, "preview", [row(), there[str(same.pk)]], show="skip")
    assert [line["number"] for line in only.context["rows"]] == [2]
    assert Change.objects.count() == before


def test_problems_come_first_and_nothing_can_be_imported(client: Client) -> None:
    content = [row(key="good"), row(category="x"), row(key="good!")]
    shown = send(client, "preview", content)
    assert [(line["number"], list(line["reasons"])) for line in shown.context["rows"]] == [
        (2, [("category", "Must be one of: preference, fact, pattern.")]),
        (3, [("key", "Duplicates the active memory in row 1.")]),
    ]
    assert reverse("admin:transfer_confirm") not in shown.content.decode()
    assert len(send(client, "preview", content, show="all").context["rows"]) == 3
    send(client, "confirm", content, plan=digest(shown))
    assert not LongTermMemory.objects.exists()


def test_confirming_does_what_was_shown_and_offers_to_undo(client: Client, mei: User) -> None:
    content = [row(), row(key="other")]
    shown = send(client, "preview", content)
    done = send(client, "confirm", content, plan=digest(shown))
    assert (done.context["done"].created, done.context["done"].updated) == (2, 0)
    operation = done.context["done"].operation
    assert str(operation) in done["HX-Trigger"]
    assert {(change.origin, change.actor) for change in Change.objects.filter(operation=operation)} == {("panel", mei)}
    client.post(reverse("admin:undo"), {"operations": operation})
    assert {memory.status for memory in LongTermMemory.objects.all()} == {"rejected"}


@pytest.mark.parametrize("plan", ["", "0" * 64])
def test_nothing_is_done_that_was_not_shown(client: Client, plan: str) -> None:
    answer = send(client, "confirm", [row()], plan=plan)
    assert answer.context["has_changed"]
    assert not LongTermMemory.objects.exists()


def test_without_a_file_or_kind(client: Client) -> None:
    address = reverse("admin:transfer_preview")
    assert "Choose a file first." in client.post(address, {"kind": "long-term"}).content.decode()
    assert "Choose which type" in client.post(address, {"kind": "x"}).content.decode()
    assert client.get(address).status_code == 405
    assert client.get(reverse("admin:transfer_confirm")).status_code == 405


def test_whose_memories_they_are_is_said_and_kept(client: Client, mei: User, staff: User) -> None:
    client.force_login(staff)
    page = client.get(reverse("admin:transfer"), {"name": "mei"})
    assert page["Location"] == f"{reverse('admin:transfer')}?user={mei.pk}"
    shown = client.get(page["Location"]).content.decode()
    assert "You are viewing the memories of" in shown
    assert f'name="user" value="{mei.pk}"' in shown
    assert "No user has this username." in client.get(reverse("admin:transfer"), {"name": "x"}).content.decode()
    preview = send(client, "preview", [row()], user=mei.pk)
    assert "Import into the memories of mei" in preview.content.decode()
    send(client, "confirm", [row()], user=mei.pk, plan=digest(preview))
    memory = LongTermMemory.objects.get()
    assert memory.user == mei
    assert Change.objects.get().actor == staff
