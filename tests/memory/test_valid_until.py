"""What holds until a day (D3): past it a memory is kept and shown, but recalled no longer."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.core.llm.types import read_block
from apps.memory.changes.undo import undo_operation
from apps.memory.entries import create_memory
from apps.memory.judge.known import list_known_memories
from apps.memory.kinds import ATOMIC, KINDS, LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, update_memory
from apps.memory.models import AtomicMemory, Change, LongTermMemory
from apps.memory.recall.both import search_memories
from apps.memory.transfer import export_memories, import_memories
from tests.support.answers import answer
from tests.support.factories import UserFactory
from tests.support.http_server import ApiClient
from tests.support.judged import learn
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.django_db, pytest.mark.spec("D3")]

NOW = datetime(2026, 11, 22, 8, tzinfo=UTC)
FRIDAY = datetime(2026, 11, 28, tzinfo=UTC)
CONTENT = "The user stays in Rome."


def remember(user: Any, *, valid_until: datetime | None) -> list[Any]:
    """A memory of each kind about a journey."""
    entry, _action = create_memory(
        user=user, category="fact", key="journey", value="in Rome", valid_until=valid_until, now=NOW
    )
    atomic, _new = create_atomic_memory(user=user, content=CONTENT, valid_until=valid_until, now=NOW)
    return [entry, atomic]


def test_a_turn_recalls_it_with_its_last_day_and_no_longer_after_that(alice: ApiClient, model: ScriptedModel) -> None:
    last_day = (timezone.now() + timedelta(days=30)).replace(hour=12)
    memories = remember(alice.user, valid_until=last_day)

    def recall() -> list[dict[str, Any]]:
        alice.say(alice.new_session(), "Tell me about the journey to Rome").raise_for_status()
        block = read_block(model.chat_requests[-1].blocks, "memories") or ""
        return [json.loads(line) for line in block.splitlines()]

    assert [line["until"] for line in recall()] == [str(last_day.date())] * 2
    for kind, memory in zip(KINDS, memories, strict=True):
        alice.patch(f"/memory/{kind.slug}/{memory.id}", json={"valid_until": "2026-01-01T00:00:00Z"}).raise_for_status()
    assert recall() == []
    assert search_memories(user=alice.user, keyword="Rome") == []
    for kind in KINDS:
        path = f"/memory/{kind.slug}"
        assert alice.get(f"{path}/search", params={"q": "Rome"}).json()["results"] == []
        (shown,) = alice.get(path, params={"search": "Rome"}).json()["results"]
        assert (shown["status"], shown["valid_until"]) == ("active", "2026-01-01T00:00:00Z")
    assert len(list_known_memories(alice.user, said=["Rome"], message_ids=[], budget=400)) == 2


def test_an_entry_of_a_turn_has_it_too(alice: ApiClient, model: ScriptedModel) -> None:
    entry = {"category": "fact", "key": "diet", "value": "no sugar", "until": "the end of the year"}
    model.script(answer("Good luck!", entries=[entry]))
    alice.say(alice.new_session(), "No sugar for me until the end of the year.").raise_for_status()
    found = LongTermMemory.objects.get(key="diet").valid_until
    assert found is not None
    assert (found.month, found.day) == (1, 1)


def test_said_again_it_is_valid_again() -> None:
    user = UserFactory()
    over = datetime(2026, 11, 1, tzinfo=UTC)
    remember(user, valid_until=over)
    remember(user, valid_until=None)
    assert {memory.valid_until for kind in KINDS for memory in kind.active(user)} == {None}
    AtomicMemory.objects.update(valid_until=over)
    learn(user, CONTENT, valid_until=FRIDAY)
    assert AtomicMemory.objects.get(user=user).valid_until == FRIDAY
    learn(user, CONTENT)
    assert AtomicMemory.objects.get(user=user).valid_until == FRIDAY  # not over yet


def test_a_change_of_it_is_recorded_undone_exported_and_imported() -> None:
    user, other = UserFactory(), UserFactory()
    for kind, memory in zip(KINDS, remember(user, valid_until=None), strict=True):
        update_memory(kind, user=user, memory_id=memory.id, changes={"valid_until": FRIDAY}, now=NOW)
        rows = json.loads(b"".join(export_memories(user, kind)))
        assert rows[0]["valid_until"] == "2026-11-28T00:00:00Z"
        for row in rows:
            del row["id"]
        import_memories(user=other, kind=kind, items=rows, now=NOW)
        assert kind.active(other).get().valid_until == FRIDAY
        change = Change.objects.filter(user=user, object_id=memory.id, action="edit").get()
        undo_operation(user=user, operation=change.operation, now=NOW)
        assert kind.get(user, memory.id).valid_until is None


@pytest.mark.parametrize("wrong", ["soon", 5, "0001-01-01T00:00:00Z"])
def test_what_is_no_time_is_refused(alice: ApiClient, wrong: Any) -> None:
    for kind, memory in zip((LONG_TERM, ATOMIC), remember(alice.user, valid_until=None), strict=True):
        refused = alice.patch(f"/memory/{kind.slug}/{memory.id}", json={"valid_until": wrong})
        assert refused.status_code == 400
        assert "valid_until" in refused.json()["error"]["fields"]
