"""One concept under keys of several wordings or languages becomes one memory (L3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.conversations.models import Message, Role
from apps.memory.long_term.reconcile import find_concept, reconcile_keys
from apps.memory.long_term.services import create_memory, record_entries
from apps.memory.long_term.types import ProposedEntry
from apps.memory.models import LongTermMemory
from tests.support.factories import SessionFactory, UserFactory

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 22, 10, 30, tzinfo=UTC)


def learn(user: User, key: str, value: Any, *, days_ago: int, mode: str = "replace") -> Message:
    session = SessionFactory(user=user)
    said_at = NOW - timedelta(days=days_ago)
    message = Message.objects.create(
        session=session, user=user, role=Role.USER, content=str(value), create_time=said_at, position=1
    )
    record_entries(
        user=user,
        entries=[ProposedEntry(category="fact", key=key, value=value, mode=mode)],
        session_id=session.id,
        message_id=message.id,
        said_at=said_at,
        message_text=str(value),
        auto_accept_confidence=0.7,
        now=NOW,
    )
    return message


def reconcile(user: User, *messages: Message) -> None:
    reconcile_keys(user=user, message_ids=[message.id for message in messages], now=NOW)


def show(user: User) -> list[tuple[str, Any, str]]:
    return sorted(LongTermMemory.objects.filter(user=user).values_list("key", "value", "status"), key=str)


@pytest.mark.spec("L3")
def test_another_value_said_later_supersedes() -> None:
    user = UserFactory()
    learn(user, "居住地", "北京", days_ago=9)
    reconcile(user, learn(user, "lives in", "Shanghai", days_ago=1))
    assert show(user) == [("lives in", "Shanghai", "active"), ("居住地", "北京", "superseded")]
    old = LongTermMemory.objects.get(user=user, key="居住地")
    assert old.superseded_by is not None
    assert old.superseded_by.key == "lives in"


@pytest.mark.spec("L3")
def test_what_was_said_before_does_not_supersede() -> None:
    user = UserFactory()
    learn(user, "居住地", "北京", days_ago=1)
    reconcile(user, learn(user, "现居城市", "上海", days_ago=9))
    assert show(user) == [("居住地", "北京", "active"), ("现居城市", "上海", "superseded")]


@pytest.mark.spec("L3")
def test_the_same_value_under_another_key_is_one_memory() -> None:
    user = UserFactory()
    learn(user, "居住地", "北京", days_ago=9)
    reconcile(user, learn(user, "现居城市", "北京！", days_ago=1))
    assert show(user) == [("居住地", "北京", "active"), ("现居城市", "北京！", "superseded")]


@pytest.mark.spec("L3")
def test_lists_become_one_with_the_items_of_both() -> None:
    user = UserFactory()
    learn(user, "过敏", ["虾"], days_ago=9, mode="add")
    reconcile(user, learn(user, "allergic to", ["peanuts", "虾"], days_ago=1, mode="add"))
    active = [(key, value) for key, value, status in show(user) if status == "active"]
    assert active == [("过敏", ["虾", "peanuts"])]


@pytest.mark.spec("L3")
def test_three_keys_become_one() -> None:
    user = UserFactory()
    first = learn(user, "居住地", "北京", days_ago=9)
    second = learn(user, "city", "Wuhan", days_ago=5)
    reconcile(user, first, second, learn(user, "home", "Shanghai", days_ago=1))
    assert [value for _key, value, status in show(user) if status == "active"] == ["Shanghai"]


@pytest.mark.spec("L3")
def test_other_concepts_and_keys_of_ones_own_are_left_alone() -> None:
    user = UserFactory()
    learn(user, "老家", "西安", days_ago=9)
    learn(user, "fishing spot", "Lake Erie", days_ago=9)
    learn(user, "妈妈的居住地", "西安", days_ago=9)
    reconcile(user, learn(user, "居住地", "北京", days_ago=1))
    assert {status for _key, _value, status in show(user)} == {"active"}


def test_only_what_the_messages_touched_is_looked_at() -> None:
    user = UserFactory()
    learn(user, "居住地", "北京", days_ago=9)
    learn(user, "city", "Shanghai", days_ago=5)
    reconcile(user, learn(user, "fishing spot", "Lake Erie", days_ago=1))
    assert {status for _key, _value, status in show(user)} == {"active"}


@pytest.mark.spec("R2")
def test_nobody_elses_memory_joins() -> None:
    one, other = UserFactory(), UserFactory()
    create_memory(user=one, category="fact", key="居住地", value="北京", now=NOW)
    reconcile(other, learn(other, "city", "Shanghai", days_ago=1))
    assert show(one) == [("居住地", "北京", "active")]


@pytest.mark.parametrize(
    ("key", "concept"),
    [("居住地", "home"), ("livesin", "home"), ("爱好", "likes"), ("鞋码", None), ("妈妈的生日", None)],
)
def test_concepts(key: str, concept: str | None) -> None:
    found = find_concept(key)
    assert (found and found.name) == concept
