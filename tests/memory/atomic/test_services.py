"""Writing atomic memories: identity, history, vectors, deletion for good (A1, L6, L7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.core.errors import Conflict, InvalidInput, JiyiError, NotFound, TooLarge
from apps.memory.atomic.selectors import get_atomic_memory, list_atomic_memories, search_content
from apps.memory.atomic.services import (
    create_atomic_memories,
    create_atomic_memory,
    digest_content,
    forget_all_atomic_memories,
    forget_atomic_memories,
    update_atomic_memory,
)
from apps.memory.atomic.types import AtomicDraft
from apps.memory.long_term.copies import list_copies
from apps.memory.long_term.deletion import forget_memories
from apps.memory.models import AtomicEmbedding, AtomicMemory, Change, ForgottenKey
from apps.memory.retrieval.atomic import retrieve_atomic_memories
from tests.support.factories import LongTermMemoryFactory, SessionFactory, UserFactory

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def user(db: None) -> User:
    user: User = UserFactory.create()
    return user


def create(user: User, content: str, **fields: Any) -> AtomicMemory:
    memory, _created = create_atomic_memory(user=user, content=content, **{"now": NOW, **fields})
    return memory


def found(user: User, query: str) -> list[str]:
    memories = retrieve_atomic_memories(user=user, query=query, limit=5, query_embedding=None)
    return [memory.candidate.content for memory in memories]


@pytest.mark.spec("A1")
def test_a_memory_has_all_its_fields(user: User) -> None:
    session = SessionFactory.create(user=user)
    memory = create(
        user,
        " 用户五月五日去了上海。 ",
        tags=["旅行", " 上海 ", "旅行"],
        timestamp=NOW - timedelta(days=1),
        event_start=NOW,
        event_end=LATER,
        session_id=session.id,
    )
    memory.refresh_from_db()
    assert (memory.content, memory.tags) == ("用户五月五日去了上海。", ["旅行", "上海"])
    assert (memory.timestamp, memory.event_start, memory.event_end) == (NOW - timedelta(days=1), NOW, LATER)
    assert (memory.create_time, memory.updated_at, memory.status) == (NOW, NOW, "active")
    assert (memory.session_id, memory.message_id, memory.superseded_by_id) == (session.id, None, None)
    assert memory.term_count == len(memory.terms) > 0


@pytest.mark.spec("A1")
def test_a_memory_outlives_its_session(user: User) -> None:
    session = SessionFactory.create(user=user)
    memory = create(user, "用户喜欢茶。", session_id=session.id)
    session.delete()
    memory.refresh_from_db()
    assert memory.session_id is None


@pytest.mark.spec("A3")
def test_the_same_again_is_no_second_memory(user: User) -> None:
    first = create(user, "用户喜欢茶。", tags=["饮料"])
    again, created = create_atomic_memory(user=user, content="用户喜欢茶！", tags=["茶"], now=LATER)
    assert (again.id, created, again.tags, again.updated_at) == (first.id, False, ["饮料", "茶"], LATER)
    assert AtomicMemory.objects.count() == 1
    assert [change.action for change in Change.objects.order_by("id")] == ["create", "refresh"]
    assert create(UserFactory.create(), "用户喜欢茶。").id != first.id


def test_many_are_stored_as_they_are_with_few_statements(user: User) -> None:
    drafts = [AtomicDraft(content=f"cup of tea {number % 50}") for number in range(100)]
    create_atomic_memories(user=user, drafts=drafts[:1], now=NOW)  # makes the embedder the active one
    with CaptureQueriesContext(connection) as captured:
        memories = create_atomic_memories(user=user, drafts=drafts, now=NOW)
    statements = [one["sql"] for one in captured.captured_queries if "SAVEPOINT" not in one["sql"]]
    assert len(statements) == 5  # lock, memories, audit records, embedding models, vectors
    assert [memory.content for memory in memories] == [draft.content for draft in drafts]
    assert AtomicEmbedding.objects.filter(memory__in=memories).count() == 100


@pytest.mark.spec("A1")
def test_a_new_content_brings_new_terms_and_a_new_vector(user: User) -> None:
    memory = create(user, "用户住在北京。")
    before = AtomicEmbedding.objects.get(memory=memory).embedding
    changed = update_atomic_memory(
        user=user, memory_id=memory.id, changes={"content": "The user lives in Berlin."}, now=LATER
    )
    assert (changed.id, changed.updated_at, changed.create_time) == (memory.id, LATER, NOW)
    assert (found(user, "Berlin"), found(user, "北京")) == (["The user lives in Berlin."], [])
    assert list(AtomicEmbedding.objects.get(memory=memory).embedding) != list(before)


def test_other_changes_leave_the_vector(user: User) -> None:
    memory = create(user, "用户住在北京。", tags=["家"])
    AtomicEmbedding.objects.all().delete()
    update_atomic_memory(user=user, memory_id=memory.id, changes={"tags": ["住址"]}, now=LATER)
    memory.refresh_from_db()
    assert (memory.tags, memory.content) == (["住址"], "用户住在北京。")
    assert not AtomicEmbedding.objects.exists()


@pytest.mark.spec("L7")
def test_every_change_is_recorded(user: User) -> None:
    memory = create(user, "用户住在北京。")
    update_atomic_memory(user=user, memory_id=memory.id, changes={"tags": ["家"]}, now=LATER)
    create_change, edit = Change.objects.order_by("id")
    assert (create_change.action, create_change.before, create_change.after["content"]) == (
        "create",
        None,
        "用户住在北京。",
    )
    assert (edit.action, edit.before["tags"], edit.after["tags"], edit.created_at) == ("edit", [], ["家"], LATER)


@pytest.mark.parametrize(
    ("fields", "error", "name"),
    [
        ({"content": " \n"}, InvalidInput, "content"),
        ({"content": "a\x00b"}, InvalidInput, "content"),
        ({"content": "长" * 32_001}, TooLarge, "content"),
        ({"tags": ["x" * 51]}, InvalidInput, "tags"),
        ({"tags": [" "]}, InvalidInput, "tags"),
        ({"tags": ["x"] * 51}, InvalidInput, "tags"),
        ({"event_end": NOW}, InvalidInput, "event_end"),
        ({"event_start": LATER, "event_end": NOW}, InvalidInput, "event_end"),
    ],
)
def test_what_cannot_be_stored_is_refused(
    user: User, fields: dict[str, Any], error: type[JiyiError], name: str
) -> None:
    with pytest.raises(error) as refused:
        create(user, **{"content": "fine", **fields})
    assert list(refused.value.fields) == [name]
    memory = create(user, "fine")
    with pytest.raises(error):
        update_atomic_memory(user=user, memory_id=memory.id, changes=fields, now=LATER)
    memory.refresh_from_db()
    assert (memory.content, memory.tags, memory.updated_at) == ("fine", [], NOW)


def test_what_another_memory_says_cannot_be_said_twice(user: User) -> None:
    first, second = create(user, "用户住在北京。"), create(user, "用户住在上海。")
    with pytest.raises(Conflict) as refused:
        update_atomic_memory(user=user, memory_id=second.id, changes={"content": "用户住在北京"}, now=LATER)
    assert refused.value.fields["memory_id"] == str(first.id)
    # Its own words in another spelling are no conflict.
    update_atomic_memory(user=user, memory_id=second.id, changes={"content": "用户住在上海！"}, now=LATER)


@pytest.mark.parametrize("status", ["superseded", "rejected", "evicted"])
def test_history_cannot_be_changed(user: User, status: str) -> None:
    memory = create(user, "用户住在北京。")
    AtomicMemory.objects.update(status=status)
    with pytest.raises(Conflict):
        update_atomic_memory(user=user, memory_id=memory.id, changes={"tags": []}, now=LATER)


def test_nobody_elses_can_be_reached(user: User) -> None:
    theirs = create(UserFactory.create(), "用户住在北京。")
    with pytest.raises(NotFound):
        get_atomic_memory(user, theirs.id)
    with pytest.raises(NotFound):
        update_atomic_memory(user=user, memory_id=theirs.id, changes={"tags": []}, now=LATER)
    with pytest.raises(NotFound):
        create(user, "x", session_id=SessionFactory.create().id)
    assert forget_atomic_memories(user=user, ids=[theirs.id, uuid4()], now=LATER) == 0
    assert forget_all_atomic_memories(user=user, now=LATER) == 0
    assert AtomicMemory.objects.get() == theirs


@pytest.mark.spec("L6")
def test_a_deletion_takes_history_vectors_and_audited_texts_along(user: User) -> None:
    oldest, old, new, other = (create(user, f"用户住在{city}。") for city in ("北京", "上海", "广州", "杭州"))
    for earlier, successor in ((oldest, old), (old, new)):
        AtomicMemory.objects.filter(id=earlier.id).update(status="superseded", superseded_by=successor)
    assert forget_atomic_memories(user=user, ids=[new.id], now=LATER) == 1
    assert list(AtomicMemory.objects.all()) == [other]
    assert list(AtomicEmbedding.objects.values_list("memory", flat=True)) == [other.id]
    gone = Change.objects.filter(object_id__in=[oldest.id, old.id, new.id])
    assert {(change.before, change.after) for change in gone} == {(None, None)}
    assert gone.filter(action="delete").count() == 3
    assert set(ForgottenKey.objects.values_list("digest", "forgotten_at")) == {
        (digest_content(user, f"用户住在{city}"), LATER) for city in ("北京", "上海", "广州")
    }


@pytest.mark.spec("L6")
def test_clearing_all_leaves_others_and_what_is_written_anew_may_be_learned_again(user: User) -> None:
    create(user, "用户住在北京。")
    create(user, "用户喜欢茶。")
    theirs = create(UserFactory.create(), "用户住在北京。")
    assert forget_all_atomic_memories(user=user, now=LATER) == 2
    assert list(AtomicMemory.objects.all()) == [theirs]
    create(user, "用户住在北京！")
    assert list(ForgottenKey.objects.values_list("digest", flat=True)) == [digest_content(user, "用户喜欢茶。")]


@pytest.mark.spec("L6")
def test_deleting_a_long_term_memory_lists_and_removes_its_atomic_copies(user: User) -> None:
    city = LongTermMemoryFactory.create(user=user, key="城市", value="上海")
    copy, other = create(user, "用户上個月搬到了上海。"), create(user, "用户喜欢茶。")
    theirs = create(UserFactory.create(), "用户住在上海。")
    assert [(found.kind, found.id, found.field, found.text) for found in list_copies(user, [city])] == [
        ("atomic", copy.id, "content", "用户上個月搬到了上海。")
    ]
    forget_memories(user=user, ids=[city.id], now=LATER)
    assert AtomicMemory.objects.count() == 3
    city = LongTermMemoryFactory.create(user=user, key="城市", value="上海")
    forget_memories(user=user, ids=[city.id], now=LATER, copies=True)
    assert set(AtomicMemory.objects.all()) == {other, theirs}
    assert ForgottenKey.objects.filter(digest=digest_content(user, copy.content)).exists()


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("鋼琴", "用户在学钢琴。"),
        ("play", "The user plays tennis."),
        ("TENNIS", "The user plays tennis."),
        ("学钢", "用户在学钢琴。"),
        ("er plays te", "The user plays tennis."),
    ],
)
def test_a_list_is_searched_in_both_languages(user: User, text: str, content: str) -> None:
    create(user, "用户在学钢琴。")
    create(user, "The user plays tennis.")
    assert [memory.content for memory in search_content(list_atomic_memories(user), text)] == [content]
