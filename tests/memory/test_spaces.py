"""What is remembered stays in its space: recall (P2), learning (P3), moving and deleting (P4)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import ApiToken, Setting, Space, User
from apps.accounts.selectors import get_settings
from apps.accounts.services.people import create_token, find_token
from apps.accounts.spaces import create_space
from apps.conversations.models import Session
from apps.core.errors import Conflict, InvalidInput, NotFound
from apps.memory.changes.records import list_changes
from apps.memory.changes.timeline import read_past
from apps.memory.changes.undo import undo_operation
from apps.memory.contexts import create_context, list_contexts
from apps.memory.deletion import delete_memories
from apps.memory.entries import create_memory
from apps.memory.import_plan import ImportRefused, Note, plan_import
from apps.memory.judge.review import accept_memory, find_reason
from apps.memory.judge.types import Reason
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, evict_memories, merge_memories, mute_memories, update_memory
from apps.memory.models import AtomicMemory, Change, LongTermMemory
from apps.memory.recall.both import recall_memories
from apps.memory.recall.former import recall_former
from apps.memory.recall.rounds import recall_rounds
from apps.memory.spaces import Moved, delete_space, move_memories, move_session
from apps.memory.transfer import Adoption, ForeignMemory, adopt_memories, export_memories, import_memories
from tests.support.entries import entry, record
from tests.support.factories import UserFactory
from tests.support.judged import NOW, know, learn, operate, say

pytestmark = [pytest.mark.django_db, pytest.mark.spec("P2", "P3", "P4")]


@dataclass(frozen=True)
class Places:
    """A person as they look from two spaces, from none, and from above."""

    user: User
    novel: User
    garden: User

    @property
    def outside(self) -> User:
        return self.user.within(None)

    def all(self) -> list[User]:
        return [self.outside, self.novel, self.garden]

    def space(self, name: str) -> Space:
        return Space.objects.get(user=self.user, name=name)


@pytest.fixture
def at(db: None) -> Places:
    user: User = UserFactory.create(username="li")
    spaces = {name: create_space(user=user, name=name) for name in ("novel", "garden")}
    return Places(user, *(user.within(space.id) for space in spaces.values()))


def keep(user: User, content: str) -> AtomicMemory:
    return create_atomic_memory(user=user, content=content, now=NOW)[0]


def note(user: User, key: str, value: Any) -> LongTermMemory:
    return create_memory(user=user, category="fact", key=key, value=value, now=NOW)[0]


def recall(user: User, message: str) -> set[str]:
    """What a turn in the place would show."""
    found = recall_memories(
        user=user,
        message=message,
        settings=get_settings(user),
        query_embedding=None,
        rounds_without=(),
        now=NOW,
    )
    texts = [f"{item.candidate.key}: {item.candidate.value}" for item in found.long_term]
    texts += [item.candidate.content for item in found.atomic]
    return {*texts, *(past.said for past in found.rounds)}


def test_a_place_sees_what_is_everywhere_and_its_own(at: Places) -> None:
    for user, name in zip(at.all(), ("everywhere", "novel", "garden"), strict=True):
        keep(user, f"The violet door is painted {name}.")
        note(user, f"violet {name}", name)
        say(user, f"I painted the violet door for {name}.")
    for user, names in zip(at.all(), (["everywhere"], ["everywhere", "novel"], ["everywhere", "garden"]), strict=True):
        expected = {f"The violet door is painted {name}." for name in names}
        expected |= {f"violet {name}: {name}" for name in names} | {
            f"I painted the violet door for {name}." for name in names
        }
        assert recall(user, "violet door") == expected
        assert {memory.text for memory in know(user)} == {text for text in expected if not text.startswith("I ")}
    assert len(ATOMIC.rows(at.user)) == len(LONG_TERM.rows(at.user)) == 3


def test_in_a_space_its_own_entry_of_a_key_wins_and_touches_nothing_outside(at: Places) -> None:
    outside, inside = note(at.outside, "home", "Leeds"), note(at.novel, "home", "York")
    assert (outside.status, inside.status) == ("active", "active")
    assert recall(at.novel, "home") == {"home: York"}
    assert recall(at.garden, "home") == recall(at.outside, "home") == {"home: Leeds"}
    assert [memory.value for memory in LONG_TERM.active(at.novel)] == ["York"]
    delete_memories(LONG_TERM, user=at.user, ids=[inside.id], now=NOW)
    assert recall(at.novel, "home") == {"home: Leeds"}


def test_the_same_content_may_be_in_two_places(at: Places) -> None:
    first, second = keep(at.novel, "The heroine is left-handed."), keep(at.garden, "The heroine is left-handed.")
    assert first.id != second.id
    assert keep(at.novel, "The heroine is left-handed.").id == first.id


def test_what_used_to_be_is_told_where_it_was(at: Places) -> None:
    for user, value in ((at.novel, "York"), (at.novel, "Bath")):
        note(user, "home", value)
    asked = {"message": "Where did I live before?", "limit": 5, "query_embedding": None}
    assert recall_former(user=at.garden, **asked) == recall_former(user=at.outside, **asked) == []
    assert [one.text for one in recall_former(user=at.novel, **asked)] == ["home: York"]


def test_what_is_learned_goes_where_it_was_said(at: Places) -> None:
    message = say(at.novel, "The hero is called Ada.")
    record(at.novel, entry("hero", "Ada", confidence=0.9), message=message)
    learn(at.novel, "The heroine has a brother.")
    assert {row.space_id for kind in (LONG_TERM, ATOMIC) for row in kind.rows(at.user)} == {at.novel.sight.space}
    assert {change.space_id for change in Change.objects.all()} == {at.novel.sight.space}
    assert not list_changes(at.garden).exists()


def test_a_verdict_ends_what_is_of_its_space_and_proposes_the_rest(at: Places) -> None:
    keep(at.outside, "The user lives in Leeds.")
    learn(at.novel, "The heroine lives in Rome.")
    learn(at.novel, "The heroine lives in Oslo.", "contradicts", "The heroine lives in Rome.")
    learn(at.novel, "The user lives in York.", "contradicts", "The user lives in Leeds.")
    assert {row.content for row in ATOMIC.active(at.novel)} == {
        "The heroine lives in Oslo.",
        "The user lives in Leeds.",
    }
    (pending,) = AtomicMemory.objects.filter(status="pending")
    assert (pending.space_id, find_reason(pending)) == (at.novel.sight.space, Reason.ELSEWHERE)
    accept_memory(ATOMIC, user=at.user, memory_id=pending.id, now=NOW)
    # What takes the place of something that was everywhere is everywhere.
    assert [row.content for row in ATOMIC.active(at.outside)] == ["The user lives in York."]


def test_nothing_outside_is_rewritten_from_a_space(at: Places) -> None:
    keep(at.outside, "The user has a dog.")
    note(at.outside, "pets", ["dog"])
    learn(
        at.novel,
        "The user has a dog called Rex.",
        "refines",
        "The user has a dog.",
        merged="The user has a dog called Rex.",
    )
    learn(at.novel, "The user has a dog.", "same", "The user has a dog.", tags=["secret"])
    operate(at.novel, "add", "pets: dog", said="And a cat.", text="cat")
    assert [(row.content, row.tags) for row in ATOMIC.active(at.outside)] == [("The user has a dog.", [])]
    assert [row.value for row in LONG_TERM.active(at.outside)] == [["dog"]]
    assert [row.content for row in ATOMIC.held(at.novel)] == ["The user has a dog called Rex."]


def test_memories_move_with_their_history_and_back(at: Places) -> None:
    old, new = note(at.outside, "home", "Leeds"), note(at.outside, "home", "York")
    kept = keep(at.outside, "The allotment has a shed.")
    moved = move_memories(user=at.user, ids=[new.id, kept.id, uuid4()], space_id=at.garden.sight.space, now=NOW)
    assert (moved.moved, moved.taken) == (2, ())
    assert {row.id for kind in (LONG_TERM, ATOMIC) for row in kind.rows(at.garden)} == {old.id, new.id, kept.id}
    assert not LONG_TERM.rows(at.outside).exists()
    assert not list_changes(at.outside).exists()
    assert recall(at.garden, "shed home") == {"home: York", "The allotment has a shed."}
    undo_operation(user=at.user, operation=moved.operation, now=NOW)
    assert {row.id for row in LONG_TERM.rows(at.outside)} == {old.id, new.id}
    assert not Change.objects.filter(space__isnull=False).exists()


def test_what_the_other_space_has_already_stays_where_it_is(at: Places) -> None:
    mine, there = note(at.novel, "home", "York"), note(at.garden, "home", "Bath")
    found = move_memories(user=at.user, ids=[mine.id], space_id=at.garden.sight.space, now=NOW)
    assert found == Moved(None, 0, (mine.id,))
    assert {row.value for row in LONG_TERM.active(at.garden)} == {there.value}
    with pytest.raises(NotFound):
        move_memories(user=at.user, ids=[mine.id], space_id=uuid4(), now=NOW)


def test_a_conversation_moves_with_what_was_learned_in_it(at: Places) -> None:
    message = learn(at.outside, "The heroine has a brother.")
    keep(at.outside, "The user likes tea.")
    context = create_context(user=at.outside, title="Plot", content="c", session_id=message.session_id, now=NOW)
    assert move_session(user=at.user, session_id=message.session_id, space_id=at.novel.sight.space, now=NOW).moved == 1
    assert recall(at.outside, "heroine brother tea") == {"The user likes tea."}
    assert "The heroine has a brother." in recall(at.novel, "heroine brother")
    assert [one.id for one in list_contexts(at.novel)] == [context.id]
    assert list(list_contexts(at.outside)) == []
    assert recall_rounds(user=at.garden, message="heroine brother", limit=2, query_embedding=None) == []


@pytest.mark.parametrize("erase", [False, True])
def test_a_space_is_deleted_with_or_without_what_is_in_it(at: Places, erase: bool) -> None:
    learn(at.novel, "The heroine has a brother.")
    note(at.novel, "home", "York")
    create_context(user=at.novel, title="Plot", content="c", now=NOW)
    theirs = note(at.garden, "home", "Bath")
    token = find_token(create_token(user=at.user, space=at.space("novel")))
    done = delete_space(
        user=at.user, space_id=at.space("novel").id, erase=erase, to=None if erase else at.space("garden").id, now=NOW
    )
    counts = {"long_term": 1, "atomic": 1, "context": 1, "session": 1}
    assert (done.erased, done.moved) == ((counts, {}) if erase else ({}, counts))
    assert done.verified
    assert not ApiToken.objects.filter(pk=token.pk).exists()
    assert list(Space.objects.values_list("name", flat=True)) == ["garden"]
    contents = [row.content for row in ATOMIC.active(at.garden)]
    assert contents == ([] if erase else ["The heroine has a brother."])
    # Of two under one key the one that was there stands; the other is its history.
    assert [row.id for row in LONG_TERM.active(at.garden)] == [theirs.id]
    assert LONG_TERM.rows(at.garden).count() == (1 if erase else 2)
    assert Session.objects.count() == (0 if erase else 1)
    with pytest.raises(NotFound):
        delete_space(user=at.user, space_id=at.novel.sight.space or uuid4(), erase=True, now=NOW)


def test_a_move_out_of_a_space_that_is_gone_is_not_undone(at: Places) -> None:
    memory = keep(at.novel, "The heroine has a brother.")
    moved = move_memories(user=at.user, ids=[memory.id], space_id=None, now=NOW)
    delete_space(user=at.user, space_id=at.space("novel").id, erase=True, now=NOW)
    with pytest.raises(Conflict):
        undo_operation(user=at.user, operation=moved.operation, now=NOW)
    assert recall(at.outside, "heroine brother") == {"The heroine has a brother."}


@pytest.mark.spec("P5")
def test_who_is_bound_to_a_space_changes_nothing_outside(at: Places) -> None:
    outside, other, own = (keep(user, "The heroine has a brother.") for user in (at.outside, at.garden, at.novel))
    for memory in (outside, other):
        with pytest.raises(NotFound):
            update_memory(ATOMIC, user=at.novel, memory_id=memory.id, changes={"tags": ["x"]}, now=NOW)
        assert mute_memories(ATOMIC, user=at.novel, ids=[memory.id], muted=True, now=NOW) == 0
        assert delete_memories(ATOMIC, user=at.novel, ids=[memory.id], now=NOW).deleted == 0
        operation = Change.objects.filter(object_id=memory.id).latest("id").operation
        with pytest.raises(NotFound):
            undo_operation(user=at.novel, operation=operation, now=NOW)
    with pytest.raises(Conflict):
        merge_memories(ATOMIC, user=at.user, kept_id=own.id, merged_id=other.id, text="t", now=NOW)
    assert delete_memories(ATOMIC, user=at.novel, ids=[own.id], now=NOW).deleted == 1


@pytest.mark.spec("P1")
def test_names_are_kept_apart(at: Places) -> None:
    with pytest.raises(Conflict):
        create_space(user=at.user, name="NOVEL ")
    with pytest.raises(InvalidInput):
        create_space(user=at.user, name="  ")
    assert create_space(user=UserFactory(), name="novel").name == "novel"


# Files of memories, what was known at a time, and eviction

DAY = timedelta(days=1)


@pytest.fixture
def novel(user: User) -> Space:
    return create_space(user=user, name="Novel")


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
