"""Muted memories (L10): kept, shown and known, but recalled in no reply; undone like any change."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone

from apps.core.llm.types import read_block
from apps.memory.changes.undo import undo_operation
from apps.memory.entries import create_memory
from apps.memory.judge.known import list_known_memories
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, update_memory
from apps.memory.models import AtomicMemory, Change, LongTermMemory
from apps.memory.recall.both import search_memories
from apps.memory.vectors.memories import fill_missing
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel

pytestmark = [
    pytest.mark.spec("L10"),
    pytest.mark.long_except(
        "test_what_is_remembered_lists_it_as_muted_and_no_model_gets_it",
        "test_muting_is_recorded_and_undone",
    ),
]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
CONTENT = "My sister's wedding is in Rome."


@pytest.fixture
def paths(alice: ApiClient) -> list[str]:
    """A memory of each kind about a wedding."""
    entry, _action = create_memory(user=alice.user, category="fact", key="wedding", value="in Rome", now=NOW)
    atomic, _new = create_atomic_memory(user=alice.user, content=CONTENT, now=NOW)
    return [f"/memory/long-term/{entry.id}", f"/memory/atomic/{atomic.id}"]


def mute(client: ApiClient, path: str, *, muted: bool = True) -> dict[str, Any]:
    answer: dict[str, Any] = client.patch(path, json={"muted": muted}).raise_for_status().json()
    return answer


def recalled(client: ApiClient, model: ScriptedModel, message: str = "Tell me about the wedding in Rome") -> list[str]:
    client.say(client.new_session(), message).raise_for_status()
    block = read_block(model.chat_requests[-1].blocks, "memories") or ""
    return [line.get("key") or line["text"] for line in map(json.loads, block.splitlines())]


def test_a_muted_memory_is_not_recalled_until_it_is_unmuted(
    alice: ApiClient, model: ScriptedModel, paths: list[str]
) -> None:
    fill_missing()
    assert recalled(alice, model) == ["wedding", CONTENT]
    for path in paths:
        assert mute(alice, path)["muted"] is True
    assert recalled(alice, model) == []
    assert search_memories(user=alice.user, keyword="wedding") == []
    for kind in ("long-term", "atomic"):
        assert alice.get(f"/memory/{kind}/search", params={"q": "wedding"}).json()["results"] == []
    for path in paths:
        assert mute(alice, path, muted=False)["muted"] is False
    assert recalled(alice, model) == ["wedding", CONTENT]


def test_it_is_kept_and_shown_and_the_list_can_be_narrowed(alice: ApiClient, paths: list[str]) -> None:
    for path in paths:
        kind = path.rpartition("/")[0]
        assert alice.get(kind, params={"muted": "true"}).json()["count"] == 0
        mute(alice, path)
        assert [item["muted"] for item in alice.get(kind).json()["results"]] == [True]
        assert alice.get(kind, params={"muted": "true"}).json()["count"] == 1
        assert alice.get(kind, params={"muted": "false"}).json()["count"] == 0


def test_what_is_remembered_lists_it_as_muted_and_no_model_gets_it(
    alice: ApiClient, model: ScriptedModel, paths: list[str]
) -> None:
    for path in paths:
        mute(alice, path)
    reply = alice.say(alice.new_session(), "What do you remember about me?").json()["assistant_message"]["content"]
    assert "- wedding: in Rome (muted)" in reply
    assert f"- {CONTENT} (muted)" in reply
    alice.say(alice.new_session(), "I am writing a letter. What do you remember about me?").raise_for_status()
    assert "Rome" not in model.chat_requests[-1].blocks


@pytest.mark.parametrize("others", [0, 40], ids=["all are shown", "the nearest are searched"])
def test_the_extraction_still_knows_it(alice: ApiClient, paths: list[str], others: int) -> None:
    for path in paths:
        mute(alice, path)
    for number in range(others):
        create_atomic_memory(user=alice.user, content=f"Parcel {number} weighs a lot.", now=NOW)
        create_memory(user=alice.user, category="fact", key=f"parcel {number}", value="heavy", now=NOW)
    known = list_known_memories(alice.user, said=["the wedding in Rome"], message_ids=[], budget=400)
    assert (len(known) == 2) == (others == 0)
    assert {memory.memory_id for memory in known} >= {uuid.UUID(path.rpartition("/")[2]) for path in paths}


def test_muting_is_recorded_and_undone(alice: ApiClient, paths: list[str]) -> None:
    for path in paths:
        mute(alice, path)
        mute(alice, path)  # nothing more to record
    changes = Change.objects.filter(user=alice.user, action=Change.Action.MUTE)
    assert [(change.before.get("muted"), change.after["muted"]) for change in changes] == [(None, True)] * 2
    for change in list(changes):
        undo_operation(user=alice.user, operation=change.operation, now=timezone.now())
    assert not LongTermMemory.objects.get().muted
    assert not AtomicMemory.objects.get().muted


def test_changes_from_before_a_memory_was_muted_and_unmuted_can_be_undone(alice: ApiClient, paths: list[str]) -> None:
    entry = LongTermMemory.objects.get()
    update_memory(LONG_TERM, user=alice.user, memory_id=entry.id, changes={"value": "in Pisa"}, now=NOW)
    edit = Change.objects.get(action=Change.Action.EDIT)
    mute(alice, paths[0])
    mute(alice, paths[0], muted=False)
    undo_operation(user=alice.user, operation=edit.operation, now=timezone.now())
    assert LongTermMemory.objects.get().value == "in Rome"


def test_a_new_value_of_a_muted_key_is_muted(alice: ApiClient, paths: list[str]) -> None:
    mute(alice, paths[0])
    create_memory(user=alice.user, category="fact", key="wedding", value="in Pisa", now=timezone.now())
    assert LongTermMemory.objects.get(status="active").muted


def test_other_fields_are_changed_with_it(alice: ApiClient, paths: list[str]) -> None:
    changed = alice.patch(paths[0], json={"muted": True, "value": "in Pisa"}).raise_for_status().json()
    assert (changed["muted"], changed["value"]) == (True, "in Pisa")
    assert alice.put(paths[0], json=changed).raise_for_status().json()["muted"] is True
    for path in paths:
        assert alice.patch(path, json={"muted": "yes"}).status_code == 400
    assert alice.post("/memory/atomic", json={"content": "I ski.", "muted": True}).status_code == 400


def test_export_and_import_carry_it(alice: ApiClient, bob: ApiClient, paths: list[str]) -> None:
    mute(alice, paths[0])
    exported = alice.get("/memory/long-term/export", params={"format": "json"}).raise_for_status()
    assert exported.json()[0]["muted"] is True
    files = {"file": ("memories.json", exported.content, "application/json")}
    bob.post("/memory/long-term/import", files=files).raise_for_status()
    assert LongTermMemory.objects.get(user=bob.user).muted
