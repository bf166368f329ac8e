"""What a turn found is merged into the working memory it started from, and every state of it is kept (W3–W5, M6)."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.conversations.sessions import delete_session
from apps.core.errors import NotFound, TooLarge
from apps.memory.archive import expire_working_memory
from apps.memory.deletion import delete_memories, list_copies
from apps.memory.entries import create_memory
from apps.memory.kinds import LONG_TERM
from apps.memory.models import WorkingMemory, WorkingMemoryRevision
from apps.memory.working import (
    Variables,
    WorkingMemorySnapshot,
    count_turn,
    delete_working_memory,
    find_working_state,
    measure,
    merge_from_model,
    record_analysis,
    record_form,
    remove,
    update_working_memory,
    write,
)
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("H3", "M6", "W3", "W4", "W5")]
NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)


def count(session: Session, *, minutes: int) -> WorkingMemorySnapshot:
    return count_turn(user=session.user, session_id=session.id, now=NOW + timedelta(minutes=minutes), ttl_minutes=30)


def find_out(
    session: Session, snapshot: WorkingMemorySnapshot, *, topic: str | None = None, **variables: Any
) -> WorkingMemorySnapshot:
    return record_analysis(
        user=session.user,
        snapshot=snapshot,
        topic=topic,
        variables=variables,
        last_emotion="neutral",
        max_bytes=65536,
        now=snapshot.updated_at,
    )


def state_of(session: Session, snapshot: WorkingMemorySnapshot) -> tuple[str | None, dict[str, Any]] | None:
    state = find_working_state(session.user, session.id, started_at=snapshot.created_at, revision=snapshot.revision)
    return None if state is None else (state.current_topic, dict(state.variables.values))


def test_each_revision_is_found_again_in_order_of_writing(session: Session) -> None:
    first = count(session, minutes=0)
    assert state_of(session, first) is None
    find_out(session, first, topic="旅行", 目的地="北京", days=3)
    second = count(session, minutes=1)
    find_out(session, second, 目的地="上海")
    third = count(session, minutes=2)
    assert state_of(session, second) == ("旅行", {"目的地": "北京", "days": 3})
    state = state_of(session, third)
    assert (state[0], list(state[1].items())) == ("旅行", [("days", 3), ("目的地", "上海")])
    assert state_of(session, first) is None


@pytest.mark.spec("H3")
def test_a_form_is_in_the_revision_it_made(session: Session) -> None:
    form = record_form(user=session.user, session_id=session.id, title="行程", fields={"去": "北京", "a": 1}, now=NOW)
    state = find_working_state(session.user, session.id, started_at=form.created_at, revision=form.revision)
    assert list(state.variables.forms["行程"]["fields"]) == ["去", "a"]


def test_a_turn_that_changes_nothing_leaves_no_row(session: Session) -> None:
    find_out(session, count(session, minutes=0), topic="旅行", a=1)
    find_out(session, count(session, minutes=1), topic="旅行", a=1)
    find_out(session, count(session, minutes=2))
    assert WorkingMemoryRevision.objects.count() == 1


def test_expiry_leaves_what_turns_were_told_and_the_next_one_starts_with_nothing(session: Session) -> None:
    old = find_out(session, count(session, minutes=0), topic="旅行")
    assert expire_working_memory(now=NOW + timedelta(hours=1)) == 1
    new = count(session, minutes=61)
    assert state_of(session, old) == ("旅行", {})
    assert state_of(session, new) is None


@pytest.mark.spec("L6", "R2")
def test_deleting_working_memory_deletes_all_it_was_also_after_it_expired(session: Session) -> None:
    find_out(session, count(session, minutes=0), topic="旅行")
    assert delete_working_memory(user=session.user, session_id=session.id) == 1
    assert not WorkingMemoryRevision.objects.exists()
    find_out(session, count(session, minutes=1), topic="旅行")
    expire_working_memory(now=NOW + timedelta(hours=1))
    assert delete_working_memory(user=session.user, session_id=session.id) == 0
    assert not WorkingMemoryRevision.objects.exists()
    with pytest.raises(NotFound):
        delete_working_memory(user=session.user, session_id=session.id)


def test_deleting_the_session_deletes_them(session: Session) -> None:
    find_out(session, count(session, minutes=0), topic="旅行")
    delete_session(user=session.user, session_id=session.id)
    assert not WorkingMemoryRevision.objects.exists()


@pytest.mark.spec("L6")
def test_a_copy_of_a_deleted_memory_is_named_once_and_goes_from_every_revision(session: Session) -> None:
    memory, _action = create_memory(user=session.user, category="fact", key="住址", value="朝阳路", now=NOW)
    find_out(session, count(session, minutes=0), 地址="朝阳路", other="留下")
    find_out(session, count(session, minutes=1), more=1)
    assert [(copy.kind, copy.field) for copy in list_copies(session.user, [memory])] == [("working", "地址")]
    expire_working_memory(now=NOW + timedelta(hours=1))
    assert [(copy.kind, copy.field) for copy in list_copies(session.user, [memory])] == [("working", "地址")]
    delete_memories(LONG_TERM, user=session.user, ids=[memory.id], now=NOW, copies=True)
    left = WorkingMemoryRevision.objects.order_by("id").values_list("context_variables", flat=True)
    assert list(left) == [{"other": "留下"}, {"other": "留下", "more": 1}]


@pytest.mark.spec("L6")
def test_a_topic_that_says_it_goes_from_every_revision_and_another_stays(session: Session) -> None:
    memory, _action = create_memory(user=session.user, category="fact", key="疾病", value="糖尿病", now=NOW)
    find_out(session, count(session, minutes=0), topic="糖尿病")
    find_out(session, count(session, minutes=1), topic="旅行")
    find_out(session, count(session, minutes=2), topic="糖尿病的饮食", other="留下")
    named = [(copy.kind, copy.id, copy.field, copy.text) for copy in list_copies(session.user, [memory])]
    assert named == [
        ("topic", session.id, "current_topic", "糖尿病的饮食"),
        ("topic", session.id, "current_topic", "糖尿病"),
    ]
    delete_memories(LONG_TERM, user=session.user, ids=[memory.id], now=NOW + timedelta(minutes=3), copies=True)
    earlier = WorkingMemoryRevision.objects.order_by("id").values_list("current_topic", flat=True)
    assert list(earlier) == [None, "旅行", None, None]
    live = WorkingMemory.objects.get(session=session)
    assert (live.current_topic, live.context_variables) == (None, {"other": "留下"})
    assert list_copies(session.user, [memory]) == []


@pytest.mark.spec("L6")
def test_a_topic_that_has_changed_since_stays_when_an_earlier_one_goes(session: Session) -> None:
    memory, _action = create_memory(user=session.user, category="fact", key="疾病", value="糖尿病", now=NOW)
    find_out(session, count(session, minutes=0), topic="糖尿病")
    find_out(session, count(session, minutes=1), topic="旅行")
    delete_memories(LONG_TERM, user=session.user, ids=[memory.id], now=NOW + timedelta(minutes=2), copies=True)
    assert WorkingMemory.objects.get(session=session).current_topic == "旅行"


def test_nobody_else_finds_it(session: Session) -> None:
    found = find_out(session, count(session, minutes=0), topic="旅行")
    other = UserFactory.create()
    state = find_working_state(other, session.id, started_at=found.created_at, revision=found.revision)
    assert state is None


# What happens during a turn


def record(snapshot: WorkingMemorySnapshot, *, minutes: int, **variables: Any) -> WorkingMemorySnapshot | None:
    return record_analysis(
        user=User.objects.get(),
        snapshot=snapshot,
        topic="旧",
        variables=variables,
        last_emotion="sad",
        max_bytes=65536,
        now=NOW + timedelta(minutes=minutes),
    )


def test_what_was_written_during_the_turn_is_kept(session: Session):
    snapshot = count(session, minutes=0)
    update_working_memory(
        user=session.user, session_id=session.id, now=NOW, changes={"context_variables": {"by hand": 1}}
    )
    recorded = record(snapshot, minutes=1, a=2)
    assert dict(recorded.variables.values) == {"by hand": 1, "a": 2}
    assert WorkingMemory.objects.get().context_variables == {"by hand": 1, "a": 2}


@pytest.mark.spec("L6")
def test_what_was_deleted_during_the_turn_does_not_come_back_with_the_next_message(session: Session):
    first = count(session, minutes=0)
    record(first, minutes=1, deleted="secret")
    before = count(session, minutes=2)
    delete_working_memory(user=session.user, session_id=session.id)
    for minutes in range(3, 3 + before.revision + 1):  # as many writes as the deleted one had seen
        after = count(session, minutes=minutes)
    assert after.revision == before.revision
    assert record(before, minutes=9, late=1) is None
    row = WorkingMemory.objects.get()
    assert (row.context_variables, row.current_topic, row.last_emotion) == ({}, None, None)
    assert row.turn_count == before.revision + 1


def test_what_idled_out_during_the_turn_does_not_come_back_with_the_next_message(session: Session):
    before = count(session, minutes=0)
    count(session, minutes=31)
    assert record(before, minutes=32, late=1) is None
    row = WorkingMemory.objects.get()
    assert (row.context_variables, row.current_topic, row.last_emotion, row.turn_count) == ({}, None, None, 1)


# By hand


@pytest.mark.parametrize(
    ("variables", "fits"),
    [({"new": "汉" * 20_000}, True), ({"new": "x" * 65_536}, False), (dict.fromkeys("abc", "x" * 21_845), False)],
    ids=["it fits", "alone", "together"],
)
def test_an_older_variable_makes_way_for_what_fits_and_what_does_not_is_refused_whole(
    session: Session, variables: dict[str, str], fits: bool
) -> None:
    def write(**written: str) -> dict[str, Any]:
        changes = {"context_variables": written}
        snapshot = update_working_memory(user=session.user, session_id=session.id, now=NOW, changes=changes)
        return dict(snapshot.variables.values)

    record_form(user=session.user, session_id=session.id, title="行程", fields={"去": "北京"}, now=NOW)
    before = write(old="旧" * 5000)
    with nullcontext() if fits else pytest.raises(TooLarge):
        assert write(**variables) == {"hitl_行程": before["hitl_行程"], **variables}
    assert write() == ({"hitl_行程": before["hitl_行程"], **variables} if fits else before)


# Context variables: merging, order, the size limit and eviction; pure


def written(**values: object) -> Variables:
    """Variables written one minute after the other, in the order given."""
    times = {key: (NOW + timedelta(minutes=index)).isoformat() for index, key in enumerate(values)}
    return Variables(values=values, written=times)


def test_variables_merge_key_by_key_and_null_removes():
    merged = merge_from_model(written(city="北京", days=3), {"days": None, "budget": 500}, now=NOW, max_bytes=1000)
    assert dict(merged.values) == {"city": "北京", "budget": 500}


@pytest.mark.spec("H1")
def test_the_model_cannot_touch_a_form():
    before = written(hitl_行程={"fields": {"目的地": "北京"}}, city="北京")
    merged = merge_from_model(before, {"hitl_行程": None, "hitl_新": 1, "city": "上海"}, now=NOW, max_bytes=1000)
    assert dict(merged.values) == {"hitl_行程": {"fields": {"目的地": "北京"}}, "city": "上海"}


def test_the_size_is_counted_in_bytes_of_utf8():
    assert measure({"城市": "北京"}) == len('{"城市":"北京"}'.encode())


def test_the_least_recently_written_entry_makes_way_and_rewriting_makes_recent():
    current = write(written(a="x" * 10, b="x" * 10, c="x" * 10), "a", "y" * 10, now=NOW, max_bytes=1000)
    limit = measure(current.values)
    grown = write(current, "d", "x" * 10, now=NOW, max_bytes=limit)
    assert list(grown.values) == ["c", "a", "d"]
    assert list(grown.written) == ["c", "a", "d"]


def test_forms_are_never_evicted():
    current = written(hitl_a={"fields": {"k": "x" * 20}}, b="x" * 20)
    grown = write(current, "c", "x" * 20, now=NOW, max_bytes=measure(current.values))
    assert list(grown.values) == ["hitl_a", "c"]


def test_what_cannot_fit_is_refused_whole():
    current = written(hitl_a={"fields": {"k": "x" * 50}}, b="x" * 20)
    assert write(current, "c", "y" * 60, now=NOW, max_bytes=measure(current.values)) is None


def test_a_value_of_the_model_that_cannot_fit_is_dropped_and_evicts_nothing():
    current = written(hitl_a={"fields": {"k": "x" * 50}}, b="x" * 20)
    merged = merge_from_model(current, {"c": "y" * 60, "d": 1}, now=NOW, max_bytes=measure(current.values) + 10)
    assert list(merged.values) == ["hitl_a", "b", "d"]


def test_forms_are_in_order_of_submission_and_the_same_title_moves_last():
    current = Variables()
    for title, value in (("偏好设置", 1), ("行程安排", 2), ("偏好设置", 3)):
        current = write(current, f"hitl_{title}", {"fields": {"v": value}}, now=NOW, max_bytes=1000)
    assert list(current.forms) == ["行程安排", "偏好设置"]
    assert current.forms["偏好设置"] == {"fields": {"v": 3}}


def test_the_order_survives_a_store_that_sorts_keys():
    current = written(zebra=1, apple=2, hitl_b={}, hitl_a={})
    stored = dict(sorted(current.values.items()))
    assert list(Variables.load(stored, current.dump_written()).values) == ["zebra", "apple", "hitl_b", "hitl_a"]


def test_so_does_the_order_of_a_forms_fields():
    form = {"fields": {"目的地": "北京", "date": "周末", "人数": 2}, "timestamp": NOW.isoformat()}
    current = written(hitl_行程=form)
    stored = {"hitl_行程": {**form, "fields": dict(sorted(form["fields"].items()))}}
    loaded = Variables.load(stored, current.dump_written()).values["hitl_行程"]
    assert list(loaded["fields"]) == ["目的地", "date", "人数"]
    assert loaded == form


def test_removing_an_unknown_variable_changes_nothing():
    assert remove(written(a=1), "b") == written(a=1)
