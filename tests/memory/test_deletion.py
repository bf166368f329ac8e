"""Deleting for good, finding copies, and not learning again what was deleted (L6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from apps.accounts.models import User
from apps.memory.deletion import MemoryCopy, delete_all_memories, delete_memories, list_copies
from apps.memory.entries import create_memory
from apps.memory.keyed import Action, Deleted, MemoryUpdate
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import create_atomic_memory, update_memory
from apps.memory.models import AtomicEmbedding, AtomicMemory, Change, ForgottenKey, LongTermMemory, WorkingMemory
from apps.memory.tombstones import digest_content, find_deleted
from apps.memory.working import record_form
from tests.support.entries import entry, record
from tests.support.factories import LongTermMemoryFactory, SessionFactory, UserFactory

pytestmark = pytest.mark.spec("L6")

NOW = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
BEFORE, AFTER = NOW - timedelta(minutes=5), NOW + timedelta(minutes=5)


def remember(user: User, key: str, value: Any) -> LongTermMemory:
    return LongTermMemoryFactory(user=user, category="fact", key=key, value=value, now=BEFORE)


def learn(
    user: User, key: str, value: Any, *, said_at: datetime, message_text: str = "", mode: str = "replace"
) -> list[MemoryUpdate]:
    return record(user, entry(key, value, mode=mode), at=said_at, text=message_text, now=AFTER)


def forget(user: User, *memories: LongTermMemory, copies: bool = False) -> Deleted:
    return delete_memories(LONG_TERM, user=user, ids=[memory.id for memory in memories], now=NOW, copies=copies)


def remaining(user: User) -> set[UUID]:
    return set(LongTermMemory.objects.filter(user=user).values_list("id", flat=True))


def test_deleting_some_says_which_were_not_there(user: User) -> None:
    one, two, three = (remember(user, key, "v") for key in ("a", "b", "c"))
    theirs = LongTermMemoryFactory()
    unknown = uuid4()
    result = delete_memories(LONG_TERM, user=user, ids=[one.id, unknown, three.id, theirs.id, one.id], now=NOW)
    assert result == Deleted(deleted=2, missing=(unknown, theirs.id))
    assert remaining(user) == {two.id}
    assert remaining(theirs.user) == {theirs.id}


def test_the_history_goes_with_the_memory(user: User) -> None:
    remember(user, "city", "Rome")
    second = remember(user, "city", "Paris")
    update_memory(LONG_TERM, user=user, memory_id=second.id, changes={"key": "home town"}, now=BEFORE)
    newest = remember(user, "home town", "Berlin")
    other = remember(user, "job", "cook")
    assert forget(user, newest) == Deleted(deleted=1)
    assert remaining(user) == {other.id}


def test_history_behind_an_emptied_list_goes_too(user: User) -> None:
    remember(user, "pets", ["cat"])
    learn(user, "pets", "cat", said_at=BEFORE, mode="remove")
    memory = remember(user, "pets", ["dog"])
    assert LongTermMemory.objects.filter(user=user).count() == 2
    forget(user, memory)
    assert remaining(user) == set()


def test_deleting_an_old_value_leaves_the_present_one(user: User) -> None:
    oldest = remember(user, "city", "Rome")
    old = remember(user, "city", "Paris")
    present = remember(user, "city", "Berlin")
    assert forget(user, old) == Deleted(deleted=1)
    assert remaining(user) == {present.id}
    assert oldest.id not in remaining(user)
    assert [update.action for update in learn(user, "city", "Madrid", said_at=BEFORE)] == [Action.SUPERSEDED]
    assert learn(user, "city", "Paris", said_at=BEFORE) == []


def test_clearing_all_leaves_others_and_working_memory(user: User) -> None:
    for number in range(3):
        remember(user, "city", f"city {number}")
    theirs = LongTermMemoryFactory()
    session = SessionFactory(user=user)
    record_form(user=user, session_id=session.id, title="行程安排", fields={"destination": "北京"}, now=NOW)
    assert delete_all_memories(LONG_TERM, user=user, now=NOW) == 3
    assert remaining(user) == set()
    assert remaining(theirs.user) == {theirs.id}
    assert WorkingMemory.objects.filter(user=user).count() == 1
    assert learn(user, "city", "city 2", said_at=BEFORE) == []


def test_only_digests_stay(user: User) -> None:
    forget(user, remember(user, "密码提示", "外婆的名字"))
    digests = list(ForgottenKey.objects.filter(user=user).values_list("digest", flat=True))
    assert len(digests) == 2
    assert all(len(digest) == 64 and int(digest, 16) for digest in digests)
    other = UserFactory()
    forget(other, remember(other, "密码提示", "外婆的名字"))
    assert not ForgottenKey.objects.filter(user=other, digest__in=digests).exists()


@pytest.mark.parametrize(
    ("key", "value"), [("喜欢的颜色", "蓝色"), ("我喜歡的顏色", "红色"), ("偏好色", "藍色。"), ("colors", ["蓝色"])]
)
@pytest.mark.parametrize("said_at", [BEFORE, NOW])
def test_earlier_messages_do_not_bring_it_back(user: User, key: str, value: Any, said_at: datetime) -> None:
    forget(user, remember(user, "喜欢的颜色", "蓝色"))
    assert learn(user, key, value, said_at=said_at, message_text="我喜欢的颜色是蓝色，红色也行") == []
    assert remaining(user) == set()


@pytest.mark.parametrize(
    ("key", "value", "others", "itself"),
    [
        ("喜欢的颜色", "蓝色", ["今天天气怎么样？", "忘掉我喜欢的颜色"], "其實我還是喜歡藍色"),
        ("likes", "cats", ["What's the weather?"], "I would like another CAT after all"),
        ("年龄", 28, ["你猜我的年龄"], "我今年28岁"),
    ],
)
def test_a_later_message_brings_back_only_what_it_says_itself(
    user: User, key: str, value: Any, others: list[str], itself: str
) -> None:
    forget(user, remember(user, key, value))
    for text in others:
        assert learn(user, key, value, said_at=AFTER, message_text=text) == []
    (update,) = learn(user, key, value, said_at=AFTER, message_text=itself)
    assert (update.action, update.value) == (Action.CREATED, value)


def test_accents_hide_nothing_that_was_forgotten_or_said(user: User) -> None:
    forget(user, remember(user, "brother", "José"))
    assert learn(user, "brother", "José", said_at=BEFORE, message_text="My brother is José") == []
    assert learn(user, "sibling", "Jose", said_at=BEFORE, message_text="My brother is José") == []
    assert find_deleted(user, [("The user met José.", BEFORE)])
    (update,) = learn(user, "brother", "José", said_at=AFTER, message_text="My brother is called José")
    assert update.action is Action.CREATED


def test_of_a_list_only_the_forgotten_items_are_left_out(user: User) -> None:
    forget(user, remember(user, "过敏", ["花生", "牛奶"]))
    (update,) = learn(user, "饮食禁忌", ["花生", "虾仁", "牛奶"], said_at=BEFORE, mode="add")
    assert update.value == ["虾仁"]


def test_a_plain_yes_does_not_block_other_memories(user: User) -> None:
    forget(user, remember(user, "已婚", True))
    forget(user, remember(user, "孩子", 2))
    (update,) = learn(user, "有驾照", True, said_at=BEFORE)
    assert update.action is Action.CREATED
    assert learn(user, "已婚", True, said_at=BEFORE, message_text="我已婚") == []
    (update,) = learn(user, "已婚", True, said_at=AFTER, message_text="我现在已婚了")
    assert update.action is Action.CREATED


def test_the_owner_may_write_it_anew(user: User) -> None:
    forget(user, remember(user, "city", "Berlin"))
    _memory, action = create_memory(user=user, category="fact", key="City", value="Berlin", now=AFTER)
    assert action is Action.CREATED
    assert not ForgottenKey.objects.filter(user=user).exists()
    (update,) = learn(user, "city", "Berlin", said_at=BEFORE)
    assert update.action is Action.REFRESHED


def test_one_persons_deletion_does_not_concern_another(user: User) -> None:
    forget(user, remember(user, "city", "Berlin"))
    (update,) = learn(UserFactory(), "city", "Berlin", said_at=BEFORE)
    assert update.action is Action.CREATED


def test_copies_are_listed_and_go_when_asked(user: User) -> None:
    memory = remember(user, "喜欢的颜色", "蓝色")
    twin = remember(user, "幸运色", "藍色")
    other = remember(user, "城市", "北京")
    LongTermMemoryFactory(key="喜欢的颜色", value="蓝色")
    session, elsewhere = SessionFactory(user=user), SessionFactory()
    record_form(user=user, session_id=session.id, title="偏好", fields={"color": "蓝色的", "size": "L"}, now=NOW)
    record_form(user=user, session_id=session.id, title="行程", fields={"destination": "北京"}, now=NOW)
    record_form(user=elsewhere.user, session_id=elsewhere.id, title="偏好", fields={"color": "蓝色"}, now=NOW)
    copies = list_copies(user, [memory])
    assert [(copy.kind, copy.id, copy.field) for copy in copies] == [
        ("long_term", twin.id, "幸运色"),
        ("working", session.id, "hitl_偏好"),
    ]
    assert copies[0] == MemoryCopy("long_term", twin.id, "幸运色", "藍色")
    assert "蓝色的" in copies[1].text
    assert forget(user, memory, copies=True) == Deleted(deleted=1)
    assert remaining(user) == {other.id}
    assert list(WorkingMemory.objects.get(session=session).context_variables) == ["hitl_行程"]
    assert list(WorkingMemory.objects.get(session=elsewhere).context_variables) == ["hitl_偏好"]


def test_a_yes_has_no_copies(user: User) -> None:
    memory = remember(user, "married", True)
    remember(user, "licence", True)
    assert list_copies(user, [memory]) == []


def test_a_part_of_another_word_is_no_copy(user: User) -> None:
    memory = remember(user, "pet", "cat")
    create_atomic_memory(user=user, content="The user works in education.", now=BEFORE)
    told, _new = create_atomic_memory(user=user, content="The user's cat sleeps all day.", now=BEFORE)
    session = SessionFactory(user=user)
    fields = {"subject": "education", "guest": "the cat"}
    record_form(user=user, session_id=session.id, title="visit", fields=fields, now=BEFORE)
    record_form(user=user, session_id=session.id, title="course", fields={"subject": "education"}, now=BEFORE)
    copies = list_copies(user, [memory])
    assert {(copy.kind, copy.id, copy.field) for copy in copies} == {
        ("atomic", told.id, "content"),
        ("working", session.id, "hitl_visit"),
    }


def state(user: User, content: str) -> AtomicMemory:
    return create_atomic_memory(user=user, content=content, now=BEFORE)[0]


def test_a_statement_takes_history_vectors_and_audited_texts_along(user: User) -> None:
    oldest, old, new, other = (state(user, f"用户住在{city}。") for city in ("北京", "上海", "广州", "杭州"))
    for earlier, successor in ((oldest, old), (old, new)):
        AtomicMemory.objects.filter(id=earlier.id).update(status="superseded", superseded_by=successor)
    assert delete_memories(ATOMIC, user=user, ids=[new.id], now=NOW).deleted == 1
    assert list(AtomicMemory.objects.all()) == [other]
    assert list(AtomicEmbedding.objects.values_list("memory", flat=True)) == [other.id]
    gone = Change.objects.filter(object_id__in=[oldest.id, old.id, new.id])
    assert {(change.before, change.after) for change in gone} == {(None, None)}
    assert gone.filter(action="delete").count() == 3
    assert set(ForgottenKey.objects.values_list("digest", "forgotten_at")) == {
        (digest_content(user, f"用户住在{city}"), NOW) for city in ("北京", "上海", "广州")
    }


def test_clearing_all_statements_leaves_others_and_what_is_written_anew_may_be_learned_again(user: User) -> None:
    state(user, "用户住在北京。")
    state(user, "用户喜欢茶。")
    theirs = state(UserFactory.create(), "用户住在北京。")
    assert delete_all_memories(ATOMIC, user=user, now=NOW) == 2
    assert list(AtomicMemory.objects.all()) == [theirs]
    state(user, "用户住在北京！")
    assert list(ForgottenKey.objects.values_list("digest", flat=True)) == [digest_content(user, "用户喜欢茶。")]


def test_deleting_a_long_term_memory_lists_and_removes_its_atomic_copies(user: User) -> None:
    city = LongTermMemoryFactory.create(user=user, key="城市", value="上海")
    copy, other = state(user, "用户上個月搬到了上海。"), state(user, "用户喜欢茶。")
    theirs = state(UserFactory.create(), "用户住在上海。")
    assert [(found.kind, found.id, found.field, found.text) for found in list_copies(user, [city])] == [
        ("atomic", copy.id, "content", "用户上個月搬到了上海。")
    ]
    delete_memories(LONG_TERM, user=user, ids=[city.id], now=NOW)
    assert AtomicMemory.objects.count() == 3
    city = LongTermMemoryFactory.create(user=user, key="城市", value="上海")
    delete_memories(LONG_TERM, user=user, ids=[city.id], now=NOW, copies=True)
    assert set(AtomicMemory.objects.all()) == {other, theirs}
    assert ForgottenKey.objects.filter(digest=digest_content(user, copy.content)).exists()
