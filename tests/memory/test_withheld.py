"""What is kept, shown and known, but recalled in no reply: muted memories (L10), and what held until a day (D3)."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.core.llm.types import read_block
from apps.memory.changes.undo import undo_operation
from apps.memory.entries import create_memory
from apps.memory.judge.known import list_known_memories
from apps.memory.kinds import KINDS, LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, update_memory
from apps.memory.models import AtomicMemory, Change, LongTermMemory
from apps.memory.recall.both import search_memories
from apps.memory.transfer import export_memories, import_memories
from apps.memory.vectors.memories import fill_missing
from tests.support.answers import answer
from tests.support.factories import UserFactory
from tests.support.http_server import ApiClient
from tests.support.judged import learn
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.django_db, pytest.mark.spec("D3", "L10")]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
FRIDAY, OVER = "2026-11-28T00:00:00Z", "2026-01-01T00:00:00Z"
CONTENT = "My sister's wedding is in Rome."


@pytest.fixture
def paths(alice: ApiClient) -> list[str]:
    """A memory of each kind about a wedding."""
    entry, _action = create_memory(user=alice.user, category="fact", key="wedding", value="in Rome", now=NOW)
    atomic, _new = create_atomic_memory(user=alice.user, content=CONTENT, now=NOW)
    return [f"/memory/long-term/{entry.id}", f"/memory/atomic/{atomic.id}"]


def change(client: ApiClient, path: str, **changes: Any) -> dict[str, Any]:
    return client.patch(path, json=changes).raise_for_status().json()


def recall(client: ApiClient, model: ScriptedModel) -> list[dict[str, Any]]:
    client.say(client.new_session(), "Tell me about the wedding in Rome").raise_for_status()
    block = read_block(model.chat_requests[-1].blocks, "memories") or ""
    return [json.loads(line) for line in block.splitlines()]


@pytest.mark.long
@pytest.mark.parametrize(
    ("withheld", "given"), [({"muted": True}, {"muted": False}), ({"valid_until": OVER}, {"valid_until": None})]
)
def test_it_is_recalled_and_searched_no_longer_until_it_may_be_again(
    alice: ApiClient, model: ScriptedModel, paths: list[str], withheld: dict[str, Any], given: dict[str, Any]
) -> None:
    fill_missing()
    told = [line.get("key") or line["text"] for line in recall(alice, model)]
    assert told == ["wedding", CONTENT]
    for path in paths:
        assert withheld.items() <= change(alice, path, **withheld).items()
    assert recall(alice, model) == []
    assert search_memories(user=alice.user, keyword="wedding") == []
    for kind in KINDS:
        path = f"/memory/{kind.slug}"
        assert alice.get(f"{path}/search", params={"q": "wedding"}).json()["results"] == []
        (shown,) = alice.get(path, params={"search": "Rome"}).json()["results"]
        assert {"status": "active", **withheld}.items() <= shown.items()
    assert len(list_known_memories(alice.user, said=["Rome"], message_ids=[], budget=400)) == 2
    for path in paths:
        change(alice, path, **given)
    assert [line.get("key") or line["text"] for line in recall(alice, model)] == told


@pytest.mark.parametrize(
    ("changes", "action"), [({"muted": True}, Change.Action.MUTE), ({"valid_until": FRIDAY}, Change.Action.EDIT)]
)
def test_a_change_of_it_is_recorded_undone_exported_and_imported(
    alice: ApiClient, bob: ApiClient, paths: list[str], changes: dict[str, Any], action: str
) -> None:
    for kind, path in zip(KINDS, paths, strict=True):
        before = alice.get(path).json()
        for _again in range(2):
            change(alice, path, **changes)
        (row,) = json.loads(b"".join(export_memories(alice.user, kind)))
        assert changes.items() <= row.items()
        del row["id"]
        import_memories(user=bob.user, kind=kind, items=[row], now=NOW)
        assert changes.items() <= bob.get(f"/memory/{kind.slug}").json()["results"][0].items()
        recorded = Change.objects.get(user=alice.user, object_id=before["id"], action=action)  # once
        undo_operation(user=alice.user, operation=recorded.operation, now=NOW)
        assert {**alice.get(path).json(), "updated_at": ""} == {**before, "updated_at": ""}


@pytest.mark.parametrize(
    "wrong", [{"muted": "yes"}, {"valid_until": "soon"}, {"valid_until": 5}, {"valid_until": "0001-01-01T00:00:00Z"}]
)
def test_what_is_neither_yes_nor_no_or_no_time_is_refused(
    alice: ApiClient, paths: list[str], wrong: dict[str, Any]
) -> None:
    for path in paths:
        refused = alice.patch(path, json=wrong)
        assert (refused.status_code, set(refused.json()["error"]["fields"])) == (400, set(wrong))
    assert alice.post("/memory/atomic", json={"content": "I ski.", "muted": True}).status_code == 400


# Muted


@pytest.mark.long
def test_the_list_can_be_narrowed(alice: ApiClient, paths: list[str]) -> None:
    for path in paths:
        kind = path.rpartition("/")[0]
        assert alice.get(kind, params={"muted": "true"}).json()["count"] == 0
        change(alice, path, muted=True)
        assert alice.get(kind, params={"muted": "true"}).json()["count"] == 1
        assert alice.get(kind, params={"muted": "false"}).json()["count"] == 0


def test_what_is_remembered_lists_it_as_muted_and_no_model_gets_it(
    alice: ApiClient, model: ScriptedModel, paths: list[str]
) -> None:
    for path in paths:
        change(alice, path, muted=True)
    reply = alice.say(alice.new_session(), "What do you remember about me?").json()["assistant_message"]["content"]
    assert "- wedding: in Rome (muted)" in reply
    assert f"- {CONTENT} (muted)" in reply
    alice.say(alice.new_session(), "I am writing a letter. What do you remember about me?").raise_for_status()
    assert "Rome" not in model.chat_requests[-1].blocks


@pytest.mark.long
def test_the_extraction_still_knows_it_among_many(alice: ApiClient, paths: list[str]) -> None:
    for path in paths:
        change(alice, path, muted=True)
    for number in range(40):
        create_atomic_memory(user=alice.user, content=f"Parcel {number} weighs a lot.", now=NOW)
        create_memory(user=alice.user, category="fact", key=f"parcel {number}", value="heavy", now=NOW)
    known = list_known_memories(alice.user, said=["the wedding in Rome"], message_ids=[], budget=400)
    assert len(known) < 80
    assert {memory.memory_id for memory in known} >= {uuid.UUID(path.rpartition("/")[2]) for path in paths}


@pytest.mark.long
def test_changes_from_before_a_memory_was_muted_and_unmuted_can_be_undone(alice: ApiClient, paths: list[str]) -> None:
    entry = LongTermMemory.objects.get()
    update_memory(LONG_TERM, user=alice.user, memory_id=entry.id, changes={"value": "in Pisa"}, now=NOW)
    edit = Change.objects.get(action=Change.Action.EDIT)
    for muted in (True, False):
        change(alice, paths[0], muted=muted)
    undo_operation(user=alice.user, operation=edit.operation, now=timezone.now())
    assert LongTermMemory.objects.get().value == "in Rome"


@pytest.mark.long
def test_other_fields_are_changed_with_it_and_a_new_value_of_a_muted_key_is_muted(
    alice: ApiClient, paths: list[str]
) -> None:
    changed = change(alice, paths[0], muted=True, value="in Pisa")
    assert (changed["muted"], changed["value"]) == (True, "in Pisa")
    assert alice.put(paths[0], json=changed).raise_for_status().json()["muted"] is True
    create_memory(user=alice.user, category="fact", key="wedding", value="in Bari", now=timezone.now())
    assert LongTermMemory.objects.get(status="active").muted


# Until a day


def test_a_turn_recalls_it_with_its_last_day_and_no_longer_after_that(
    alice: ApiClient, model: ScriptedModel, paths: list[str]
) -> None:
    last_day = (timezone.now() + timedelta(days=30)).replace(hour=12)
    for path in paths:
        change(alice, path, valid_until=last_day.isoformat())
    assert [line["until"] for line in recall(alice, model)] == [str(last_day.date())] * 2
    for path in paths:
        change(alice, path, valid_until=OVER)
    assert recall(alice, model) == []


def test_an_entry_of_a_turn_has_it_too(alice: ApiClient, model: ScriptedModel) -> None:
    entry = {"category": "fact", "key": "diet", "value": "no sugar", "until": "the end of the year"}
    model.script(answer("Good luck!", entries=[entry]))
    alice.say(alice.new_session(), "No sugar for me until the end of the year.").raise_for_status()
    found = LongTermMemory.objects.get(key="diet").valid_until
    assert (found.month, found.day) == (1, 1)


def test_said_again_it_is_valid_again() -> None:
    user, friday = UserFactory(), datetime.fromisoformat(FRIDAY)
    for valid_until in (datetime.fromisoformat(OVER), None):
        fields: dict[str, Any] = {"user": user, "valid_until": valid_until, "now": NOW}
        create_memory(category="fact", key="wedding", value="in Rome", **fields)
        create_atomic_memory(content=CONTENT, **fields)
    assert {memory.valid_until for kind in KINDS for memory in kind.active(user)} == {None}
    AtomicMemory.objects.update(valid_until=datetime.fromisoformat(OVER))
    learn(user, CONTENT, valid_until=friday)
    assert AtomicMemory.objects.get(user=user).valid_until == friday
    learn(user, CONTENT)
    assert AtomicMemory.objects.get(user=user).valid_until == friday  # not over yet
