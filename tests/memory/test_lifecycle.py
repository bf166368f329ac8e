"""The life of memories of both kinds: written, updated, superseded, merged, restored, undone (L1, L3, A1, A3, L7)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.core.errors import Conflict, InvalidInput, JiyiError, NotFound, Outdated, TooLarge
from apps.core.text.search import index_terms
from apps.memory.changes.records import collect_operations
from apps.memory.changes.undo import undo_operation
from apps.memory.entries import create_memory
from apps.memory.judge.review import accept_memory, preview_acceptances, reject_memory
from apps.memory.keyed import Action, add_question_words, join_text
from apps.memory.kinds import ATOMIC, KINDS, LONG_TERM, MemoryKind
from apps.memory.lifecycle import (
    combine_texts,
    create_atomic_memories,
    create_atomic_memory,
    merge_memories,
    record_use,
    remove_item,
    restore_memory,
    set_category,
    supersede_atomic_memory,
    update_memory,
)
from apps.memory.models import AtomicEmbedding, AtomicMemory, Change, LongTermMemory
from apps.memory.recall.atomic import retrieve_atomic_memories
from apps.memory.recall.long_term import retrieve_relevant_memories
from apps.memory.types import AtomicDraft
from tests.support.entries import propose
from tests.support.factories import LongTermMemoryFactory, SessionFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.spec("A1", "A3", "L1", "L3", "L7")]

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.slug)


def make(kind: MemoryKind, user: User, place: str = "北京", *, now: datetime = NOW, **fields: Any) -> Any:
    """A memory that its owner wrote: where they live, which two entries cannot say at once and two statements can."""
    if kind is LONG_TERM:
        return create_memory(user=user, category="fact", key="城市", value=place, now=now, **fields)[0]
    return create_atomic_memory(user=user, content=f"用户住在{place}。", now=now, **fields)[0]


def say(kind: MemoryKind, place: str) -> dict[str, Any]:
    return {"value": place} if kind is LONG_TERM else {"content": f"用户住在{place}。"}


def show(kind: MemoryKind, user: User) -> dict[UUID, tuple[Any, str, UUID | None]]:
    return {row.id: (kind.describe(vars(row))[1], str(row.status), row.superseded_by_id) for row in kind.rows(user)}


def find(kind: MemoryKind, user: User, message: str) -> list[UUID]:
    """The IDs of what is recalled by words."""
    found: Any = (
        retrieve_relevant_memories(user=user, message=message, limit=5)
        if kind is LONG_TERM
        else retrieve_atomic_memories(user=user, query=message, limit=5, query_embedding=None)
    )
    return [memory.candidate.id for memory in found]


def undo(user: User, operation: UUID | None = None) -> UUID:
    newest = Change.objects.filter(user=user).latest("id").operation
    return undo_operation(user=user, operation=operation or newest, now=LATER)


# Creating


def test_a_created_statement_has_every_field(user: User) -> None:
    session = SessionFactory(user=user)
    memory, created = create_atomic_memory(
        user=user, content=" 用户去了上海。 ", tags=["旅行", " 上海 ", "旅行"], timestamp=NOW - timedelta(days=1),
        event_start=NOW, event_end=LATER, session_id=session.id, now=NOW,
    )  # fmt: skip
    memory.refresh_from_db()
    assert (created, memory.content, memory.tags) == (True, "用户去了上海。", ["旅行", "上海"])
    assert (memory.timestamp, memory.event_start, memory.event_end) == (NOW - timedelta(days=1), NOW, LATER)
    assert (memory.create_time, memory.updated_at, memory.status) == (NOW, NOW, "active")
    assert memory.term_count == len(memory.terms) > 0


@each_kind
def test_a_memory_outlives_its_session_and_names_no_other_persons(user: User, kind: MemoryKind) -> None:
    session = SessionFactory(user=user)
    memory = make(kind, user, session_id=session.id)
    session.delete()
    memory.refresh_from_db()
    assert memory.session_id is None
    with pytest.raises(NotFound):
        make(kind, user, "上海", session_id=SessionFactory().id)
    assert kind.rows(user).count() == 1


def test_another_value_supersedes_and_the_same_refreshes(user: User) -> None:
    def create(key: str, value: Any, **fields: Any) -> tuple[LongTermMemory, Action]:
        return create_memory(user=user, **{"category": "fact", "key": key, "value": value, "now": LATER, **fields})

    first, _ = create("最喜欢的颜色", "蓝色", confidence=0.5, now=NOW)
    again, action = create("我最喜歡的顏色", "藍色！", confidence=0.9)
    assert (again.id, action, again.value, again.confidence) == (first.id, Action.REFRESHED, "藍色！", 0.9)
    assert LongTermMemory.objects.get(id=first.id).key == "我最喜歡的顏色"
    second, action = create("最喜欢的颜色", "绿色", category="preference")
    assert action is Action.SUPERSEDED
    first.refresh_from_db()
    assert (first.status, first.superseded_by_id, first.updated_at) == ("superseded", second.id, LATER)
    assert find(LONG_TERM, user, "我最喜欢的颜色是什么") == [second.id]


def test_the_same_statement_again_is_no_second_memory(user: User) -> None:
    first = make(ATOMIC, user, tags=["家"])
    again, created = create_atomic_memory(user=user, content="用户住在北京！", tags=["城市"], now=LATER)
    assert (again.id, created, again.tags, again.updated_at) == (first.id, False, ["家", "城市"], LATER)
    assert [change.action for change in Change.objects.order_by("id")] == ["create", "refresh"]
    assert make(ATOMIC, UserFactory()).id != first.id


@pytest.mark.parametrize("count", [1, 100])
def test_any_number_is_stored_as_it_is_with_few_statements(user: User, count: int) -> None:
    drafts = [AtomicDraft(content=f"cup of tea {number % 50}") for number in range(count)]
    create_atomic_memories(user=user, drafts=drafts[:1], now=NOW)  # makes the embedder the active one
    with CaptureQueriesContext(connection) as captured:
        memories = create_atomic_memories(user=user, drafts=drafts, now=NOW)
    statements = [one["sql"] for one in captured.captured_queries if "SAVEPOINT" not in one["sql"]]
    assert len(statements) == 5  # lock, memories, embedding models, vectors, audit records
    assert [memory.content for memory in memories] == [draft.content for draft in drafts]
    assert AtomicEmbedding.objects.filter(memory__in=memories).count() == count


@pytest.mark.spec("K3")
def test_terms_are_stored_whatever_they_are_made_of(user: User) -> None:
    memory = make(LONG_TERM, user, "C:\\temp, O'Brien's \"café\" & 北京:烤鸭 🦆")
    with connection.cursor() as cursor:
        cursor.execute("SELECT tsvector_to_array(search_vector) FROM long_term_memory WHERE id = %s", [memory.id])
        (stored,) = cursor.fetchone()
    text = add_question_words(join_text(key=memory.key, value=memory.value), key=memory.key)
    assert set(stored) == set(index_terms(text))


def test_an_owner_may_write_what_they_once_rejected(user: User) -> None:
    (rejected,) = propose(user, "城市", "北京")
    reject_memory(LONG_TERM, user=user, memory_id=rejected, now=NOW)
    memory = make(LONG_TERM, user, now=LATER)
    assert show(LONG_TERM, user)[rejected] == ("北京", "superseded", memory.id)


@pytest.mark.parametrize(
    ("kind", "fields", "error", "name"),
    [
        (LONG_TERM, {"category": "opinion"}, InvalidInput, "category"),
        (LONG_TERM, {"key": "  "}, InvalidInput, "key"),
        (LONG_TERM, {"key": "k" * 201}, InvalidInput, "key"),
        (LONG_TERM, {"key": 5}, InvalidInput, "key"),
        (LONG_TERM, {"key": "a\x00b"}, InvalidInput, "key"),
        (LONG_TERM, {"value": None}, InvalidInput, "value"),
        (LONG_TERM, {"value": " "}, InvalidInput, "value"),
        (LONG_TERM, {"value": {"a": ["\ud83d"]}}, InvalidInput, "value"),
        (LONG_TERM, {"value": float("inf")}, InvalidInput, "value"),
        (LONG_TERM, {"value": "字" * 31_999}, TooLarge, "value"),
        (LONG_TERM, {"confidence": 1.01}, InvalidInput, "confidence"),
        (LONG_TERM, {"confidence": True}, InvalidInput, "confidence"),
        (LONG_TERM, {"confidence": float("nan")}, InvalidInput, "confidence"),
        (LONG_TERM, {"source": "hearsay"}, InvalidInput, "source"),
        (ATOMIC, {"content": " \n"}, InvalidInput, "content"),
        (ATOMIC, {"content": "a\x00b"}, InvalidInput, "content"),
        (ATOMIC, {"content": "长" * 32_001}, TooLarge, "content"),
        (ATOMIC, {"tags": ["x" * 51]}, InvalidInput, "tags"),
        (ATOMIC, {"tags": [" "]}, InvalidInput, "tags"),
        (ATOMIC, {"tags": ["x"] * 51}, InvalidInput, "tags"),
        (ATOMIC, {"event_end": NOW}, InvalidInput, "event_end"),
        (ATOMIC, {"event_start": LATER, "event_end": NOW}, InvalidInput, "event_end"),
    ],
)
def test_what_cannot_be_stored_is_named_and_changes_nothing(
    user: User, kind: MemoryKind, fields: dict[str, Any], error: type[JiyiError], name: str
) -> None:
    create: Callable[..., Any] = create_memory if kind is LONG_TERM else create_atomic_memory
    valid = {"category": "fact", "key": "city", "value": "x"} if kind is LONG_TERM else {"content": "fine"}
    with pytest.raises(error) as refused:
        create(user=user, now=NOW, **{**valid, **fields})
    assert list(refused.value.fields) == [name]
    assert not kind.rows(user).exists()
    memory, _ = create(user=user, now=NOW, **valid)
    before = kind.snapshot(memory)
    with pytest.raises(error):
        update_memory(kind, user=user, memory_id=memory.id, changes=fields, now=LATER)
    assert kind.snapshot(kind.get(user, memory.id)) == before


# Updating


@each_kind
def test_an_update_is_found_under_its_new_text_only_and_undone_with_it(user: User, kind: MemoryKind) -> None:
    memory = make(kind, user)
    before = kind.model.objects.values().get()
    vector = list(kind.embeddings.objects.get(memory=memory).embedding)
    changes = say(kind, "柏林")
    changed = update_memory(kind, user=user, memory_id=memory.id, changes=changes, now=LATER)
    assert (changed.id, changed.updated_at) == (memory.id, LATER)
    assert (find(kind, user, "柏林"), find(kind, user, "北京")) == ([memory.id], [])
    assert list(kind.embeddings.objects.get(memory=memory).embedding) != vector
    edit = Change.objects.latest("id")
    assert (edit.action, edit.before["status"], edit.created_at) == ("edit", "active", LATER)
    undo(user)
    assert kind.model.objects.values().get() == {**before, "updated_at": LATER}
    assert list(kind.embeddings.objects.get(memory=memory).embedding) == vector
    assert (find(kind, user, "柏林"), find(kind, user, "北京")) == ([], [memory.id])


@pytest.mark.parametrize(("kind", "changes"), [(LONG_TERM, {"confidence": 0.3}), (ATOMIC, {"tags": ["住址"]})])
def test_other_changes_leave_the_vector(user: User, kind: MemoryKind, changes: dict[str, Any]) -> None:
    memory = make(kind, user)
    kind.embeddings.objects.all().delete()
    update_memory(kind, user=user, memory_id=memory.id, changes=changes, now=LATER)
    stored = kind.get(user, memory.id)
    assert {name: getattr(stored, name) for name in changes} == changes
    assert not kind.embeddings.objects.exists()


@each_kind
def test_what_another_active_memory_is_cannot_be_written_twice(user: User, kind: MemoryKind) -> None:
    taken = make(kind, user)
    theirs, other = make(kind, UserFactory()), UserFactory()
    if kind is LONG_TERM:
        second, changes = LongTermMemoryFactory(user=user, key="town", value="x"), {"key": "我的城市", "value": "y"}
    else:
        second, changes = make(kind, user, "上海"), {"content": "用户住在北京"}
    with pytest.raises(Conflict) as refused:
        update_memory(kind, user=user, memory_id=second.id, changes=changes, now=LATER)
    assert refused.value.fields == {kind.named: [kind.taken], "memory_id": str(taken.id)}
    # Its own words in another spelling are no conflict, nor what somebody else has.
    own = {"key": "Town!"} if kind is LONG_TERM else {"content": "用户住在上海！"}
    update_memory(kind, user=user, memory_id=second.id, changes=own, now=LATER)
    with pytest.raises(NotFound):
        update_memory(kind, user=other, memory_id=theirs.id, changes=own, now=LATER)


@each_kind
@pytest.mark.parametrize("status", ["superseded", "rejected", "evicted"])
def test_history_and_what_the_server_keeps_cannot_be_changed(user: User, kind: MemoryKind, status: str) -> None:
    memory = make(kind, user)
    with pytest.raises(InvalidInput) as refused:
        update_memory(kind, user=user, memory_id=memory.id, changes={"status": "pending"}, now=LATER)
    assert list(refused.value.fields) == ["status"]
    with pytest.raises(Outdated):
        update_memory(kind, user=user, memory_id=memory.id, changes=say(kind, "上海"), now=LATER, seen=LATER)
    kind.model.objects.update(status=status)
    with pytest.raises(Conflict):
        update_memory(kind, user=user, memory_id=memory.id, changes=say(kind, "上海"), now=LATER)
    assert kind.get(user, memory.id).updated_at == NOW


@pytest.mark.spec("K4")
def test_the_stored_words_are_those_of_the_text_whoever_wrote_it(user: User) -> None:
    def words() -> list[str]:
        return LongTermMemory.objects.get(user=user, status="active").words

    create_memory(user=user, category="fact", key="您的顏色", value="紅色的花, my dog's favorite", now=NOW)
    assert words() == ["我", "的", "颜色", "红色", "花", "dog", "favorite"]
    memory, _ = create_memory(user=user, category="fact", key="您的顏色", value=["花生", "花生"], now=NOW)
    assert words() == ["我", "的", "颜色", "花生"]
    update_memory(LONG_TERM, user=user, memory_id=memory.id, changes={"key": "Allergies"}, now=LATER)
    assert words() == ["allergies", "花生", "allergic"]
    (pending,) = propose(user, "allergies", "Milk", mode="add")
    accept_memory(LONG_TERM, user=user, memory_id=pending, now=LATER)
    assert words() == ["allergies", "花生", "milk", "allergic"]


# Reviewing


@pytest.mark.spec("L2")
def test_accepting_an_entry_supersedes_what_the_key_had_and_is_undone(user: User) -> None:
    old = make(LONG_TERM, user)
    (pending,) = propose(user, "城市", "上海")
    assert find(LONG_TERM, user, "上海") == []
    memory = accept_memory(LONG_TERM, user=user, memory_id=pending, now=LATER)
    assert (memory.status, memory.value, memory.updated_at) == ("active", "上海", LATER)
    assert show(LONG_TERM, user) == {old.id: ("北京", "superseded", pending), pending: ("上海", "active", None)}
    assert find(LONG_TERM, user, "上海") == [pending]
    undo(user)
    assert show(LONG_TERM, user) == {old.id: ("北京", "active", None), pending: ("上海", "pending", None)}
    reject_memory(LONG_TERM, user=user, memory_id=pending, now=NOW)
    undo(user)
    assert show(LONG_TERM, user)[pending] == ("上海", "pending", None)


@pytest.mark.long
def test_what_is_accepted_is_added_to_what_the_key_has_by_then(user: User) -> None:
    LongTermMemoryFactory(user=user, key="过敏", value=["花生"], now=NOW)
    (added,) = propose(user, "过敏", "虾", mode="add")
    LongTermMemoryFactory(user=user, key="过敏", value=["花生", "蟹"], now=NOW)
    memory = accept_memory(LONG_TERM, user=user, memory_id=added, now=NOW)
    memory.refresh_from_db()
    assert (memory.id, memory.value, memory.mode) == (added, ["花生", "蟹", "虾"], "replace")
    assert find(LONG_TERM, user, "蟹") == [added]


@each_kind
def test_only_pending_memories_can_be_reviewed(user: User, kind: MemoryKind) -> None:
    memory = make(kind, user)
    reviews: tuple[Callable[..., Any], ...] = (accept_memory, reject_memory)
    for review in reviews:
        with pytest.raises(Conflict):
            review(kind, user=user, memory_id=memory.id, now=NOW)
        for owner, memory_id in ((user, uuid4()), (UserFactory(), memory.id)):
            with pytest.raises(NotFound):
                review(kind, user=owner, memory_id=memory_id, now=NOW)


def make_pending(value: Any, mode: str, *, current: Any) -> LongTermMemory:
    user = UserFactory()
    if current is not None:
        create_memory(user=user, category="fact", key="过敏", value=current, now=NOW)
    propose(user, "过敏", value, mode=mode)
    return LongTermMemory.objects.select_related("user").get(user=user, status="pending")


@pytest.mark.spec("M6")
@pytest.mark.parametrize(
    ("value", "mode", "current", "result"),
    [
        ("花生", "replace", None, "花生"),
        ("花生", "replace", "虾", "花生"),
        ("花生", "add", ["虾"], ["虾", "花生"]),
        ("peanuts", "add", None, ["peanuts"]),
        (["虾"], "remove", ["虾", "花生"], ["花生"]),
        ("虾", "remove", ["虾"], None),
    ],
)
def test_a_preview_says_what_accepting_makes_of_the_key(value: Any, mode: str, current: Any, result: Any) -> None:
    pending = make_pending(value, mode, current=current)
    preview = preview_acceptances([pending])[pending.id]
    assert preview.result == result
    assert (preview.active.value if preview.active else None) == current
    accept_memory(LONG_TERM, user=pending.user, memory_id=pending.id, now=NOW)
    after = LONG_TERM.active(pending.user).first()
    assert (after.value if after else None) == result


@pytest.mark.spec("M6")
def test_one_query_for_any_number_of_people(django_assert_num_queries: Any) -> None:
    pending = [make_pending(f"value {number}", "replace", current=f"old {number}") for number in range(3)]
    with django_assert_num_queries(1):
        previews = preview_acceptances(pending)
    found = [previews[memory.id].active for memory in pending]
    assert [memory.value for memory in found if memory] == ["old 0", "old 1", "old 2"]
    with django_assert_num_queries(0):
        assert preview_acceptances([]) == {}


# Merging, superseding, restoring


@pytest.mark.spec("M2")
@pytest.mark.parametrize(
    ("kind", "kept", "merged", "text"),
    [
        (LONG_TERM, "虾", "花生", ["虾", "花生"]),
        (LONG_TERM, ["虾"], ["花生", "虾！"], ["虾", "花生"]),
        (LONG_TERM, "虾", "虾。", "虾"),
        (LONG_TERM, {"a": 1}, 2, [{"a": 1}, 2]),
        (ATOMIC, "用户养猫。", "猫叫咪咪。", "用户养猫。猫叫咪咪。"),
        (ATOMIC, "Has a cat.", "It is called Tom.", "Has a cat. It is called Tom."),
        (ATOMIC, "用户养猫。", "养猫", "用户养猫。"),
        (ATOMIC, "养猫", "用户养猫。", "用户养猫。"),
    ],
)
def test_both_texts_as_one(kind: MemoryKind, kept: Any, merged: Any, text: Any) -> None:
    assert combine_texts(kind, kept, merged) == text


@pytest.mark.spec("M2")
@each_kind
def test_two_memories_become_one_and_two_again(user: User, kind: MemoryKind) -> None:
    if kind is LONG_TERM:
        kept = LongTermMemoryFactory(user=user, key="过敏", value="虾", confidence=0.6, now=NOW)
        other = LongTermMemoryFactory(user=user, key="不能吃", value="花生", confidence=0.9, now=NOW)
        LongTermMemory.objects.filter(id=other.id).update(access_count=3, last_accessed=LATER)
        text: Any = ["虾", "花生"]
    else:
        kept = make(kind, user, "北京", tags=["城市"])
        other = make(kind, user, "花生街", tags=["街", "城市"], event_start=NOW)
        text = "用户住在北京花生街。"
    before = show(kind, user)
    with collect_operations() as operations:
        merge_memories(kind, user=user, kept_id=kept.id, merged_id=other.id, text=text, now=LATER)
    kept = kind.get(user, kept.id)
    assert list(kind.get_text(kept).values())[-1] == text
    assert show(kind, user)[other.id][1:] == ("superseded", kept.id)
    if kind is LONG_TERM:
        assert (kept.confidence, kept.access_count, kept.last_accessed) == (0.9, 3, LATER)
    else:
        assert (kept.tags, kept.event_start) == (["城市", "街"], NOW)
    assert find(kind, user, "花生") == [kept.id]
    (operation,) = operations
    actions = {change.object_id: change.action for change in Change.objects.filter(operation=operation)}
    assert actions == {kept.id: "merge", other.id: "supersede"}
    undo(user, operation)
    assert show(kind, user) == before
    assert find(kind, user, "花生") == [other.id]


@pytest.mark.spec("M2")
@each_kind
def test_what_cannot_be_merged(user: User, kind: MemoryKind) -> None:
    ended = make(kind, user, "上海").id
    kind.model.objects.update(status="superseded")
    current, theirs = make(kind, user).id, make(kind, UserFactory(), "广州").id
    before = show(kind, user)
    text = next(iter(say(kind, "天津").values()))
    for merged, error in ((current, Conflict), (ended, Conflict), (theirs, NotFound), (uuid4(), NotFound)):
        with pytest.raises(error):
            merge_memories(kind, user=user, kept_id=current, merged_id=merged, text=text, now=NOW)
    with pytest.raises(InvalidInput):
        merge_memories(kind, user=user, kept_id=current, merged_id=ended, text=" ", now=NOW)
    assert show(kind, user) == before


@pytest.mark.spec("M2")
@each_kind
def test_a_superseded_memory_holds_again(user: User, kind: MemoryKind) -> None:
    old = make(kind, user, "上海")
    if kind is LONG_TERM:
        new = make(kind, user, "北京")
    else:
        new = supersede_atomic_memory(user=user, memory_id=old.id, content=" 用户住在北京。 ", now=NOW)
        assert (new.content, new.timestamp) == ("用户住在北京。", NOW)
    before = show(kind, user)
    assert before[old.id][1:] == ("superseded", new.id)
    with collect_operations() as operations:
        restore_memory(kind, user=user, memory_id=old.id, now=LATER)
    assert {row_id: state[1:] for row_id, state in show(kind, user).items()} == {
        old.id: ("active", None),
        new.id: ("superseded", old.id),
    }
    assert find(kind, user, "上海") == [old.id]
    undo(user, operations[0])
    assert show(kind, user) == before


@pytest.mark.spec("M2")
@each_kind
def test_what_was_rejected_or_evicted_holds_again(user: User, kind: MemoryKind) -> None:
    memory = make(kind, user)
    for status in ("rejected", "evicted"):
        kind.model.objects.update(status=status)
        restore_memory(kind, user=user, memory_id=memory.id, now=NOW)
        assert show(kind, user)[memory.id][1:] == ("active", None)
    with pytest.raises(Conflict):
        restore_memory(kind, user=user, memory_id=memory.id, now=NOW)
    with pytest.raises(NotFound):
        restore_memory(kind, user=UserFactory(), memory_id=memory.id, now=NOW)


def test_nothing_is_said_twice_among_statements(user: User) -> None:
    one, two = make(ATOMIC, user, "北京"), make(ATOMIC, user, "上海")
    make(ATOMIC, user, "广州")
    before = show(ATOMIC, user)
    with pytest.raises(Conflict):
        supersede_atomic_memory(user=user, memory_id=one.id, content="用户住在广州", now=NOW)
    with pytest.raises(Conflict):
        merge_memories(ATOMIC, user=user, kept_id=one.id, merged_id=two.id, text="用户住在广州", now=NOW)
    with pytest.raises(NotFound):
        supersede_atomic_memory(user=UserFactory(), memory_id=one.id, content="x", now=NOW)
    assert show(ATOMIC, user) == before
    again = AtomicMemory(user=user, status="rejected")
    ATOMIC.assign(again, {"content": "用户住在北京"})
    again.save()
    with pytest.raises(Conflict):
        restore_memory(ATOMIC, user=user, memory_id=again.id, now=NOW)


def test_an_item_is_removed_as_it_was_seen_and_the_last_ends_the_list(user: User) -> None:
    memory = LongTermMemoryFactory(user=user, key="过敏", value=["花生", "虾"])
    with pytest.raises(Conflict):
        remove_item(user=user, memory_id=memory.id, index=0, text="虾", now=NOW)
    remove_item(user=user, memory_id=memory.id, index=0, text="花生", now=NOW)
    assert LONG_TERM.get(user, memory.id).value == ["虾"]
    remove_item(user=user, memory_id=memory.id, index=0, text="虾", now=NOW)
    assert show(LONG_TERM, user)[memory.id][1] == "superseded"
    assert propose(user, "过敏原", ["花生"], confidence=0.9) == []


# Undoing


@each_kind
def test_a_creation_is_undone_and_done_again(user: User, kind: MemoryKind) -> None:
    memory = make(kind, user)
    operation = Change.objects.get().operation
    for _ in range(2):
        undoing = undo(user, operation)
        assert show(kind, user)[memory.id][1] == "rejected"
        undo(user, undoing)
        assert show(kind, user)[memory.id][1] == "active"
    assert kind.embeddings.objects.filter(memory=memory).count() == 1


@each_kind
def test_what_came_back_meanwhile_is_not_brought_back_twice(user: User, kind: MemoryKind) -> None:
    make(kind, user)
    undoing = undo(user)
    make(kind, user, now=LATER)
    with pytest.raises(Conflict) as refused:
        undo(user, undoing)
    assert refused.value.message in (kind.taken_since, "This was changed again later. Undo the later change first.")
    assert kind.active(user).count() == 1


# Reading


@pytest.mark.spec("L4")
def test_use_is_counted_once_and_is_no_change(user: User, django_assert_num_queries: Any) -> None:
    used = [LongTermMemoryFactory(user=user, now=NOW) for _ in range(2)]
    unused, theirs = LongTermMemoryFactory(user=user, now=NOW), LongTermMemoryFactory(now=NOW)
    with django_assert_num_queries(1):
        record_use(user=user, memory_ids=[used[0].id, used[1].id, used[0].id, theirs.id], now=LATER)
    for memory, count in ((used[0], 1), (used[1], 1), (unused, 0), (theirs, 0)):
        memory.refresh_from_db()
        assert (memory.access_count, memory.last_accessed, memory.updated_at) == (count, LATER if count else NOW, NOW)
    with django_assert_num_queries(0):
        record_use(user=user, memory_ids=[], now=LATER)


# Categories


def categories(user: User) -> dict[str, str]:
    return dict(LongTermMemory.objects.filter(user=user).values_list("key", "category"))


@pytest.mark.spec("M3")
def test_several_move_as_one_operation_and_come_back_together(user: User) -> None:
    moved = [LongTermMemoryFactory(user=user, key=key, value=key, category="fact", now=NOW) for key in ("城市", "tea")]
    there = LongTermMemoryFactory(user=user, key="cat", category="pattern", now=NOW)
    other = LongTermMemoryFactory(key="theirs", category="fact", now=NOW)
    with collect_operations() as operations:
        ids = [memory.id for memory in (*moved, there, other)]
        assert set_category(user=user, ids=ids, category="pattern", now=LATER) == 2
    assert categories(user) == {"城市": "pattern", "tea": "pattern", "cat": "pattern"}
    assert categories(other.user) == {"theirs": "fact"}
    assert LongTermMemory.objects.filter(user=user, updated_at=LATER).count() == 2
    (operation,) = operations
    assert set(Change.objects.filter(operation=operation).values_list("object_id", "action")) == {
        (memory.id, "edit") for memory in moved
    }
    undo(user, operation)
    assert categories(user) == {"城市": "fact", "tea": "fact", "cat": "pattern"}
    assert {memory.key: memory.value for memory in LongTermMemory.objects.filter(user=user)} == {
        "城市": "城市",
        "tea": "tea",
        "cat": "value",
    }


def test_history_and_an_unknown_category_change_nothing(user: User) -> None:
    old, new = (LongTermMemoryFactory(user=user, key="city", value=name, category="fact") for name in ("Ulm", "Bath"))
    assert set_category(user=user, ids=[old.id], category="pattern", now=NOW) == 0
    with pytest.raises(InvalidInput):
        set_category(user=user, ids=[new.id], category="mood", now=NOW)
    assert set(LongTermMemory.objects.values_list("category", flat=True)) == {"fact"}
    assert Change.objects.filter(action="edit").count() == 0
